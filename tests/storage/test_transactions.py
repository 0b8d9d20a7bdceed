"""What a transaction promises on both databases: all or nothing, and word of it only when it is durable."""

import asyncio
import secrets
import traceback

import pytest
from sqlalchemy import bindparam, delete, insert, select, update

from penstock.storage import Database, Duplicate, Refused, Statement, StorageError
from penstock.storage.schema import key_values
from tests.storage.conftest import COUNT, PUT, keys, put

pytestmark = pytest.mark.anyio

SET = Statement(
    update(key_values)
    .where(key_values.c.key == bindparam("key_"))
    .values(value=bindparam("value"))
    .returning(key_values.c.value)
)
GET = Statement(select(key_values).where(key_values.c.key == bindparam("key")))
REMOVE = Statement(delete(key_values).where(key_values.c.value == "1"))
RETURNING = Statement(
    insert(key_values).values(key=bindparam("key"), value="constant").returning(key_values.c.key, key_values.c.value)
)


class Boom(Exception):
    pass


async def test_rows_are_read_by_position_by_name_and_unpacked(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.run(PUT, key="a", value="1")
    row = await database.one(GET, key="a")
    assert row is not None
    key, value = row
    assert (key, value) == (row[0], row[1]) == (row["key"], row["value"]) == ("a", "1")
    assert len(row) == 2


async def test_what_is_not_there_is_none_and_an_empty_list(database: Database) -> None:
    assert await database.one(GET, key="nobody") is None
    assert list(await database.all(GET, key="nobody")) == []
    async with database.transaction() as tx:
        assert await tx.one(GET, key="nobody") is None
        assert list(await tx.all(GET, key="nobody")) == []


async def test_a_write_says_how_many_rows_it_touched(database: Database) -> None:
    async with database.transaction() as tx:
        assert await tx.run(PUT, key="a", value="1") == 1
        assert await tx.run(PUT, key="b", value="1") == 1
        assert await tx.run(REMOVE) == 2
        assert await tx.run(REMOVE) == 0


async def test_values_in_the_statement_and_values_given_meet_in_one_row(database: Database) -> None:
    async with database.transaction() as tx:
        row = await tx.one(RETURNING, key="a")
        assert row is not None
        assert tuple(row) == ("a", "constant")
        assert await tx.one(SET, key_="a", value="2") is not None
    found = await database.one(GET, key="a")
    assert found is not None
    assert found["value"] == "2"


async def test_a_transaction_sees_its_own_writes_and_nobody_else_does_before_the_commit(
    database: Database, other: Database
) -> None:
    async with database.transaction() as tx:
        await put(tx, "mine")
        assert len(await tx.all(GET, key="mine")) == 1
        assert await keys(database) == []
        assert await keys(other) == []
    assert await keys(database) == ["mine"]
    assert await keys(other) == ["mine"]


async def test_a_block_that_raises_leaves_nothing(database: Database) -> None:
    async def attempt() -> None:
        async with database.transaction() as tx:
            await put(tx, "half")
            raise Boom

    with pytest.raises(Boom):
        await attempt()
    assert await keys(database) == []
    async with database.transaction() as tx:
        await put(tx, "whole")
    assert await keys(database) == ["whole"]


async def test_a_task_cancelled_in_the_middle_leaves_nothing(database: Database) -> None:
    written = asyncio.Event()

    async def work() -> None:
        async with database.transaction() as tx:
            await put(tx, "half")
            written.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await written.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await keys(database) == []
    async with database.transaction() as tx:
        await put(tx, "whole")
    assert await keys(database) == ["whole"]


async def test_calls_after_commit_come_after_the_commit(database: Database, other: Database) -> None:
    told: list[str] = []
    async with database.transaction() as tx:
        tx.after_commit(lambda: told.append("first"))
        tx.after_commit(lambda: told.append("second"))
        await put(tx, "a")
        assert told == []
    assert told == ["first", "second"]
    assert await keys(other) == ["a"]


async def test_nobody_is_told_of_a_transaction_that_was_rolled_back(database: Database) -> None:
    told: list[str] = []

    async def attempt() -> None:
        async with database.transaction() as tx:
            tx.after_commit(lambda: told.append("lie"))
            raise Boom

    with pytest.raises(Boom):
        await attempt()
    assert told == []


async def test_a_second_row_of_a_unique_key_is_a_duplicate_that_names_it(database: Database) -> None:
    async with database.transaction() as tx:
        await put(tx, "a")
    with pytest.raises(Duplicate, match="key_values"):
        async with database.transaction() as tx:
            await put(tx, "a")
    assert await keys(database) == ["a"]


async def test_a_missing_value_is_refused_and_not_a_duplicate(database: Database) -> None:
    with pytest.raises(StorageError, match="value") as caught:
        async with database.transaction() as tx:
            await tx.run(PUT, key="a", value=None)
    assert type(caught.value) is Refused


async def test_the_error_of_a_refused_row_does_not_show_the_row(database: Database) -> None:
    secret = secrets.token_hex()
    with pytest.raises(StorageError) as caught:
        async with database.transaction() as tx:
            await tx.run(PUT, key=secret, value=None)
    assert secret not in "".join(traceback.format_exception(caught.value))


async def test_a_failed_statement_that_the_block_swallows_is_never_told_as_a_commit_that_kept_nothing(
    database: Database,
) -> None:
    """SQLite keeps the rest of the transaction, PostgreSQL nothing: either way the outcome is what was said."""
    told: list[str] = []
    async with database.transaction() as tx:
        await put(tx, "a")
    failed = False
    try:
        async with database.transaction() as tx:
            tx.after_commit(lambda: told.append("kept"))
            await put(tx, "b")
            with pytest.raises(Duplicate):
                await put(tx, "a")
    except StorageError:
        failed = True
    assert ("b" in await keys(database)) is not failed
    assert told == ([] if failed else ["kept"])


async def test_sql_of_a_hook_joins_the_transaction(database: Database) -> None:
    marks = ("?", "?") if database.dialect == "sqlite" else ("$1", "$2")
    text = f"INSERT INTO key_values (key, value) VALUES ({marks[0]}, {marks[1]})"

    async def attempt() -> None:
        async with database.transaction() as tx:
            await tx.run_text(text, "undone", "")
            raise Boom

    with pytest.raises(Boom):
        await attempt()
    async with database.transaction() as tx:
        await tx.run_text(text, "done", "")
    assert await keys(database) == ["done"]


@pytest.fixture
async def sum_of_ones(database: Database) -> str:
    async with database.transaction() as tx:
        await tx.run(PUT, key="counter", value="0")
    return "counter"


async def test_fifty_transactions_at_once_are_each_applied_exactly_once(
    database: Database, other: Database, sum_of_ones: str
) -> None:
    """Read, then write: what is lost when two transactions interleave."""
    locked = Statement(select(key_values.c.value).where(key_values.c.key == bindparam("key")).with_for_update())

    async def add_one(index: int) -> None:
        async with (database if index % 2 else other).transaction() as tx:
            row = await tx.one(locked, key=sum_of_ones)
            assert row is not None
            await asyncio.sleep(0)
            await tx.run(SET, key_=sum_of_ones, value=str(int(row[0]) + 1))
            await put(tx, f"row {index}")

    await asyncio.gather(*(add_one(index) for index in range(50)))
    counter, count = await database.one(GET, key=sum_of_ones), await database.one(COUNT)
    assert counter is not None
    assert count is not None
    assert (counter["value"], count[0]) == ("50", 51)
