"""Identity providers that we did not write, each started once for a test process."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.accounts.oauth import wire
from tests.node_peers import running

from .company import Company

CALLBACKS = (
    "http://penstock.example/user/oauth/callback/peer",
    "http://localhost:8080/user/oauth/callback/peer",
    "http://localhost:8080/user/oauth/callback/strict",
)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with more to do than cores lets us wait for longer than a provider may."""
    monkeypatch.setattr(wire, "SECONDS", 60)


@pytest.fixture(scope="session")
def peers() -> Iterator[dict[str, Any]]:
    """Of OpenID Connect: see `tests/peers/oidc.mjs`."""
    with running("oidc.mjs", *CALLBACKS) as ready:
        yield ready


@pytest.fixture(scope="session")
def company() -> Iterator[Company]:
    """Of SAML: see `tests/peers/saml-idp.mjs`."""
    with running("saml-idp.mjs") as ready:
        yield Company(ready)
