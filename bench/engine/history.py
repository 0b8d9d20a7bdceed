"""A database with many executions that have ended: what one more costs must not depend on them."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg

from penstock.storage import now
from penstock.storage.opening import sqlite_path

_SPAN = 20 * 86_400 * 1_000_000  # microseconds before now: nothing that retention would delete meanwhile
_SLICE = 50_000
# Ids in the order of their times, as ours are: rows are where they would be.
_ID = {
    "sqlite": "printf('%08x-%04x-7000-8000-%012x', {n} / 65536, {n} % 65536, {salt})",
    "postgresql": "(lpad(to_hex({n} / 65536), 8, '0') || '-' || lpad(to_hex({n} % 65536), 4, '0')"
    " || '-7000-8000-' || lpad(to_hex({salt}), 12, '0'))::uuid",
}
_NUMBERS = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {last})",
    "postgresql": "WITH s(n) AS (SELECT generate_series({first}::bigint, {last} - 1))",
}


def statements(dialect: str, workflow_id: str, first: int, last: int, count: int) -> list[str]:
    """What adds these: each execution with a step, three events and a log entry."""
    numbers = _NUMBERS[dialect].format(first=first, last=last)
    execution = _ID[dialect].format(n="n", salt="1")
    step = _ID[dialect].format(n="n", salt="2")
    at = f"{now() - _SPAN} + n * {_SPAN // count}"
    told = ", ".join(f"('{type_}')" for type_ in ("workflow.started", "task.completed", "workflow.completed"))
    rows = {
        "executions (id, workflow_id, version, trigger_type, trigger_data, status, output_data, started_at,"
        " completed_at, created_at, metadata)": f"{execution}, '{workflow_id}', 1, 'manual', '{{}}', 'completed',"
        f" '{{\"z\":4}}', {at}, {at} + 1000, {at}, '{{}}' FROM s",
        "steps (id, execution_id, step_name, step_type, reference, sequence_num, attempt, status, input_data,"
        " output_data, started_at, completed_at, metadata, position)": f"{step}, {execution}, 'a', 'set', '/do/0/a', 1,"
        f" 1, 'completed', '{{}}', '{{\"x\":1}}', {at}, {at} + 1000, '{{}}', '/0' FROM s",
        "events (type, workflow_id, execution_id, step_name, data, created_at)": f"t.column1, '{workflow_id}',"
        f" {execution}, 'a', '{{\"task\":\"/do/0/a\"}}', {at} FROM s, (VALUES {told}) AS t",
        "log_entries (workflow_id, execution_id, level, message, module_name, fields, created_at)": f"'{workflow_id}',"
        f" {execution}, 1, 'execution completed', 'engine', '{{}}', {at} FROM s",
    }
    return [f"INSERT INTO {table} {numbers} SELECT {values}" for table, values in rows.items()]


def add(database: str, workflow_id: str, count: int) -> None:
    """To a workflow that is there, while nobody else uses the database."""
    path = sqlite_path(database)
    if path is None:
        asyncio.run(_add_to_postgresql(database, workflow_id, count))
    else:
        _add_to_sqlite(path, workflow_id, count)


def _add_to_sqlite(path: Path, workflow_id: str, count: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        for first in range(0, count, _SLICE):
            connection.execute("BEGIN")
            for text in statements("sqlite", workflow_id, first, min(first + _SLICE, count), count):
                connection.execute(text)
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _add_to_postgresql(database: str, workflow_id: str, count: int) -> None:
    connection = await asyncpg.connect(database)
    try:
        for first in range(0, count, _SLICE):
            for text in statements("postgresql", workflow_id, first, min(first + _SLICE, count), count):
                await connection.execute(text)
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


def size(database: str) -> int:
    """Bytes that the database takes, what is still in a log of writes included."""
    path = sqlite_path(database)
    if path is None:
        return asyncio.run(_size_of_postgresql(database))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path.stat().st_size


async def _size_of_postgresql(database: str) -> int:
    connection = await asyncpg.connect(database)
    try:
        return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await connection.close()
