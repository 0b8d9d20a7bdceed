"""Keys that are costly to make, made once; and the identity provider that we did not write."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest

from penstock.accounts.saml import (
    Assertion,
    IdentityProvider,
    Keypair,
    ServiceProvider,
    begin,
    make_keypair,
    read_metadata,
    service_provider_metadata,
    verify,
)
from tests.node_peers import running

from . import forge

Verify = Callable[..., Assertion]


@pytest.fixture(scope="session")
def keys() -> Keypair:
    """Of the identity provider that the forge plays."""
    return forge.make_keys()


@pytest.fixture(scope="session")
def foreign_keys() -> Keypair:
    """Of somebody else."""
    return forge.make_keys()


@pytest.fixture(scope="session")
def sp() -> ServiceProvider:
    return forge.service(make_keypair())


@pytest.fixture
def check(sp: ServiceProvider, keys: Keypair) -> Verify:
    """Verify a tree at the forge's time, as the answer to the forge's request."""

    def run(
        document: forge.Tree | bytes | str,
        *,
        expected_request_id: str | None = forge.REQUEST_ID,
        now: float = forge.NOW,
        idp: IdentityProvider | None = None,
    ) -> Assertion:
        return verify(
            sp,
            idp or forge.provider(keys),
            forge.encode(document),
            expected_request_id=expected_request_id,
            now=now,
        )

    return run


@dataclass(frozen=True)
class Peer:
    """The identity provider in Node, which knows us by our metadata."""

    sp: ServiceProvider
    idp: IdentityProvider
    rotating: IdentityProvider
    initiate_url: str

    def visit(self, url: str) -> str:
        """What a browser would be made to post to us."""
        page = httpx.get(url)
        assert page.status_code == 200, page.text
        field = re.search(r'name="SAMLResponse" value="([^"]+)"', page.text)
        assert field is not None
        return html.unescape(field[1])

    def sign_in(self, choices: str = "") -> tuple[str, str]:
        """(response, id of the request that it answers)"""
        url, request_id = begin(self.sp, self.idp, relay_state="somewhere")
        return self.visit(f"{url}&{choices}"), request_id

    def initiate(self, choices: str = "") -> str:
        return self.visit(f"{self.initiate_url}?{choices}")


@pytest.fixture(scope="session")
def peer(sp: ServiceProvider) -> Iterator[Peer]:
    with running("saml-idp.mjs") as ready:
        httpx.put(ready["sp_url"], content=service_provider_metadata(sp)).raise_for_status()
        yield Peer(
            sp=sp,
            idp=read_metadata(httpx.get(ready["metadata_url"]).content),
            rotating=read_metadata(httpx.get(ready["metadata_url"], params={"rotating": "1"}).content),
            initiate_url=ready["initiate_url"],
        )
