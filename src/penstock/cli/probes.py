"""The small listener of a worker: is it up (`/healthz`), can it work (`/readyz`), and how it does (`/metrics`)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from penstock.settings import SettingsError

log = structlog.get_logger()
Trouble = Callable[[], Awaitable[str | None]]
Metrics = Callable[[], Awaitable[bytes]]
_METRICS_TYPE = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}


@asynccontextmanager
async def probes(listen: str, trouble: Trouble, metrics: Metrics) -> AsyncIterator[str]:
    """Where it listens, for as long as the block lasts."""
    host, _, port = listen.rpartition(":")
    app = web.Application()
    app.add_routes(_routes(trouble, metrics))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        except OSError as error:
            raise SettingsError(f"worker_listen: cannot listen on {listen} ({error.strerror})") from error
        yield f"{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _routes(trouble: Trouble, metrics: Metrics) -> list[web.RouteDef]:
    async def healthz(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def readyz(_: web.Request) -> web.Response:
        if (why := await trouble()) is None:
            return web.json_response({"status": "ready"})
        log.debug("not ready", why=why)
        problem = {"title": "Service Unavailable", "status": 503, "detail": why}
        return web.json_response(problem, status=503, content_type="application/problem+json")

    async def shown(_: web.Request) -> web.Response:
        return web.Response(body=await metrics(), headers=_METRICS_TYPE)

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", shown)]
