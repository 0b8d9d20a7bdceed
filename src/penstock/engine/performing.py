"""Who performs what: each kind of task by its file, loaded when it is first needed."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import structlog

from penstock.engine.faults import Fault, runtime
from penstock.engine.host import Json
from penstock.engine.jq import Jq
from penstock.engine.tasks import authentication, catalogs, resources
from penstock.engine.tasks.work import Perform, Performed, Subscribe, Tools, Work

log = structlog.get_logger()

_KINDS = {
    "http": "penstock.engine.tasks.http",
    "openapi": "penstock.engine.tasks.openapi",
    "grpc": "penstock.engine.tasks.grpc",
    "asyncapi": "penstock.engine.tasks.asyncapi",
    "mcp": "penstock.engine.tasks.mcp",
    "a2a": "penstock.engine.tasks.a2a",
    "script": "penstock.engine.tasks.processes.script",
    "shell": "penstock.engine.tasks.processes.shell",
    "container": "penstock.engine.tasks.processes.container",
}


class Performer:
    """One for each server."""

    def __init__(self, tools: Tools, jq: Jq) -> None:
        self.tools = tools
        self.jq = jq
        self._loaded: dict[str, Perform] = {"authorize": _authorize}

    async def perform(self, kind: str, arguments: Json, work: Work) -> Performed:
        try:
            return await self._kind(kind)(arguments, work)
        except Fault:
            raise
        except Exception as error:
            # A defect of ours: said to nobody but the server's log.
            log.error("a task failed in a way that is not foreseen", kind=kind, exc_info=error)
            raise runtime("Internal error", "the server's log says what happened") from None

    def _kind(self, kind: str) -> Perform:
        if kind not in self._loaded:
            self._loaded[kind] = import_module(_KINDS[kind]).perform
        return self._loaded[kind]

    async def fetch(self, resource: Json, work: Work) -> Any:
        return (await resources.document(resource, work)).data

    async def read(self, resource: Json, work: Work) -> str:
        return (await resources.read(resource, work)).text

    async def find_function(self, place: str, catalog: Json | None, work: Work) -> Json:
        _, _, name = place.rpartition("@")
        return dict(await catalogs.function(place, {} if catalog is None else {name: catalog}, work))

    @asynccontextmanager
    async def subscribe(self, arguments: Json, work: Work) -> AsyncIterator[AsyncIterator[Any]]:
        subscribe: Subscribe = import_module(_KINDS["asyncapi"]).subscribe
        messages = subscribe(arguments, work)
        try:
            yield messages
        finally:
            # Whoever has enough of them leaves: the broker hears of it now, not when memory is tidied.
            if isinstance(messages, AsyncGenerator):
                await messages.aclose()


async def _authorize(arguments: Mapping[str, Any], work: Work) -> Performed:
    """`$authorization`, before the call that needs it. Digest and certificates have none: they answer a challenge."""
    policy = arguments.get("authentication")
    if policy is not None and authentication.read(policy, work.secrets).scheme in ("digest", "certificate"):
        return Performed(None)
    _, proof = await authentication.headers(policy, work)
    return Performed(None, proof)
