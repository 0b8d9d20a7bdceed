"""Definitions in memory: as many as fit, however large somebody makes theirs."""

from typing import Any

import pytest

from penstock.engine.embedded.definitions import Definitions
from penstock.storage import Database

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
