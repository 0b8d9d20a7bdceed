"""What a request costs the database: a fixed number of statements, however much there is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import msgspec
import pytest

from penstock.platform import api
from penstock.storage import Database, Row, Statement, Transaction
from penstock.streams import Level
from tests.platform.scenes import Scene, set_scene

pytestmark = pytest.mark.anyio
_GUARD = 2


class Counting(Database):
    """Counts what is asked of the database behind it."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.asked = 0

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        self.asked += 1
        return await self.inner.one(statement, **params)

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        self.asked += 1
        return await self.inner.all(statement, **params)

    async def slow(self, statement: Statement, **params: Any) -> Sequence[Row]:
        self.asked += 1
        return await self.inner.slow(statement, **params)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self.inner.transaction()

    async def ping(self) -> None:
        await self.inner.ping()

    async def close(self) -> None:
        await self.inner.close()


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> AsyncIterator[Scene]:
    scene = await set_scene(client)
    state = client.app.app.state  # type: ignore[attr-defined]
    before = state.platform
    state.platform = msgspec.structs.replace(before, database=Counting(before.database))
    yield scene
    state.platform = before


async def asked(scene: Scene, path: str) -> int:
    counting = scene.client.app.app.state.platform.database  # type: ignore[attr-defined]
    counting.asked = 0
    answer = await scene.owner.get(path)
    assert answer.status_code == 200, (path, answer.text)
    return int(counting.asked)


async def test_on_sqlite_those_who_come_together_with_one_token_are_let_through_by_one_look(scene: Scene) -> None:
    path, many = f"/workflows/{scene.workflow_id}", 8
    alone = await asked(scene, path)
    counting = scene.client.app.app.state.platform.database  # type: ignore[attr-defined]
    counting.asked = 0
    answers = await asyncio.gather(*(scene.owner.get(path) for _ in range(many)))
    assert {answer.status_code for answer in answers} == {200}
    # PostgreSQL answers in a later turn, when it may be true no more.
    looks = 1 if counting.dialect == "sqlite" else many
    assert counting.asked == looks * _GUARD + many * (alone - _GUARD)


def _served() -> set[str]:
    return {
        path.replace(":str}", "}")
        for handler in api.HANDLERS
        for path in handler.paths
        if "GET" in handler.http_methods and not path.startswith("/auth") and not path.endswith(("/stream", "/export"))
    }


async def test_every_read_asks_a_bounded_number_of_times_whatever_there_is(scene: Scene) -> None:
    execution = await scene.trigger()
    fill = {
        "{id}": scene.workflow_id, "{cid}": scene.company_id, "{oid}": scene.company_id, "{pid}": scene.project_id,
        "{v}": "latest",
    }  # fmt: skip

    def address(path: str) -> str | None:
        own = {"/companies": scene.company_id, "/projects": scene.project_id, "/executions": execution["id"]}
        for prefix, id_ in own.items():
            if path.startswith(prefix + "/{id}"):
                path = path.replace("{id}", id_)
        if path.startswith(("/organizations/{id}", "/iam")) or "{name}" in path or "{number}" in path:
            return None  # there is none of these in the scene
        for name, value in fill.items():
            path = path.replace(name, value)
        return path + ("?q=more" if path == "/search" else "")

    reads = {path: found for path in sorted(_served()) if (found := address(path)) is not None}
    assert len(reads) >= 20
    few = {path: await asked(scene, found) for path, found in reads.items()}
    for number in range(4):
        await scene.another_workflow(f"More {number}")
        await scene.trigger(number)
        await scene.log("more", level=Level.ERROR)
        await scene.event("workflow.started")
        await scene.owner.made("/companies", {"name": f"Company {number}"})
        await scene.owner.made(f"/organizations/{scene.company_id}/projects", {"name": f"Project {number}"})
        await scene.member(f"member{number}", "viewer")
    many = {path: await asked(scene, found) for path, found in reads.items()}
    assert many == few
    most = {"/workflows/{id}/dashboard": 5}
    over = {path: n for path, n in many.items() if n > _GUARD + most.get(path, 3)}
    assert over == {}


@pytest.mark.parametrize(
    "path",
    [
        "/executions?status=pending&since=2020-01-01T00:00:00Z",
        "/logs?level=warn&q=x&module=m",
        "/events?type=workflow.started",
    ],
)
async def test_filters_cost_no_more_questions(scene: Scene, path: str) -> None:
    assert await asked(scene, scene.path + path) <= _GUARD + 2
