"""What every test may ask for: a database of each kind, and a running application to talk to."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.accounts.hooks import Hooks
from penstock.app import create_app
from penstock.http.edge import App
from penstock.settings import Settings, load
from penstock.storage import Database, migrate, open_database
from tests import postgresql

for variable in [name for name in os.environ if name.startswith("PENSTOCK_")]:
    del os.environ[variable]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """A real PostgreSQL for this test process; its address."""
    with postgresql.running() as address:
        yield address


@pytest.fixture(scope="session")
def databases(postgresql_server: str) -> Iterator[postgresql.Databases]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        opened = postgresql.Databases(postgresql_server, runner)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with all tables and nothing in them, to copy: migrating takes a hundred times as long."""
    path = tmp_path_factory.mktemp("migrated") / "penstock.db"
    migrate._upgrade_file(path)
    return path


@pytest.fixture
def sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The address of a new database with all tables. Tests of migrations ask for one without."""
    shutil.copy(migrated_file, tmp_path / "penstock.db")
    return f"sqlite:///{tmp_path}/penstock.db"


@pytest.fixture
def postgresql_url(databases: postgresql.Databases) -> Iterator[str]:
    with databases.migrated() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a new database; every test that asks for it runs on both kinds."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await open_database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
def settings_with(database_url: str) -> Callable[..., Settings]:
    """Settings of a test server, with what the test wants different."""

    def make(**overrides: Any) -> Settings:
        return load(environ={}, overrides={"database": database_url, **overrides}).settings

    return make


@asynccontextmanager
async def started(app: App) -> AsyncIterator[App]:
    """An application between its start-up and its shutdown."""
    to_app: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {}, "state": {}}, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    answer = await from_app.get()
    assert answer["type"] == "lifespan.startup.complete", answer
    try:
        yield app
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        await from_app.get()
        await task


def client_of(app: App, *, address: str = "203.0.113.7", base_url: str = "http://localhost:8080") -> httpx.AsyncClient:
    """A browser or program at `address`, talking to the application."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 50000))
    return httpx.AsyncClient(transport=transport, base_url=base_url)


Serve = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def serve(settings_with: Callable[..., Settings]) -> Serve:
    """Start the whole application: `async with serve(limit_create=2, hooks=Hooks(…)) as client`.

    The application itself is `client._transport.app`; more clients come from `client_of`.
    """

    @asynccontextmanager
    async def run(*, hooks: Hooks | None = None, **overrides: Any) -> AsyncIterator[httpx.AsyncClient]:
        async with started(create_app(settings_with(**overrides), hooks)) as app, client_of(app) as client:
            client.app = app  # type: ignore[attr-defined]
            yield client

    return run


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """The application with default settings, and one client."""
    async with serve() as opened:
        yield opened
