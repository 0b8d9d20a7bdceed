"""What providers need that lives as long as the server: keys, types, and what was learned from providers lately."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.accounts.oauth import OAuthClient
from penstock.accounts.saml import IdentityProvider, read_metadata
from penstock.egress import Egress
from penstock.platform.iam import config
from penstock.platform.iam.probe.http import ask
from penstock.platform.iam.queries import Stored
from penstock.platform.iam.sealing import open_config
from penstock.platform.iam.types import Types
from penstock.platform.secrets.vault import Vault
from penstock.settings import OAuthProvider, Secret
from penstock.storage.secret import derive

T = TypeVar("T")
_MOST_KEPT = 256
_METADATA_SECONDS = 3600


class Iam:
    def __init__(self, known_types: Types, egress: Egress, vault: Vault, secret: bytes) -> None:
        self.egress = egress
        self.vault = vault
        self.types = known_types
        self.sign_in_key = derive(secret, "iam sign-in")
        self._http = egress.client()
        self._oidc: _Kept[OAuthClient] = _Kept()
        self._saml: _Kept[tuple[IdentityProvider, float]] = _Kept()

    async def aclose(self) -> None:
        await self._http.aclose()

    def config_of(self, provider: Stored) -> config.Config:
        return open_config(self.vault, provider.id, provider.sealed)

    def oidc(self, provider: Stored) -> OAuthClient:
        """A client of this provider, under its id; the same one until its configuration changes, as it keeps keys."""
        return self._oidc.get(provider, lambda: self._oidc_client(provider))

    def _oidc_client(self, provider: Stored) -> OAuthClient:
        known = config.read(self.config_of(provider), config.Oidc)
        configured = OAuthProvider(
            client_id=known.client_id,
            client_secret=Secret(known.client_secret),
            kind="oidc",
            issuer=known.issuer,
            discovery_url=known.discovery_url,
            scopes=known.scopes or None,
        )
        return OAuthClient({provider.id: configured}, http=self._http, wants=[known.groups_claim])

    async def saml(self, provider: Stored) -> IdentityProvider:
        """Raises SamlError or ProbeFailed when there is no usable metadata."""
        known = config.read(self.config_of(provider), config.Saml)
        if known.metadata_xml:
            return await asyncio.to_thread(read_metadata, known.metadata_xml)
        kept = self._saml.find(provider)
        if kept is not None and time.monotonic() - kept[1] < _METADATA_SECONDS:
            return kept[0]
        found = await fetch_metadata(self.egress, known.metadata_url)
        self._saml.put(provider, (found, time.monotonic()))
        return found


async def fetch_metadata(egress: Egress, url: str) -> IdentityProvider:
    async with egress.client() as client:
        answer = await ask(client, "GET", url, headers={"Accept": "application/samlmetadata+xml, application/xml"})
    answer.require_success("metadata")
    return await asyncio.to_thread(read_metadata, answer.body)


class _Kept(Generic[T]):
    """Values by provider, until it changes; the ones used last, a bounded number."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, tuple[Any, T]] = OrderedDict()

    def find(self, provider: Stored) -> T | None:
        version, value = self._values.get(provider.id, (None, None))
        if version != provider.sealed:
            return None
        self._values.move_to_end(provider.id)
        return value

    def put(self, provider: Stored, value: T) -> None:
        self._values[provider.id] = provider.sealed, value
        if len(self._values) > _MOST_KEPT:
            self._values.popitem(last=False)

    def get(self, provider: Stored, make: Callable[[], T]) -> T:
        value = self.find(provider)
        if value is None:
            value = make()
            self.put(provider, value)
        return value
