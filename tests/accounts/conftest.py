"""Identity providers that we did not write, each started once for a test process."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.node_peers import running

CALLBACKS = (
    "http://penstock.example/user/oauth/callback/peer",
    "http://localhost:8080/user/oauth/callback/peer",
    "http://localhost:8080/user/oauth/callback/strict",
)


@pytest.fixture(scope="session")
def peers() -> Iterator[dict[str, Any]]:
    """Of OpenID Connect: see `tests/peers/oidc.mjs`."""
    with running("oidc.mjs", *CALLBACKS) as ready:
        yield ready
