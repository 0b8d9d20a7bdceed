"""A small table of our own to write to, and statements on it."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import bindparam, func, insert, select

from penstock.storage import Database, Statement, Transaction
from penstock.storage.schema import key_values

PUT = Statement(insert(key_values).values(key=bindparam("key"), value=bindparam("value")))
KEYS = Statement(select(key_values.c.key).order_by(key_values.c.key))
COUNT = Statement(select(func.count()).select_from(key_values))


async def put(tx: Transaction, key: str) -> None:
    await tx.run(PUT, key=key, value="")


async def keys(database: Database) -> list[str]:
    return [row[0] for row in await database.all(KEYS)]


@pytest.fixture
async def other(database: Database, database_url: str) -> AsyncIterator[Database]:
    """The same database, opened a second time, as another server does."""
    from penstock.storage import open_database

    opened = await open_database(database_url)
    yield opened
    await opened.close()
