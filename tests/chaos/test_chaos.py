"""Nothing is lost: whatever dies, and whenever, every execution ends as it should, and nothing is done twice that was
done. `make chaos` rages for ten minutes, and says with which seed."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from penstock.storage import Database, open_database
from tests.chaos.accounting import Books, unended
from tests.chaos.cluster import TemporalStorm, cluster
from tests.chaos.peers import counting, postgresql
from tests.chaos.storm import Storm, cut_connections, restart

pytestmark = pytest.mark.anyio

SECONDS = float(os.environ.get("CHAOS_SECONDS", "12"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))


async def test_on_sqlite_every_execution_step_and_call_is_accounted_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/penstock.db"
    with counting(tmp_path) as service:
        storm = Storm(tmp_path, url, service, SEED)
        await _weather(storm, [storm.a_server_dies, storm.all_servers_die, storm.a_server_hangs, storm.a_server_leaves])


async def test_on_postgresql_every_execution_step_and_call_is_accounted_for(tmp_path: Path) -> None:
    with counting(tmp_path) as service, postgresql() as server:
        storm = Storm(tmp_path, server.url, service, SEED)

        async def cut() -> None:
            await cut_connections(server.url)

        async def power_cut() -> None:
            await restart(server)

        await _weather(storm, [storm.a_server_dies, cut, storm.a_server_hangs, power_cut, storm.all_servers_die, cut])


async def test_on_temporal_every_execution_step_call_and_event_is_accounted_for(tmp_path: Path) -> None:
    with counting(tmp_path) as service, postgresql() as server, cluster(tmp_path) as temporal:
        storm = TemporalStorm(tmp_path, server.url, service, SEED, temporal)
        disasters = [storm.a_worker_dies, storm.a_server_dies, storm.temporal_dies, storm.a_worker_hangs]
        await _weather(storm, disasters)


async def _weather(storm: Storm, disasters: Sequence[Callable[[], Awaitable[None]]]) -> None:
    try:
        await storm.start()
        await storm.set_up()
        database = await open_database(storm.database)
        try:
            await storm.rage(SECONDS, disasters)
            await storm.end(lambda: unended(database))
            await storm.all_is_heard()
            await storm.stop()
            await _account(storm, database)
        finally:
            await database.close()
    finally:
        await storm.close()


async def _account(storm: Storm, database: Database) -> None:
    books = Books(storm)
    await books.read(database)
    print(f"\n{len(books.rows['executions'])} executions, {len(storm.deaths)} deaths, seed {SEED}")
    books.check()
