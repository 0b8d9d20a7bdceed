"""What every test may ask for: a database of each kind, and a running application to talk to."""

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import structlog
from argon2 import PasswordHasher
from litestar import Litestar
from litestar.datastructures import State

import penstock.app
from penstock.accounts import passwords
from penstock.accounts.hooks import Hooks
from penstock.http.edge import App, Edge
from penstock.platform import api
from penstock.settings import Settings, load
from penstock.storage import Database, migrate, open_database
from tests import postgresql, temporal
from tests.platform.iam.certificates import Authority

if TYPE_CHECKING:
    from tests.conformance.stand_in import StandIn

for variable in [name for name in os.environ if name.startswith("PENSTOCK_")]:
    del os.environ[variable]

# What is loaded stays: to look for garbage among it was a fifth of the time in which tests are collected.
gc.disable()

# A machine with more to do than cores takes longer to answer than the five seconds that httpx would wait.
for wait in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, wait, 60)

# Tracebacks as the server writes them: with all local variables, as structlog would, one takes seconds.
structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback


pytest_plugins = ["tests.watchdog"]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") != "no":
        gc.enable()  # who hands tests out to others collects none


def pytest_collection_finish() -> None:
    # All that was imported stays to the end: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost next to nothing. Where it matters what they cost, this fixture is another one."""
    monkeypatch.setattr(passwords, "_argon2", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture(scope="session", autouse=True)
def few_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests meet no public site, so one certificate is enough to trust: a server that starts reads the public ones
    twice, which is a third of the time that starting takes."""
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text(Authority().pem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session")
def services() -> Iterator["StandIn"]:
    """Services for workflows to call."""
    from tests.conformance.stand_in import stand_in  # most tests call none, and need not load them

    with stand_in() as running:
        yield running


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for a module: what is started in it (jq, connections) serves all its tests."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """A real PostgreSQL for this test process; its address."""
    with postgresql.running() as address:
        yield address


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Temporal for this test process; its address."""
    with temporal.running(tmp_path_factory.mktemp("temporal")) as address:
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
        # What is about executions asks for an engine; the others need not wait for one to start.
        # Expressions end by the clock, too: a machine that is far too busy takes the usual ten seconds for itself.
        usual = {"database": database_url, "engine": "none", "expression_time": "60s"}
        return load(environ={}, overrides=usual | overrides).settings

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


_kept: list[Litestar] = []


def build(settings: Settings, hooks: Hooks | None) -> Edge:
    """`create_app`, on routes that an earlier test is done with: building them takes longer than most tests.

    Whatever depends on settings is in the lifespan and in the state, and those are new.
    """
    with pytest.MonkeyPatch.context() as patch:
        if _kept:
            patch.setattr(penstock.app, "Litestar", _anew)
            patch.setattr(api, "router", lambda: None)
        edge = penstock.app.create_app(settings, hooks)
    assert isinstance(edge, Edge)
    return edge


def _anew(*, lifespan: list[Any], **_: Any) -> Litestar:
    litestar = _kept.pop()
    litestar.state = State()
    litestar._lifespan_managers = lifespan
    return litestar


def keep(edge: Edge) -> None:
    _kept.append(edge.app)


Serve = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def serve(settings_with: Callable[..., Settings]) -> Serve:
    """Start the whole application: `async with serve(limit_create=2, hooks=Hooks(…)) as client`.

    The application itself is `client._transport.app`; more clients come from `client_of`.
    """

    @asynccontextmanager
    async def run(*, hooks: Hooks | None = None, **overrides: Any) -> AsyncIterator[httpx.AsyncClient]:
        built = build(settings_with(**overrides), hooks)
        async with started(built) as app, client_of(app) as client:
            client.app = app  # type: ignore[attr-defined]
            yield client
        keep(built)

    return run


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """The application with default settings, and one client."""
    async with serve() as opened:
        yield opened
