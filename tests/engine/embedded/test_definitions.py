"""Definitions in memory: as many as fit, however large somebody makes theirs; and nobody waits for them."""

import asyncio
from typing import Any

import pytest

from penstock.engine.embedded.definitions import Definitions
from penstock.storage import Database
from tests.engine.jq.test_attacks import Heartbeat

pytestmark = pytest.mark.anyio

HEAD = "document: {dsl: '1.0.3', namespace: test, name: one, version: '1.0.0'}\ndo: []\n"


class Versions:
    """A database that has every version, the tenth of which is large, and counts who reads them."""

    def __init__(self) -> None:
        self.read: list[int] = []

    async def one(self, _statement: Any, *, version: int, **_: Any) -> tuple[str]:
        self.read.append(version)
        return (HEAD + ("#" * 9_000 if version % 10 == 0 else ""),)


async def test_large_definitions_are_forgotten_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.embedded.definitions._MOST_TEXT", 10_000)
    versions: Any = Versions()
    database: Database = versions
    definitions = Definitions(database)
    for version in (1, 2, 3, 1, 2, 3):
        await definitions.get("workflow", version)
    assert versions.read == [1, 2, 3]
    for version in (10, 20, 10):
        await definitions.get("workflow", version)
    assert versions.read == [1, 2, 3, 10, 20, 10]


class Large:
    """A database with definitions as large as they may be, of thousands of expressions each."""

    async def one(self, _statement: Any, *, workflow_id: str, **_: Any) -> tuple[str]:
        task = "- t{n}: {{set: {{a: '${{ [.{name}{n}, .b, .c, .d] | map(. + 1) | add }}'}}}}\n"
        tasks = (task.format(n=n, name=workflow_id) for n in range(3_600))
        return (HEAD.replace("do: []\n", "do:\n") + "".join(tasks),)


async def test_while_large_definitions_are_made_ready_for_the_first_time_others_have_their_turn() -> None:
    large: Any = Large()
    definitions = Definitions(large)
    async with Heartbeat() as heart:
        ready = await asyncio.gather(*(definitions.get(name, 1) for name in ("x", "y", "z")))
    assert [len(workflow.tasks) for workflow in ready] == [3_600] * 3
    assert heart.worst < 0.1
