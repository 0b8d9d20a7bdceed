"""Clients of one provider: of one that we did not write, or of one that forges whatever a test wants."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from penstock.accounts.oauth import OAuthClient
from penstock.settings import OAuthProvider

from .forge import Clock, ForgedIssuer
from .stand_in import Answers, Serve, Service


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def issuer(clock: Clock) -> AsyncIterator[ForgedIssuer]:
    forged = ForgedIssuer(clock)
    yield forged
    await forged.http.aclose()


MakeClient = Callable[..., OAuthClient]


@pytest.fixture
async def make_client() -> AsyncIterator[MakeClient]:
    """A client with one provider, called `peer`."""
    made: list[OAuthClient] = []

    def make(provider: OAuthProvider, **options: Any) -> OAuthClient:
        made.append(OAuthClient({"peer": provider}, **options))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    made: list[Service] = []

    def make(answers: Answers) -> Service:
        made.append(Service(answers))
        return made[-1]

    yield make
    for service in made:
        await service.http.aclose()
