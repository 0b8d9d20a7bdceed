"""What an OpenID Connect issuer publishes about itself: its discovery document and its keys, each kept for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from penstock.accounts.oauth.endpoints import Provider, require_no_downgrade
from penstock.accounts.oauth.errors import OAuthError, ProviderDown, Refused
from penstock.accounts.oauth.id_token import Claims, Jwk, read_claims, read_header, signed_payload
from penstock.accounts.oauth.wire import Wire

DISCOVERY_SECONDS = 3600
KEYS_SECONDS = 600
RENEWAL_SECONDS = 30
MOST_KEYS = 100

T = TypeVar("T")
Clock = Callable[[], float]


class Metadata(msgspec.Struct, frozen=True):
    """The part of a discovery document that we use."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Kept(Generic[T]):
    """A document that is fetched once for everyone who waits for it, and kept for `seconds`."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], seconds: float, clock: Clock) -> None:
        self._fetch = fetch
        self._seconds = seconds
        self._clock = clock
        self._lock = asyncio.Lock()
        self._attempts = 0
        self._tried_at = float("-inf")
        self._held: tuple[T, float] | None = None
        self._error: OAuthError | None = None

    async def get(self) -> T:
        if self._held is not None:
            value, fetched_at = self._held
            if 0 <= self._clock() - fetched_at < self._seconds:
                return value
        return await self._fetched()

    async def renewed(self) -> T:
        """As `get`, but fetched anew, unless that was tried a moment ago: forged tokens must not make us a flood."""
        if 0 <= self._clock() - self._tried_at < RENEWAL_SECONDS:
            return await self.get()
        return await self._fetched()

    async def _fetched(self) -> T:
        attempts = self._attempts
        async with self._lock:
            # what another caller fetched while we waited is ours too, a failure included:
            # else a thousand sign-ins would each wait in turn for a provider that is down
            if self._attempts == attempts:
                self._tried_at = self._clock()
                try:
                    self._held, self._error = (await self._fetch(), self._tried_at), None
                except OAuthError as error:
                    self._error = error
                self._attempts += 1
            if self._held is None or self._error is not None:
                raise ProviderDown(str(self._error)) from self._error
            return self._held[0]


class Issuer:
    """An OpenID Connect provider: its endpoints by discovery, and the check of its tokens."""

    def __init__(self, provider: Provider, wire: Wire, clock: Clock) -> None:
        self._configured = provider
        self._wire = wire
        self._clock = clock
        self._provider = Kept(self._discover, DISCOVERY_SECONDS, clock)
        self._keys = Kept(self._fetch_keys, KEYS_SECONDS, clock)

    async def provider(self) -> Provider:
        """The provider with every endpoint known: what is configured goes before what is discovered."""
        endpoints = self._configured.endpoints
        if endpoints.authorize and endpoints.token and endpoints.jwks:
            return self._configured
        return await self._provider.get()

    async def verify(self, token: str, *, nonce: str | None) -> Claims:
        header = read_header(token)
        payload = signed_payload(token, header, await self._keys.get())
        if payload is None:
            payload = signed_payload(token, header, await self._keys.renewed())
        if payload is None:
            raise Refused("the provider's token was not signed by the provider")
        return read_claims(
            payload,
            issuers=self._configured.issuers,
            client_id=self._configured.config.client_id,
            now=self._clock(),
            nonce=nonce,
        )

    async def _discover(self) -> Provider:
        provider, configured = self._configured, self._configured.endpoints
        issuer = configured.issuer
        described_at = provider.config.discovery_url or issuer.rstrip("/") + "/.well-known/openid-configuration"
        answer = await self._wire.get(described_at)
        try:
            found = msgspec.convert(answer.members if answer.ok else None, Metadata)
        except msgspec.ValidationError as error:
            raise ProviderDown("the provider's discovery document could not be understood") from error
        if found.issuer != issuer:
            # else whoever serves this document could sign in as anyone at the issuer that it names
            raise ProviderDown("the provider's discovery document speaks for another issuer")
        methods = found.token_endpoint_auth_methods_supported
        endpoints = msgspec.structs.replace(
            configured,
            authorize=configured.authorize or require_no_downgrade(issuer, found.authorization_endpoint),
            token=configured.token or require_no_downgrade(issuer, found.token_endpoint),
            jwks=configured.jwks or require_no_downgrade(issuer, found.jwks_uri),
            user_info=configured.user_info
            or (require_no_downgrade(issuer, found.userinfo_endpoint) if found.userinfo_endpoint else ""),
            secret_in_body="client_secret_post" in methods
            and (configured.secret_in_body or "client_secret_basic" not in methods),
        )
        return msgspec.structs.replace(provider, endpoints=endpoints)

    async def _fetch_keys(self) -> list[Jwk]:
        answer = await self._wire.get((await self.provider()).endpoints.jwks)
        keys = answer.members.get("keys") if answer.ok else None
        if not isinstance(keys, list):
            raise ProviderDown("the provider's keys could not be read; please try again later")
        return [key for key in keys[:MOST_KEYS] if isinstance(key, dict)]
