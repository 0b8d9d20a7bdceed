"""The account: every execution, step, event, counter and call, as the database and the service have them."""

import uuid
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import msgspec
from sqlalchemy import Table, func, select

from penstock.storage import Database, Row, Statement
from penstock.storage.engine_tables import consumed_events, inbox
from penstock.storage.platform_tables import (
    events,
    executions,
    log_entries,
    steps,
    workflow_counts,
    workflow_hours,
)
from penstock.streams.journal import HOUR, LEVELS
from tests.chaos.storm import Storm
from tests.chaos.workflows import KINDS

_UNENDED = Statement(select(func.count()).select_from(executions).where(executions.c.completed_at.is_(None)))
_ENDS = {"completed": "workflow.completed", "failed": "workflow.faulted", "cancelled": "workflow.cancelled"}
_STEP_ENDS = {"completed": "task.completed", "failed": "task.faulted", "cancelled": "task.cancelled"}


async def unended(database: Database) -> int:
    row = await database.one(_UNENDED)
    assert row is not None
    return int(row[0])


class Books:
    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.kind_of = {workflow_id: name for name, workflow_id in storm.workflows.items()}
        self.rows: dict[str, list[Row]] = {}
        self.steps: defaultdict[str, list[Row]] = defaultdict(list)
        self.events: defaultdict[str, list[Row]] = defaultdict(list)

    async def read(self, database: Database) -> None:
        for table in (executions, steps, events, log_entries, workflow_counts, workflow_hours, consumed_events, inbox):
            self.rows[table.name] = list(await database.all(_whole(table)))
        for row in self.rows["steps"]:
            self.steps[row["execution_id"]].append(row)
        for row in self.rows["events"]:
            if row["execution_id"] is not None:
                self.events[row["execution_id"]].append(row)

    def check(self) -> None:
        self._triggers()
        for execution in self.rows["executions"]:
            self._execution(execution)
        self._followed()
        self._schedule()
        self._heard()
        self._streamed()
        self._counters()
        self._calls()

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows["executions"] if self.kind_of[row["workflow_id"]] == kind]

    # Executions

    def _triggers(self) -> None:
        """Each that was acknowledged is there, and none twice, however often it was asked for."""
        manual = [row for row in self.rows["executions"] if row["trigger_type"] == "manual"]
        found = {row["idempotency_key"]: row["id"] for row in manual}
        assert len(found) == len(manual)
        assert found == {f"{asked.kind}-{asked.n}": asked.execution_id for asked in self.storm.asked}

    def _execution(self, row: Row) -> None:
        kind = KINDS[self.kind_of[row["workflow_id"]]]
        who = f"{self.kind_of[row['workflow_id']]} {row['id']}"
        assert row["status"] == kind.status, (who, row["status"], row["error"])
        assert row["completed_at"] >= row["started_at"] >= row["created_at"], who
        data = msgspec.json.decode(row["trigger_data"])
        output = msgspec.json.decode(row["output_data"] or "null")
        assert output == kind.output(data.get("n")), (who, output)
        self._steps_of(row, Counter(kind.steps), who)
        self._events_of(row, who)

    def _steps_of(self, execution: Row, expected: Counter[tuple[str, str]], who: str) -> None:
        rows = self.steps[execution["id"]]
        found = Counter((row["step_name"], row["status"]) for row in rows)
        # Who was cancelled had not come to everything.
        assert found <= expected if execution["status"] == "cancelled" else found == expected, (who, found)
        assert sorted(row["sequence_num"] for row in rows) == list(range(1, len(rows) + 1)), who
        assert len({(row["position"], row["attempt"]) for row in rows}) == len(rows), who
        for row in rows:
            assert row["completed_at"] >= row["started_at"], who
            assert row["completed_at"] <= execution["completed_at"], who

    def _events_of(self, execution: Row, who: str) -> None:
        told = self.events[execution["id"]]
        types = [row["type"] for row in told]
        of_itself = [type_ for type_ in types if type_.startswith("workflow.") and "correlation" not in type_]
        begun = ["workflow.started"] if types[0] == "workflow.started" or execution["status"] != "cancelled" else []
        assert of_itself == [*begun, _ENDS[execution["status"]]], (who, types)
        assert types[-1] == of_itself[-1], (who, types)
        assert types.count("workflow.correlation-started") <= 1, who
        rows = self.steps[execution["id"]]
        for type_ in ("task.created", "task.started"):
            assert _named(told, type_) == Counter(row["step_name"] for row in rows), (who, type_)
        for status, type_ in _STEP_ENDS.items():
            ended = Counter(row["step_name"] for row in rows if row["status"] == status)
            assert _named(told, type_) == ended, (who, type_)

    # What one leads to another

    def _followed(self) -> None:
        for source, target, member in (
            ("chain", "follower", "link"),
            ("failing", "cleanup", "link"),
            ("parent", "stray", "parent"),
        ):
            found = [msgspec.json.decode(row["metadata"])[member]["execution_id"] for row in self.of(target)]
            assert sorted(found) == sorted(row["id"] for row in self.of(source)), target
        children = Counter(row["parent_id"] for row in self.of("child"))
        assert children == {row["id"]: 2 for row in self.of("parent")}

    def _schedule(self) -> None:
        if "tick" not in self.storm.workflows:
            return
        planned = [msgspec.json.decode(row["metadata"])["planned_for"] for row in self.of("tick")]
        assert planned
        assert len(set(planned)) == len(planned)

    def _heard(self) -> None:
        """Every listener consumed the one event that was for it; every emitter emitted once."""
        heard = Counter(row["execution_id"] for row in self.rows["consumed_events"])
        assert heard == {row["id"]: 1 for row in self.of("listener")}
        emitted = Counter(msgspec.json.decode(row["event"])["id"] for row in self.rows["inbox"])
        assert set(emitted.values()) <= {1}

    def _streamed(self) -> None:
        """Whoever listened heard every event once and in order, from whichever servers there were."""
        for kind, ids in self.storm.heard.items():
            assert ids == [row["id"] for row in self.rows["events"] if self.kind_of[row["workflow_id"]] == kind]

    # Counters

    def _counters(self) -> None:
        counted: Counter[tuple[str, str]] = Counter()
        hours: Counter[tuple[str, int, str]] = Counter()
        for row in self.rows["executions"]:
            counted[row["workflow_id"], row["status"]] += 1
            hours[row["workflow_id"], row["created_at"] // HOUR * HOUR, row["status"]] += 1
        counted.update((row["workflow_id"], "events") for row in self.rows["events"])
        counted.update((row["workflow_id"], LEVELS[row["level"]]) for row in self.rows["log_entries"])
        kept = {(row["workflow_id"], row["what"]): row["n"] for row in self.rows["workflow_counts"] if row["n"]}
        assert kept == counted, _apart(kept, counted)
        kept_hours = {
            (row["workflow_id"], row["hour"], row["status"]): row["n"]
            for row in self.rows["workflow_hours"]
            if row["n"]
        }
        assert kept_hours == hours, _apart(kept_hours, hours)

    # Calls

    def _calls(self) -> None:
        """Once each; again only when whoever performed it died before its step was stored, or was taken for dead."""
        calls: defaultdict[str, list[int]] = defaultdict(list)
        for request in self.storm.service.requests:
            calls[request["key"]].append(request["at"])
        performed = {_key(row): row for row in self.rows["steps"] if row["step_type"] == "call"}
        assert set(calls) == set(performed)
        excused = self.storm.excused()
        for key, moments in calls.items():
            row = performed[key]
            who = f"{row['step_name']} of {row['execution_id']}"
            # Who was taken for dead in the moment of asking asks all the same, once it goes on.
            late = sum(moment > row["completed_at"] for moment in moments)
            assert late <= excused[key], f"{who} was performed after it had ended"
            deaths = [
                any(before <= dead and told <= after for told, dead in self.storm.deaths)
                for before, after in pairwise(moments)
            ]
            assert deaths.count(False) <= excused[key], f"{who} was performed twice and nobody had died"


def _whole(table: Table) -> Statement:
    order = table.c.id if "id" in table.c else next(iter(table.primary_key))
    return Statement(select(table).order_by(order))


def _apart(kept: dict[Any, int], counted: dict[Any, int]) -> dict[Any, Any]:
    names = kept.keys() | counted.keys()
    return {name: (kept.get(name), counted.get(name)) for name in names if kept.get(name) != counted.get(name)}


def _named(told: list[Row], type_: str) -> "Counter[Any]":
    return Counter(row["step_name"] for row in told if row["type"] == type_)


def _key(step: Row) -> str:
    return str(uuid.uuid5(uuid.UUID(step["execution_id"]), step["position"]))
