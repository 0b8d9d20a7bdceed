"""What an execution reads does not grow with those that have ended before it: nothing goes through a whole table."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from bench.engine import history

from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened, shop

pytestmark = pytest.mark.anyio

PAST = 10_000
WORK = "do: [{a: {set: {x: 1}}}, {b: {wait: {milliseconds: 1}}}, {c: {set: {y: '${ .x }'}}}]"
# Those that grow with every execution.
_READ = """
SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
WHERE relname IN ('executions', 'steps', 'events', 'log_entries', 'inbox', 'consumed_events')
"""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def database_url(postgresql_url: str) -> str:
    """SQLite has no other plans with a past than without; here they depend on what is known of the tables."""
    return postgresql_url


async def test_on_postgresql_executions_read_no_more_after_many_others(serve: Serve, postgresql_url: str) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("work", WORK, deploy=True)
    async with _counted(postgresql_url) as without:
        await _work(serve, here, workflow)
    await history._add_to_postgresql(postgresql_url, workflow, PAST)
    async with _counted(postgresql_url) as after:
        await _work(serve, here, workflow)
    assert without["executions"] > 0
    more = {table: after[table] - without[table] for table in without}
    # How often we asked whether one has ended counts, too; who goes through a table reads all of it.
    assert max(more.values()) < PAST / 2, more


async def _work(serve: Serve, before: Shop, workflow: str) -> None:
    """A server starts, looks at what it finds, runs some, and stops."""
    async with reopened(serve, before) as here:
        for _ in range(10):
            assert await here.output(workflow) == {"y": 1}


@asynccontextmanager
async def _counted(url: str) -> AsyncIterator[dict[str, int]]:
    """Rows that were read meanwhile, by table. Who disconnects has said what it read."""
    read: dict[str, int] = {}
    connection = await asyncpg.connect(url)

    async def others_have_left() -> bool:
        return bool(await connection.fetchval(_OTHERS) == 0)

    try:
        await came(others_have_left)
        await connection.execute("SELECT pg_stat_reset()")
        yield read
        await came(others_have_left)
        read.update({str(table): int(rows) for table, rows in await connection.fetch(_READ)})
    finally:
        await connection.close()
