"""The engine of `penstock run`: mocks, other workflows, events, and what it is told to stop."""

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from penstock.dsl.build import workflow_of
from penstock.dsl.model import Workflow
from penstock.engine.faults import Fault
from penstock.engine.host import ChildOf
from penstock.engine.local import Library, LocalEngine, NoSuchTask, mocked
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from tests.conformance.local import Steps

Run = Callable[..., Any]


def workflow(tasks: str, name: str = "local", version: str = "1.0.0") -> Workflow:
    return workflow_of(f"document: {{dsl: 1.0.3, namespace: test, name: {name}, version: {version}}}\n{tasks}")


@pytest.fixture
def run(runner: asyncio.Runner, performer: Performer) -> Run:
    def run(subject: Workflow, data: Any = None, **options: Any) -> Any:
        return runner.run(LocalEngine(performer, **options).run(subject, data))

    return run


EVERYTHING = """
use: {functions: {reach: {call: http, with: {method: get, endpoint: 'http://nowhere.invalid'}}}}
do:
  - http: {call: http, with: {method: get, endpoint: 'http://nowhere.invalid'}, output: {as: .a}}
  - child: {run: {workflow: {namespace: test, name: nobody, version: 1.0.0}}, export: {as: '{child: .}'}}
  - hear: {listen: {to: {one: {with: {type: never}}}}}
  - say: {emit: {event: {with: {source: 'https://a.example', type: t}}}}
  - nap: {wait: {hours: 1}}
  - loop: {for: {in: '[1, 2]'}, do: [{shell: {run: {shell: {command: exit 1}}}}]}
  - function: {call: reach}
  - look: {set: {last: '${ . }', child: '${ $context.child }'}}
"""


def test_a_mocked_task_of_any_kind_answers_and_its_rules_still_hold(run: Run) -> None:
    mocks = {
        "http": {"a": 1},
        "/do/1/child": {"of": "mine"},
        "hear": [1],
        "say": {"type": "t"},
        "nap": 5,
        "shell": "ok",
        "reach": "reached",
    }
    assert run(mocked(workflow(EVERYTHING), mocks)) == {"last": "reached", "child": {"of": "mine"}}


def test_a_mock_for_a_task_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(NoSuchTask, match=r"no task 'htpp'.*http.*shell"):
        mocked(workflow(EVERYTHING), {"htpp": 1})


def test_tasks_inside_forks_tries_and_handlers_can_be_mocked(run: Run) -> None:
    subject = workflow("""
do:
  - both: {fork: {branches: [{a: {call: http, with: {method: get, endpoint: 'http://no.invalid'}}}, {b: {set: 2}}]}}
  - attempt:
      try: [{c: {raise: {error: {type: 'https://example.com/e', status: 500}}}}]
      catch: {do: [{d: {call: http, with: {method: get, endpoint: 'http://nowhere.invalid'}}}]}
""")
    assert run(mocked(subject, {"a": 1, "d": "handled"})) == "handled"
    assert run(mocked(subject, {"a": 1, "c": "nothing raised"})) == "nothing raised"


def test_versions_are_found_in_the_order_of_semantic_versions() -> None:
    names = ["1.9.0", "1.10.0", "1.10.0-rc.2", "1.10.0-rc.10"]
    library = Library(workflow("do: []", "child", version) for version in names)
    assert library.find(ChildOf("test", "child", "latest")).document.version == "1.10.0"
    assert library.find(ChildOf("test", "child", "1.9.0")).document.version == "1.9.0"
    before = Library(workflow("do: []", "child", version) for version in names[2:])
    assert before.find(ChildOf("test", "child", "latest")).document.version == "1.10.0-rc.10"
    with pytest.raises(Fault, match="no workflow test/child 2"):
        library.find(ChildOf("test", "child", "2.0.0"))


def test_others_are_looked_at_only_when_needed_and_only_once() -> None:
    looked: list[int] = []

    def others() -> list[Workflow]:
        looked.append(1)
        return [workflow("do: []", "other")]

    library = Library([workflow("do: []", "child")], others)
    library.find(ChildOf("test", "child", "latest"))
    assert looked == []
    library.find(ChildOf("test", "other", "latest"))
    with pytest.raises(Fault):
        library.find(ChildOf("test", "nobody", "latest"))
    assert looked == [1]


def test_a_workflow_that_is_not_waited_for_still_ends_before_the_run_does(run: Run) -> None:
    steps: list[str] = []

    class Watch(Steps):
        def changed(self, step: Any, what: str, within: Any) -> None:
            steps.append(f"{step.task.name} {what}")

    child = workflow("do: [{nap: {wait: {milliseconds: 20}}}, {late: {set: {}}}]", "child")
    parent = workflow("do: [{start: {run: {workflow: {namespace: test, name: child, version: latest}, await: false}}}]")
    assert run(parent, 1, library=Library([child]), watch=Watch()) == 1
    assert steps.index("late completed") > steps.index("start completed")


def test_cancelling_a_run_cancels_its_steps_and_those_of_its_children(
    runner: asyncio.Runner, performer: Performer
) -> None:
    child = workflow("do: [{nap: {wait: {hours: 1}}}]", "child")
    parent = workflow("do: [{start: {run: {workflow: {namespace: test, name: child, version: latest}}}}]")
    ended: list[str] = []
    napping = asyncio.Event()

    class Watch(Steps):
        def changed(self, step: Any, what: str, within: Any) -> None:
            if (step.task.name, what) == ("nap", "started"):
                napping.set()
            if what == "cancelled":
                ended.append(step.task.name)

    async def interrupted() -> None:
        engine = LocalEngine(performer, library=Library([child]), watch=Watch())
        running = asyncio.create_task(engine.run(parent, {}))
        await napping.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    runner.run(interrupted())
    assert ended == ["nap", "start"]


def test_what_tasks_say_is_masked(run: Run) -> None:
    said: list[str] = []

    class Watch(Steps):
        def said(self, step: Any, level: str, message: str, fields: Any) -> None:
            said.append(message)

    subject = workflow("use: {secrets: [key]}\ndo: [{tell: {run: {shell: {command: 'echo \"${ $secrets.key }\"'}}}}]")
    run(subject, {}, secrets=Secrets({"key": "open-sesame"}), watch=Watch())
    assert "********" in said
    assert not any("open-sesame" in line for line in said)


class Data(dict[str, int]):
    """Plain ones cannot be watched."""


def test_what_an_execution_held_is_gone_with_it_and_leaves_the_collector_nothing(run: Run) -> None:
    data = Data(x=1)
    held = weakref.ref(data)
    assert run(workflow("do:\n  - a: {set: '${ .x }', output: {schema: {format: json, document: {}}}}"), data) == 1
    del data
    assert held() is None
