"""The account: every execution, step, event, counter and call, as the database and the service have them."""

import uuid
from collections import Counter, defaultdict
from itertools import accumulate, pairwise
from typing import Any

import msgspec
from sqlalchemy import Table, false, func, select

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
from tests.chaos.storm import FOLLOWED, Storm
from tests.chaos.workflows import KINDS, SCHEDULED, Kind

# An event that nobody has seen to may start an execution yet. Both are counted in the same moment.
_unended = select(func.count()).select_from(executions).where(executions.c.completed_at.is_(None))
_unhandled = select(func.count()).select_from(inbox).where(inbox.c.handled == false())
_UNENDED = Statement(select(_unended.scalar_subquery() + _unhandled.scalar_subquery()))
_ENDS = {"completed": "workflow.completed", "failed": "workflow.faulted", "cancelled": "workflow.cancelled"}
_OF_ITSELF = frozenset({"workflow.started", *_ENDS.values()})
_PAUSING = frozenset({"workflow.suspended", "workflow.resumed"})
_STEP_ENDS = {"completed": "task.completed", "failed": "task.faulted", "cancelled": "task.cancelled"}


async def unended(database: Database) -> int:
    """How many executions and events have not come to their end."""
    row = await database.one(_UNENDED)
    assert row is not None
    return int(row[0])


class Books:
    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.kind_of = {workflow_id: name for name, workflow_id in storm.workflows.items()}
        self.rows: dict[str, list[Row]] = {}
        self.again: dict[str, int] = {}
        """Executions that ran again from a step, and since when."""
        self.steps: defaultdict[str, list[Row]] = defaultdict(list)
        self.events: defaultdict[str, list[Row]] = defaultdict(list)
        self.logs: defaultdict[str, list[Row]] = defaultdict(list)

    async def read(self, database: Database) -> None:
        for table in (executions, steps, events, log_entries, workflow_counts, workflow_hours, consumed_events, inbox):
            self.rows[table.name] = list(await database.all(_whole(table)))
        self.again = {row["id"]: row["created_at"] for row in self.rows["executions"] if "rerun_of" in row["metadata"]}
        for row in self.rows["steps"]:
            self.steps[row["execution_id"]].append(row)
        for kept, name in ((self.events, "events"), (self.logs, "log_entries")):
            for row in self.rows[name]:
                if row["execution_id"] is not None:
                    kept[row["execution_id"]].append(row)

    def check(self) -> None:
        self._triggers()
        for execution in self.rows["executions"]:
            self._execution(execution)
        self._followed()
        self._schedule()
        self._at_once()
        self._heard()
        self._streamed()
        self._counters()
        self._calls()

    def of(self, kind: str) -> list[Row]:
        return [row for row in self.rows["executions"] if self.kind_of[row["workflow_id"]] == kind]

    def is_kept(self, step: Row) -> bool:
        """Whether it was done by the execution that was run again, and copied."""
        return bool(step["completed_at"] < self.again.get(step["execution_id"], 0))

    # Executions

    def _triggers(self) -> None:
        """Each that was acknowledged is there, and none twice, however often it was asked for."""
        manual = [
            row for row in self.rows["executions"] if row["trigger_type"] == "manual" and row["id"] not in self.again
        ]
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
        # Whom an event has started has it in a list.
        n = data[0]["data"]["n"] if isinstance(data, list) else data.get("n")
        assert output == kind.output(n), (who, output)
        self._steps_of(row, kind, who)
        self._events_of(row, who)
        self._paused(row, who)
        self._said(row, who)

    def _steps_of(self, execution: Row, kind: Kind, who: str) -> None:
        rows = self.steps[execution["id"]]
        found = Counter((row["step_name"], row["status"]) for row in rows)
        # Who was cancelled had not come to everything.
        missing = {name for name, _ in Counter(kind.steps) - found}
        assert found <= Counter(kind.steps), (who, found)
        assert missing <= kind.maybe or execution["status"] == "cancelled", (who, found)
        numbers = sorted(row["sequence_num"] for row in rows)
        # Of one that was run again, not all that came before the step had ended before it.
        counted = range(1, len(rows) + 1) if execution["id"] not in self.again else set(numbers)
        assert numbers == sorted(counted), who
        assert len({(row["position"], row["attempt"]) for row in rows}) == len(rows), who
        for row in rows:
            assert row["completed_at"] >= row["started_at"], who
            assert row["completed_at"] <= execution["completed_at"], who

    def _events_of(self, execution: Row, who: str) -> None:
        told = self.events[execution["id"]]
        types = [row["type"] for row in told]
        of_itself = [type_ for type_ in types if type_ in _OF_ITSELF]
        begun = ["workflow.started"] if "workflow.started" in types or execution["status"] != "cancelled" else []
        assert of_itself == [*begun, _ENDS[execution["status"]]], (who, types)
        assert types[-1] == of_itself[-1], (who, types)
        assert types.count("workflow.correlation-started") <= 1, who
        if execution["status"] == "completed":
            assert types.count("workflow.correlation-completed") == types.count("workflow.correlation-started"), who
        rows = [row for row in self.steps[execution["id"]] if not self.is_kept(row)]
        for type_ in ("task.created", "task.started"):
            assert _named(told, type_) == Counter(row["step_name"] for row in rows), (who, type_)
        for status, type_ in _STEP_ENDS.items():
            ended = Counter(row["step_name"] for row in rows if row["status"] == status)
            assert _named(told, type_) == ended, (who, type_)

    def _paused(self, execution: Row, who: str) -> None:
        """It was paused and went on in turn, and began nothing in between. Who was paused in its last step may end."""
        told = [row["type"] for row in self.events[execution["id"]] if row["type"] in _PAUSING | {"task.created"}]
        for earlier, later in pairwise(["workflow.resumed", *told]):
            if later == "workflow.resumed" or earlier == "workflow.suspended":
                assert (earlier, later) == ("workflow.suspended", "workflow.resumed"), (who, told)

    def _said(self, execution: Row, who: str) -> None:
        """What an execution says of itself is not lost, nor said twice."""
        said = Counter(row["message"] for row in self.logs[execution["id"]])
        begun = [row for row in self.events[execution["id"]] if row["type"] == "workflow.started"]
        assert said["execution started"] == len(begun), (who, said)
        ends = [message for message in said.elements() if message.startswith(f"execution {execution['status']}")]
        assert len(ends) == 1, (who, said)

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
        asleep = Counter(row["parent_id"] for row in self.of("sleeper"))
        assert asleep <= Counter(row["id"] for kind in ("family", "deadline") for row in self.of(kind))

    def _schedule(self) -> None:
        for kind in SCHEDULED:
            planned = [msgspec.json.decode(row["metadata"])["planned_for"] for row in self.of(kind)]
            assert planned, kind
            assert len(set(planned)) == len(planned), kind

    def _at_once(self) -> None:
        """No more were ever under way than may be, as events tell it: in the order of commits. On Temporal the time of
        an execution is that of the task that it computes in, which may have waited."""
        for name, kind in KINDS.items():
            told = [row for row in self.rows["events"] if self.kind_of[row["workflow_id"]] == name]
            begun = {row["execution_id"] for row in told if row["type"] == "workflow.started"}
            lives = [row["type"] for row in told if row["type"] in _OF_ITSELF and row["execution_id"] in begun]
            most = max(accumulate(1 if type_ == "workflow.started" else -1 for type_ in lives), default=0)
            assert kind.at_once is None or most <= kind.at_once, (name, most)

    def _heard(self) -> None:
        """Every listener consumed what was for it; every emitter emitted once, and woke one."""
        heard = Counter(row["execution_id"] for row in self.rows["consumed_events"])
        listening = {"listener": 1, "collector": 3}
        assert heard == {row["id"]: times for kind, times in listening.items() for row in self.of(kind)}
        emitted = Counter(msgspec.json.decode(row["event"])["id"] for row in self.rows["inbox"])
        assert set(emitted.values()) <= {1}
        woken = Counter(each for row in self.of("woken") for each in msgspec.json.decode(row["metadata"])["events"])
        assert set(woken.values()) <= {1}
        said = Counter(msgspec.json.decode(row["trigger_data"])["n"] for row in self.of("emitter"))
        for kind, expected in (("woken", said), ("told", Counter(self.storm.told))):
            began = Counter(msgspec.json.decode(row["trigger_data"])[0]["data"]["n"] for row in self.of(kind))
            assert began == expected, (kind, _apart(began, expected))

    def _streamed(self) -> None:
        """Whoever listened heard everything once and in order, from whichever servers there were."""
        for table, ids in (("events", self.storm.heard["events"]), ("log_entries", self.storm.heard["logs"])):
            assert ids == [row["id"] for row in self.rows[table] if self.kind_of[row["workflow_id"]] == FOLLOWED], table

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
        calls: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for request in self.storm.service.requests:
            calls[request["key"]].append((request["since"], request["at"]))
        performed = {
            _key(row): row for row in self.rows["steps"] if row["step_type"] == "call" and not self.is_kept(row)
        }
        assert set(calls) == set(performed)
        excused = self.storm.excused()
        for key, moments in calls.items():
            row = performed[key]
            who = f"{row['step_name']} of {row['execution_id']}"
            # Who was taken for dead in the moment of asking asks all the same, once it goes on.
            late = sum(since > row["completed_at"] for since, _ in moments)
            assert late <= excused[key], f"{who} was performed after it had ended"
            deaths = [
                any(before <= dead and told <= after for told, dead in self.storm.deaths)
                for (before, _), (_, after) in pairwise(moments)
            ]
            assert deaths.count(False) <= excused[key], f"{who} was performed twice and nobody had died"
        self._told_of({key: len(moments) for key, moments in calls.items()}, performed)

    def _told_of(self, calls: dict[str, int], performed: dict[str, Row]) -> None:
        """The log has a line of each call: one at least of each step that has ended, and none that was not made."""
        steps_of: Counter[tuple[str, str]] = Counter()
        calls_of: Counter[tuple[str, str]] = Counter()
        for key, row in performed.items():
            name = (row["execution_id"], row["step_name"])
            steps_of[name] += 1
            calls_of[name] += calls[key]
        lines = Counter(
            (row["execution_id"], row["module_name"]) for row in self.rows["log_entries"] if _is_of_call(row)
        )
        assert steps_of <= lines <= calls_of, (steps_of - lines, lines - calls_of)


def _whole(table: Table) -> Statement:
    order = table.c.id if "id" in table.c else next(iter(table.primary_key))
    return Statement(select(table).order_by(order))


def _apart(kept: dict[Any, int], counted: dict[Any, int]) -> dict[Any, Any]:
    names = kept.keys() | counted.keys()
    return {name: (kept.get(name), counted.get(name)) for name in names if kept.get(name) != counted.get(name)}


def _named(told: list[Row], type_: str) -> "Counter[Any]":
    return Counter(row["step_name"] for row in told if row["type"] == type_)


def _is_of_call(line: Row) -> bool:
    return " → " in line["message"] and line["module_name"] != "engine"


def _key(step: Row) -> str:
    return str(uuid.uuid5(uuid.UUID(step["execution_id"]), step["position"]))
