"""A big deployment, the same at every run: companies, workflows, executions, logs and an audit trail.

Put straight into the tables, in bulk: through the API it would take hours. Kept in var/bench and used again. Workflows
are not alike: one in a hundred has a hundred times the executions and logs of the others.
"""

import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
from argon2 import PasswordHasher
from sqlalchemy import bindparam, insert

from penstock.storage import Database, Statement, now, open_database
from penstock.storage.schema import metadata
from penstock.streams import LEVELS, STATUSES
from penstock.streams.journal import HOUR

PASSWORD = "correct horse battery staple"
EMAIL = "owner{}@bench.example"
_BATCH = 20_000
_DAY = 24 * HOUR
DEFINITION = """document: {dsl: 1.0.0, namespace: bench, name: orders, version: 1.0.0}
do:
  - greet: {set: {hello: world}}
"""


@dataclass(frozen=True)
class Size:
    """One company belongs to a user of its own; the first user is also a member of many (`wide` workflows to see)."""

    companies: int = 1_000
    workflows: int = 10_000
    executions: int = 100_000
    steps: int = 3
    logs: int = 1_000_000
    audit: int = 1_000_000

    @property
    def name(self) -> str:
        text = f"{self.companies}-{self.workflows}-{self.executions}-{self.steps}-{self.logs}-{self.audit}-v1"
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def uuid_of(kind: str, number: int, at: int = 0) -> str:
    """An id that grows with the time, and is the same at every run."""
    digest = hashlib.md5(f"{kind}{number}".encode(), usedforsecurity=False).hexdigest()
    head = f"{at // 1000:012x}"
    return f"{head[:8]}-{head[8:12]}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"


@dataclass(frozen=True)
class Seeded:
    """What the measurements ask for by name."""

    url: str
    size: Size
    base: int

    def company(self, number: int) -> str:
        return uuid_of("company", number, self.base - 90 * _DAY)

    def project(self, number: int) -> str:
        return uuid_of("project", number, self.base - 90 * _DAY)

    def workflow(self, number: int) -> str:
        return uuid_of("workflow", number, self.base - 60 * _DAY + number)

    def execution(self, number: int) -> str:
        return uuid_of("execution", number, self.execution_time(number))

    def execution_time(self, number: int) -> int:
        """Half of them in the last day: the charts have something to do."""
        share = number / self.size.executions
        return int(self.base - _DAY * (30 * (1 - 2 * share) + 1 if share < 0.5 else 2 * (1 - share)))


async def seeded(url: str, size: Size, marker: Path, say: Any) -> Seeded:
    """Fill the database at `url`, unless the marker says that it was."""
    if marker.exists():
        return Seeded(url, size, int(marker.read_text()))
    made = Seeded(url, size, now())
    database = await open_database(url)
    try:
        for table, rows in _tables(made):
            say(f"filling {table}")
            await _fill(database, table, rows)
        say("analyzing")
        async with database.transaction() as tx:
            await tx.run_text("ANALYZE")
    finally:
        await database.close()
    if database.dialect == "postgresql":
        await _sweep(url)
    marker.write_text(str(made.base))
    return made


async def _sweep(url: str) -> None:
    """What autovacuum would have done by now in a deployment that grew day by day."""
    connection = await asyncpg.connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


async def _fill(database: Database, table: str, rows: Iterable[dict[str, Any]]) -> None:
    statement: Statement | None = None
    # PostgreSQL keeps every value that a counter had within a transaction: many entries of one log take far longer.
    async for batch in _batches(rows, 500 if table == "audit_entries" else _BATCH):
        if statement is None:
            columns: dict[str, Any] = {name: bindparam(name) for name in batch[0]}
            statement = Statement(insert(metadata.tables[table]).values(columns))
        async with database.transaction() as tx:
            await tx.run_many(statement, batch)


async def _batches(rows: Iterable[dict[str, Any]], most: int) -> AsyncIterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch


def _tables(made: Seeded) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    size = made.size
    owners = [_owner_of(made, n) for n in range(size.workflows)]
    # Deterministic, and uneven.
    runs = _shares(size.workflows, size.executions)
    lines = _shares(size.workflows, size.logs)
    yield "accounts", _accounts(made)
    yield "companies", _companies(made)
    yield "projects", _projects(made)
    yield "grants", _grants(made)
    yield "workflows", _workflows(made, owners)
    yield "workflow_versions", _versions(made, owners)
    yield "executions", _executions(made, runs)
    yield "steps", _steps(made)
    yield "log_entries", _logs(made, lines, runs)
    yield "events", _events(made, runs)
    yield "workflow_counts", _counts(made, runs, lines)
    yield "workflow_hours", _hours(made, runs)
    yield "audit_entries", _audit(made)


def _shares(parts: int, whole: int) -> list[int]:
    """For each of `whole` things the part that it belongs to: every second one to a hundredth of the parts."""
    chance = random.Random(20261115)
    heavy = max(1, parts // 100)
    return [chance.randrange(heavy) if chance.random() < 0.5 else chance.randrange(parts) for _ in range(whole)]


def _owner_of(made: Seeded, workflow: int) -> str:
    return uuid_of("account", workflow % made.size.companies)


def _accounts(made: Seeded) -> Iterator[dict[str, Any]]:
    password = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1).hash(PASSWORD)
    for n in range(made.size.companies):
        yield {
            "id": uuid_of("account", n), "email": EMAIL.format(n), "email_verified": True, "password_hash": password,
            "settings": "", "display_name": f"Owner {n}", "avatar_url": "", "active": True,
            "created_at": made.base, "updated_at": made.base,
        }  # fmt: skip


def _companies(made: Seeded) -> Iterator[dict[str, Any]]:
    for n in range(made.size.companies):
        yield {
            "id": made.company(n), "name": f"Company {n}", "slug": f"company-{n}", "owner_id": uuid_of("account", n),
            "metadata": "{}", "created_at": made.base + n, "updated_at": made.base,
        }  # fmt: skip


def _projects(made: Seeded) -> Iterator[dict[str, Any]]:
    for n in range(made.size.companies):
        yield {
            "id": made.project(n), "company_id": made.company(n), "name": f"Project {n}", "slug": f"project-{n}",
            "description": "", "metadata": "{}", "created_at": made.base + n, "updated_at": made.base,
        }  # fmt: skip


def _grants(made: Seeded) -> Iterator[dict[str, Any]]:
    for n in range(made.size.companies):
        for user in {n, 0}:
            yield {
                "id": uuid_of(f"grant{user}.", n), "user_id": uuid_of("account", user), "company_id": made.company(n),
                "role": 4, "created_at": made.base, "updated_at": made.base,
            }  # fmt: skip


def _workflows(made: Seeded, owners: Sequence[str]) -> Iterator[dict[str, Any]]:
    searched = "search" in metadata.tables["workflows"].c
    for n in range(made.size.workflows):
        row = {
            "id": made.workflow(n), "project_id": made.project(n % made.size.companies), "name": f"Workflow {n}",
            "slug": f"workflow-{n}", "description": "What it does, in a sentence or two.", "version": 1, "revision": 1,
            "status": ("draft", "active", "stopped")[n % 3], "deployed_version": 1, "created_by": owners[n],
            "updated_by": owners[n], "created_at": made.base - 60 * _DAY + n, "updated_at": made.base,
        }  # fmt: skip
        if searched:
            row["search"] = f"workflow {n}\x01workflow-{n}\x01what it does, in a sentence or two."
        yield row


def _versions(made: Seeded, owners: Sequence[str]) -> Iterator[dict[str, Any]]:
    checked = "findings" in metadata.tables["workflow_versions"].c
    for n in range(made.size.workflows):
        row = {
            "workflow_id": made.workflow(n), "version": 1, "config_yaml": DEFINITION, "created_by": owners[n],
            "created_at": made.base,
        }  # fmt: skip
        yield row | ({"findings": "[]"} if checked else {})


def _status_of(number: int) -> str:
    return "failed" if number % 20 == 0 else "cancelled" if number % 50 == 1 else "completed"


def _executions(made: Seeded, runs: Sequence[int]) -> Iterator[dict[str, Any]]:
    for n, workflow in enumerate(runs):
        at = made.execution_time(n)
        yield {
            "id": made.execution(n), "workflow_id": made.workflow(workflow), "version": 1, "trigger_type": "manual",
            "trigger_data": '{"order":17,"lines":["a","b","c"]}', "status": _status_of(n), "output_data": '{"ok":true}',
            "started_at": at, "completed_at": at + 1000 * (n % 5000), "created_at": at, "metadata": "{}",
        }  # fmt: skip


def _steps(made: Seeded) -> Iterator[dict[str, Any]]:
    for n in range(made.size.executions):
        at = made.execution_time(n)
        for number in range(made.size.steps):
            yield {
                "id": uuid_of(f"step{number}.", n, at), "execution_id": made.execution(n), "step_name": f"step{number}",
                "step_type": "call", "reference": f"/do/{number}/step{number}", "sequence_num": number, "attempt": 1,
                "status": "completed", "input_data": '{"order":17}', "output_data": '{"ok":true}', "started_at": at,
                "completed_at": at + 1000, "metadata": "{}",
            }  # fmt: skip


def _level_of(number: int) -> int:
    return 4 if number % 5000 == 0 else 3 if number % 100 == 0 else 2 if number % 50 == 1 else number % 2


def _logs(made: Seeded, lines: Sequence[int], runs: Sequence[int]) -> Iterator[dict[str, Any]]:
    per_execution = max(1, len(lines) // max(1, len(runs)))
    for n, workflow in enumerate(lines):
        yield {
            "workflow_id": made.workflow(workflow), "execution_id": made.execution(n // per_execution % len(runs)),
            "level": _level_of(n), "message": f"step {n} of the order was answered by the warehouse in {n % 977} ms",
            "module_name": ("engine", "http", "script")[n % 3], "fields": '{"attempt":1}',
            "created_at": made.base - 30 * _DAY + n * (30 * _DAY // len(lines)),
        }  # fmt: skip


def _events(made: Seeded, runs: Sequence[int]) -> Iterator[dict[str, Any]]:
    for n, workflow in enumerate(runs):
        for type_ in ("workflow.started", "workflow.completed"):
            yield {
                "type": type_, "workflow_id": made.workflow(workflow), "execution_id": made.execution(n), "data": "{}",
                "created_at": made.execution_time(n),
            }  # fmt: skip


def _counts(made: Seeded, runs: Sequence[int], lines: Sequence[int]) -> Iterator[dict[str, Any]]:
    counts = Counter((workflow, _status_of(n)) for n, workflow in enumerate(runs))
    counts.update((workflow, LEVELS[_level_of(n)]) for n, workflow in enumerate(lines))
    counts.update((workflow, "events") for workflow in [*runs, *runs])
    for (workflow, what), n in counts.items():
        yield {"workflow_id": made.workflow(workflow), "what": what, "n": n}


def _hours(made: Seeded, runs: Sequence[int]) -> Iterator[dict[str, Any]]:
    hours = Counter((workflow, made.execution_time(n) // HOUR * HOUR, _status_of(n)) for n, workflow in enumerate(runs))
    for (workflow, hour, status), n in hours.items():
        assert status in STATUSES
        yield {"workflow_id": made.workflow(workflow), "hour": hour, "status": status, "n": n}


def _audit(made: Seeded) -> Iterator[dict[str, Any]]:
    actions = ("workflow.update", "execution.trigger", "workflow.deploy", "member.add", "auth.login")
    for n in range(made.size.audit):
        company = n % made.size.companies if n % 2 else 0
        yield {
            "id": uuid_of("audit", n, made.base), "company_id": made.company(company),
            "user_id": uuid_of("account", company), "action": actions[n % 5],
            "resource_type": actions[n % 5].partition(".")[0], "resource_id": made.workflow(n % made.size.workflows),
            "details": "{}", "ip_address": "203.0.113.7", "user_agent": "bench", "request_id": "",
            "created_at": made.base - 300 * _DAY + n * (300 * _DAY // made.size.audit),
        }  # fmt: skip
