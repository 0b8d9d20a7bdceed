"""Definitions, made ready once: a version never changes."""

import asyncio
from collections import OrderedDict
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import structlog
from sqlalchemy import bindparam, func, select

from penstock.dsl.build import NotValid, document_of, workflow_of
from penstock.dsl.model import Document, Workflow
from penstock.dsl.parse import NotReadable
from penstock.dsl.versions import precedence
from penstock.engine.embedded import statements
from penstock.engine.faults import Fault, configuration
from penstock.storage import Database, Statement
from penstock.storage.platform_tables import workflow_versions, workflows

log = structlog.get_logger()
K = TypeVar("K")
V = TypeVar("V")
# A definition takes a hundred times as much memory as its text.
_MOST_TEXT = 8 * 1024 * 1024
_LONG = 16 * 1024
_MOST_DOCUMENTS = 20_000
_MOST_PROJECTS = 100
_LONGEST_NAME = 1_000

# Versions never change: as long as these two are the same, so are a project's documents.
_CHANGED = Statement(
    select(func.count(), func.max(workflow_versions.c.created_at))
    .select_from(workflow_versions)
    .join(workflows, workflows.c.id == workflow_versions.c.workflow_id)
    .where(workflows.c.project_id == bindparam("project_id"))
)
_STATUS = Statement(select(workflows.c.status).where(workflows.c.id == bindparam("id")))
_OF_PROJECT = Statement(
    select(workflow_versions.c.workflow_id, workflow_versions.c.version)
    .join(workflows, workflows.c.id == workflow_versions.c.workflow_id)
    .where(workflows.c.project_id == bindparam("project_id"))
    .order_by(workflow_versions.c.created_at.desc(), workflow_versions.c.version.desc())
)


class Found(msgspec.Struct, frozen=True):
    workflow_id: str
    version: int
    status: str


class _Version(msgspec.Struct, frozen=True):
    workflow_id: str
    version: int
    document: str
    """What its document calls itself."""


class Definitions:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._ready: OrderedDict[tuple[str, int], tuple[Workflow, int]] = OrderedDict()
        self._text = 0
        self._long = asyncio.Lock()
        self._finding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._documents: OrderedDict[tuple[str, int], Document | None] = OrderedDict()
        self._projects: OrderedDict[str, tuple[tuple[Any, ...], dict[tuple[str, str], list[_Version]]]] = OrderedDict()

    def known(self, workflow_id: str, version: int) -> Workflow | None:
        """When it was made ready before."""
        known = self._ready.get((workflow_id, version))
        return None if known is None else known[0]

    async def get(self, workflow_id: str, version: int) -> Workflow:
        """Raises `Fault` when it is none that could run."""
        name = (workflow_id, version)
        if (known := self._ready.get(name)) is not None:
            self._ready.move_to_end(name)
            return known[0]
        row = await self._database.one(statements.DEFINITION, workflow_id=workflow_id, version=version)
        if row is None:
            raise configuration("No such version", f"version {version} of the workflow is gone")
        try:
            workflow = await self._made_ready(row[0])
        except (NotReadable, NotValid) as error:
            raise configuration("Not a valid definition", str(error)) from None
        except Exception as error:
            # It was valid when it was stored; the language has changed since. The engine must not end because of it.
            log.error("a definition cannot be made ready", workflow_id=workflow_id, version=version, exc_info=error)
            raise configuration(
                "Not a valid definition",
                "it was valid when it was stored, and is not any more; its validation says why",
            ) from None
        self._keep(name, workflow, len(row[0]))
        return workflow

    async def get_if_valid(self, workflow_id: str, version: int) -> Workflow | None:
        """The same; None when it is none that could run, for whoever only wants to know its name."""
        try:
            return await self.get(workflow_id, version)
        except Fault:
            return None

    async def _made_ready(self, text: str) -> Workflow:
        """Thousands of tasks take a while. In a thread; but it has the interpreter for some milliseconds at a time, and
        several such threads would have it one after the other, while everybody waits."""
        if len(text) <= _LONG:
            return await asyncio.to_thread(workflow_of, text)
        async with self._long:
            return await asyncio.to_thread(workflow_of, text)

    def _keep(self, name: tuple[str, int], workflow: Workflow, size: int) -> None:
        if name not in self._ready:
            self._ready[name] = (workflow, size)
            self._text += size
        while self._text > _MOST_TEXT:
            _, (_, gone) = self._ready.popitem(last=False)
            self._text -= gone

    async def find(self, project_id: str, namespace: str, name: str, version: str) -> Found | None:
        """The newest in the project whose document says so; `latest` is the highest version, and the newest of it."""
        # Many who look at the same time read what is there once.
        async with self._finding.setdefault(project_id, asyncio.Lock()):
            named = (await self._named(project_id)).get((namespace, name), ())
        wanted = [each for each in named if version in {"latest", each.document}]
        for each in sorted(wanted, key=lambda each: precedence(each.document), reverse=True):
            try:
                await self.get(each.workflow_id, each.version)
            except Fault:
                continue
            status = await self._database.one(_STATUS, id=each.workflow_id)
            return None if status is None else Found(each.workflow_id, each.version, str(status[0]))
        return None

    async def _named(self, project_id: str) -> dict[tuple[str, str], list[_Version]]:
        """A project's versions, newest first, by the names that their documents have."""
        row = await self._database.one(_CHANGED, project_id=project_id)
        seen = tuple(row) if row is not None else ()
        known = self._projects.get(project_id)
        if known is not None and known[0] == seen:
            self._projects.move_to_end(project_id)
            return known[1]
        named: dict[tuple[str, str], list[_Version]] = {}
        for workflow_id, number in await self._database.all(_OF_PROJECT, project_id=project_id):
            document = await self._document(str(workflow_id), int(number))
            if document is not None:
                version = _Version(str(workflow_id), int(number), document.version)
                named.setdefault((document.namespace, document.name), []).append(version)
        _keep(self._projects, project_id, (seen, named), _MOST_PROJECTS)
        return named

    async def _document(self, workflow_id: str, version: int) -> Document | None:
        key = (workflow_id, version)
        if key not in self._documents:
            _keep(self._documents, key, await self._read_document(*key), _MOST_DOCUMENTS)
        return self._documents[key]

    async def _read_document(self, workflow_id: str, version: int) -> Document | None:
        row = await self._database.one(statements.DEFINITION, workflow_id=workflow_id, version=version)
        try:
            # Without its tasks, which take much longer to be made ready.
            document = await asyncio.to_thread(document_of, row[0]) if row is not None else None
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is none that could be found by its name
            return None
        if document is None or len(document.namespace + document.name + document.version) > _LONGEST_NAME:
            return None
        return msgspec.structs.replace(document, title=None, metadata={})


def _keep(kept: OrderedDict[K, V], name: K, value: V, most: int) -> None:
    kept[name] = value
    if len(kept) > most:
        kept.popitem(last=False)
