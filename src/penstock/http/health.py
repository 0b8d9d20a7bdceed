"""Is the process up (`/healthz`), can it work (`/readyz`), and how it does (`/metrics`)."""

from typing import Any

import structlog
from litestar import Request, get

from penstock.http import metrics
from penstock.http.answers import Answer, json
from penstock.http.openapi import answer, problems
from penstock.problems import Overloaded
from penstock.storage import StorageError

log = structlog.get_logger()
_TAGS = ["operations"]


@get(
    "/healthz",
    tags=_TAGS,
    summary="Is the process up?",
    responses={200: answer(dict[str, str], "It is.", {"status": "ok"})},
)
async def healthz() -> Answer:
    return json({"status": "ok"})


@get(
    "/readyz",
    tags=_TAGS,
    summary="Can the server do its work?",
    responses={200: answer(dict[str, str], "It can.", {"status": "ready"})}
    | problems((503, "The database cannot be reached, the engine cannot write, or Temporal does not answer.")),
)
async def readyz(request: Request[Any, Any, Any]) -> Answer:
    try:
        await request.app.state.database.ping()
    except StorageError as error:
        log.warning("not ready", error=str(error))
        raise Overloaded("the database cannot be reached") from error
    trouble = _engine_trouble(request.app.state)
    if trouble is not None:
        log.warning("not ready", error=trouble)
        raise Overloaded(f"{_why(request.app.state)}; executions wait")
    notice = _engine_notice(request.app.state)
    return json({"status": "ready"} | ({} if notice is None else {"notice": notice}))


def _engine_trouble(state: Any) -> str | None:
    engine = getattr(getattr(state, "platform", None), "engine", None)
    return getattr(engine, "trouble", None)


def _engine_notice(state: Any) -> str | None:
    """What people should see to, though requests can be served: no other server would do better."""
    engine = getattr(getattr(state, "platform", None), "engine", None)
    return getattr(engine, "notice", None)


def _why(state: Any) -> str:
    """For everybody: no address, and nothing that a driver said."""
    return str(getattr(state.platform.engine, "unready", "the engine cannot write"))


@get("/metrics", tags=_TAGS, summary="Prometheus metrics")
async def prometheus() -> Answer:
    return Answer(200, metrics.text(), "text/plain; version=0.0.4; charset=utf-8")


HANDLERS = [healthz, readyz, prometheus]
