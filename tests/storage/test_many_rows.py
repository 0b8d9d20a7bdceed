"""Many rows written at once are the same rows, in the same order, as written one by one."""

from typing import Any

import pytest
from sqlalchemy import BigInteger, Boolean, Column, MetaData, Table, Text, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateTable

from penstock.ids import uuid7
from penstock.storage import Database, Duplicate, Refused, Statement
from penstock.storage.schema import Id, Serial

pytestmark = pytest.mark.anyio

things = Table(
    "things",
    MetaData(),
    Column("number", Serial, primary_key=True, autoincrement=True),
    Column("id", Id, nullable=False, unique=True),
    Column("text", Text),
    Column("big", BigInteger),
    Column("yes", Boolean),
    Column("kind", Text, nullable=False),
)
ADD = Statement(
    insert(things).values({name: bindparam(name) for name in ("id", "text", "big", "yes")} | {"kind": "constant"})
)
CHANGE = Statement(
    update(things)
    .where(things.c.id == bindparam("id_"), things.c.yes.is_(None))
    .values(text=bindparam("text"), kind="changed")
)
ALL = Statement(select(things).order_by(things.c.number))
TEXTS = ["", "plain", 'quotes " and \\', "😀 ünï\u2028", "a\nb\tc\x1f", "\ufeffmark", '{"json": "\\u0000"}', None]
NUMBERS = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]


@pytest.fixture
async def made(database: Database) -> Database:
    dialect: Any = sqlite.dialect() if database.dialect == "sqlite" else postgresql.dialect()  # type: ignore[no-untyped-call]
    async with database.transaction() as tx:
        await tx.run_text(str(CreateTable(things).compile(dialect=dialect)))
    return database


def _rows(many: int) -> list[dict[str, Any]]:
    return [
        {
            "id": uuid7(),
            "text": TEXTS[number % len(TEXTS)],
            "big": NUMBERS[number % len(NUMBERS)],
            "yes": (True, False, None)[number % 3],
        }
        for number in range(many)
    ]


async def _stored(database: Database) -> list[dict[str, Any]]:
    return [{name: row[name] for name in ("id", "text", "big", "yes")} for row in await database.all(ALL)]


@pytest.mark.parametrize("many", [1, 200])
async def test_every_value_comes_back_as_it_went_and_in_order(made: Database, many: int) -> None:
    rows = _rows(many)
    async with made.transaction() as tx:
        await tx.run_many(ADD, rows)
    assert await _stored(made) == rows
    assert {row["kind"] for row in await made.all(ALL)} == {"constant"}


@pytest.mark.parametrize("many", [1, 200])
async def test_each_update_finds_its_own_row_and_only_where_the_condition_holds(made: Database, many: int) -> None:
    rows = _rows(many + 2)
    async with made.transaction() as tx:
        await tx.run_many(ADD, rows)
        await tx.run_many(CHANGE, [{"id_": row["id"], "text": f"new {row['id']}"} for row in rows])
    for row in await made.all(ALL):
        assert (row["kind"] == "changed") == (row["yes"] is None) == (row["text"] == f"new {row['id']}")


async def test_of_two_updates_of_one_row_the_later_one_counts(made: Database) -> None:
    rows = [row | {"yes": None} for row in _rows(50)]
    changes = [{"id_": row["id"], "text": f"{turn}"} for turn in range(3) for row in rows]
    async with made.transaction() as tx:
        await tx.run_many(ADD, rows)
        await tx.run_many(CHANGE, changes)
    assert {row["text"] for row in await made.all(ALL)} == {"2"}


async def test_what_is_read_in_the_same_transaction_shows_what_was_written_before(made: Database) -> None:
    rows = _rows(100)
    async with made.transaction() as tx:
        await tx.run_many(ADD, rows)
        assert len(await tx.all(ALL)) == 100
        await tx.run_many(ADD, _rows(1))
        assert await tx.run(CHANGE, id_=rows[2]["id"], text="") == 1


async def test_one_that_is_there_already_undoes_them_all_and_is_a_duplicate(made: Database) -> None:
    rows = _rows(100)
    with pytest.raises(Duplicate):
        async with made.transaction() as tx:
            await tx.run_many(ADD, [*rows, rows[50]])
    assert await _stored(made) == []


async def test_a_text_with_a_nul_is_stored_whole_or_refused(made: Database) -> None:
    rows = [row | {"text": "before\0after"} for row in _rows(100)]
    if made.dialect == "postgresql":
        with pytest.raises(Refused):
            async with made.transaction() as tx:
                await tx.run_many(ADD, rows)
    else:
        async with made.transaction() as tx:
            await tx.run_many(ADD, rows)
        assert await _stored(made) == rows


async def test_a_block_that_fails_after_many_rows_leaves_none(made: Database) -> None:
    async def fail() -> None:
        async with made.transaction() as tx:
            await tx.run_many(ADD, _rows(100))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await _stored(made) == []
