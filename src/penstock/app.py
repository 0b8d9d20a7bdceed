"""Settings and parts put together into one ASGI application, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import structlog
from litestar import Litestar, Request
from litestar.types import ControllerRouterHandler

from penstock import projects
from penstock.accounts import provider_routes, routes
from penstock.accounts.hooks import Hooks, from_settings
from penstock.accounts.service import Accounts
from penstock.console import routes as console
from penstock.http import docs, health
from penstock.http.answers import handle
from penstock.http.edge import App, Edge, Receive, Scope, Send
from penstock.platform import api, starting
from penstock.platform.iam import types
from penstock.settings import Settings
from penstock.storage import open_database

log = structlog.get_logger()


def create_app(settings: Settings, hooks: Hooks | None = None) -> App:
    """The whole server: `/user/*`, `/api/v1/*`, `/project`, health, metrics, documentation and the console."""
    handlers: list[ControllerRouterHandler] = [
        *routes.HANDLERS,
        *provider_routes.HANDLERS,
        *projects.HANDLERS,
        api.router(),
        *health.HANDLERS,
        *docs.HANDLERS,
        *console.HANDLERS,
    ]
    return _assemble(settings, hooks, handlers)


class Mounted:
    """An application inside another one."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._start = asyncio.Lock()
        self._running = AsyncExitStack()
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._started:
            await self._begin()
        await self._edge(scope, receive, send)

    async def _begin(self) -> None:
        async with self._start:
            if not self._started:
                await self._running.enter_async_context(self._edge.app.lifespan())
                self._started = True

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Mounted"]:
        await self._begin()
        try:
            yield self
        finally:
            self._started = False
            await self._running.aclose()


def create_accounts_app(settings: Settings, hooks: Hooks | None = None) -> "Mounted":
    """Document 1 alone, to mount in another ASGI application (at `/user`, or at its root).

    A mounted application hears nothing of its host's start and end, so this one starts with its first request;
    a host that wants it earlier, and an orderly end, enters `app.running()` in its own lifespan.
    """
    return Mounted(_assemble(settings, hooks, [*routes.HANDLERS, *provider_routes.HANDLERS], mount="/user"))


def _assemble(
    settings: Settings, hooks: Hooks | None, handlers: Sequence[ControllerRouterHandler], mount: str = ""
) -> Edge:
    # Here, not at start-up: a path that leads nowhere is said as plainly as any other wrong setting.
    resolved = from_settings(settings.hooks, hooks)
    iam_types = types.load(settings.iam_types)

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        # Whatever was started ends in reverse order, also when what comes after it does not start.
        async with AsyncExitStack() as stack:
            app.state.database = database = await open_database(settings.database.reveal(), pool=settings.database_pool)
            stack.push_async_callback(database.close)
            app.state.accounts = accounts = await Accounts.start(settings, database, resolved)
            stack.push_async_callback(accounts.stop)
            if not mount:
                app.state.platform = await starting.start(stack, settings, database, accounts, iam_types)
            yield

    app = Litestar(
        route_handlers=handlers,
        lifespan=[lifespan],
        exception_handlers={Exception: handle},
        openapi_config=docs.openapi_config() if not mount else None,
        logging_config=None,
        request_max_body_size=None,
    )
    app.state.authorize_project = _authorize_project(settings)
    return Edge(app, settings, mount=mount)


def _authorize_project(settings: Settings) -> Callable[[Request[Any, Any, Any]], Any]:
    """Document 3 shows no authentication; a deployment may ask for a session."""

    async def anyone(_: Request[Any, Any, Any]) -> None:
        return

    return routes.session_of if settings.project_auth == "session" else anyone
