"""One company's author against everybody else on the server: storms, floods and filters that take for ever."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from penstock.engine.embedded.definitions import Definitions
from penstock.storage import Statement
from penstock.storage.engine_tables import inbox
from tests.conftest import Serve
from tests.engine.embedded.running import came, ended
from tests.platform.people import Person
from tests.platform.records import database_of
from tests.platform.scene import Scene, set_up

pytestmark = pytest.mark.anyio

_HANDLED = Statement(select(inbox.c.project_id, inbox.c.handled))
EVENT = {"specversion": "1.0", "id": "1", "source": "https://shop.example", "type": "spark"}
# Either way alone is counted; each must not make the other one forget.
RUNS_OTHER = "do: [{other: {run: {workflow: {namespace: test, name: other, version: '1.0.0'}, await: false}}}]"
TWO_OF_EACH = """
schedule: {on: {one: {with: {type: spark}}}}
do:
  - one: {emit: {event: {with: {source: 'https://shop.example', type: spark}}}}
  - two: {emit: {event: {with: {source: 'https://shop.example', type: spark}}}}
"""
STARTED = "schedule: {on: {one: {with: {type: spark}}}}\ndo: []"
SLOW_FILTER = "schedule: {on: {one: {with: {type: spark, data: '${ last(range(1e18)) }'}}}}\ndo: []"
FILLS_THE_DISK = """
do:
  - around:
      try:
        - write: {set: {much: '${ "x" * 2000 }'}}
        - again: {set: '${ . }', then: write}
      catch: {do: [{handled: {set: went on}}]}
"""


@pytest.fixture
async def scene(serve: Serve) -> AsyncIterator[Scene]:
    async with serve(engine="embedded", execution_size=100_000, expression_time="1s") as client:
        yield await set_up(client)


async def made(owner: Person, project: Any, name: str, rest: str, *, deploy: bool = True) -> str:
    head = f"document: {{dsl: '1.0.3', namespace: test, name: {name}, version: '1.0.0'}}\n"
    workflow = await owner.made(f"/projects/{project['id']}/workflows", {"name": name, "config_yaml": head + rest})
    if deploy:
        answer = await owner.post(f"/workflows/{workflow['id']}/deploy")
        assert answer.status_code == 200, answer.text
    return str(workflow["id"])


async def sent(owner: Person, project: Any, event: Any) -> None:
    headers = {"content-type": "application/cloudevents+json"}
    answer = await owner.post(f"/projects/{project['id']}/events", event, headers=headers)
    assert answer.status_code == 202, answer.text


async def executions(owner: Person, workflow_id: str, **filters: str) -> Any:
    return (await owner.get(f"/workflows/{workflow_id}/executions", params=filters)).json()


async def says(owner: Person, workflow_id: str, text: str) -> bool:
    return bool((await owner.get(f"/workflows/{workflow_id}/logs", params={"q": text})).json()["total"])


async def test_links_and_runs_in_turn_do_not_start_each_other_for_ever(scene: Scene) -> None:
    owner = scene.owner
    one = await made(owner, scene.project, "one", RUNS_OTHER)
    other = await made(owner, scene.project, "other", "do: []")
    link = {"target_workflow_id": one, "link_type": "completed"}
    await owner.made(f"/workflows/{other}/links", link)
    await owner.made(f"/workflows/{one}/trigger", {})

    async def has_ended() -> bool:
        return bool((await executions(owner, one, status="failed"))["total"])

    await came(has_ended)
    failed = (await executions(owner, one, status="failed"))["items"]
    assert [each["error"]["title"] for each in failed] == ["Too deep"]


async def test_a_storm_of_events_ends(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.engine.embedded.lineage.MOST_OF_ONE", 20)
    owner = scene.owner
    storm = await made(owner, scene.project, "storm", TWO_OF_EACH)
    await sent(owner, scene.project, EVENT)

    async def is_over() -> bool:
        counts = (await owner.get(f"/workflows/{storm}/dashboard")).json()["execution_counts"]
        return bool(counts["completed"] == 21 and not counts["pending"] and not counts["running"])

    await came(is_over)
    await came(lambda: says(owner, storm, "others may come at most"))
    assert (await executions(owner, storm))["total"] == 21


async def test_an_event_that_starts_itself_again_ends_after_so_many(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.embedded.triggers.MOST_HOPS", 3)
    owner = scene.owner
    again = await made(owner, scene.project, "again", TWO_OF_EACH.replace("  - two", "  - two: {set: {}}\n  - three"))
    await sent(owner, scene.project, EVENT | {"penstock": "1"})
    await came(lambda: says(owner, again, "start each other by events"))
    newest = (await executions(owner, again))["items"][0]
    assert newest["metadata"]["hops"] <= 3
    # What we note of an event is nothing that anybody sees in it.
    assert all("penstock" not in event or event["penstock"] == "1" for event in newest["trigger_data"])


async def test_filters_that_take_for_ever_keep_nobody_elses_events_waiting(scene: Scene) -> None:
    owner, theirs = scene.owner, scene.project
    ours = await owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Ours"})
    for number in range(8):
        await made(owner, theirs, f"slow-{number}", SLOW_FILTER)
    started = await made(owner, ours, "started", STARTED)
    for _ in range(5):
        await sent(owner, theirs, EVENT | {"data": 1})
    await sent(owner, ours, EVENT)

    async def has_started() -> bool:
        return bool((await executions(owner, started, status="completed"))["total"])

    await came(has_started)
    handled = {(str(row[0]), bool(row[1])) for row in await database_of(scene.client).all(_HANDLED)}
    assert (theirs["id"], False) in handled, "theirs still wait"


async def test_an_execution_stores_so_much_and_no_more_whatever_it_catches(scene: Scene) -> None:
    owner = scene.owner
    workflow = await made(owner, scene.project, "fills", FILLS_THE_DISK)
    execution = await ended(owner, (await owner.made(f"/workflows/{workflow}/trigger", {}))["id"])
    assert (execution["status"], execution["error"]["title"]) == ("failed", "Too much data")


@pytest.mark.parametrize("deep", [400, 900, 5_000])
async def test_data_nested_deeply_ends_its_own_execution_or_is_refused(scene: Scene, deep: int) -> None:
    owner = scene.owner
    await owner.put(f"/projects/{scene.project['id']}/secrets/key", {"value": "very secret"})
    workflow = await made(owner, scene.project, "deep", "use: {secrets: [key]}\ndo: []")
    body = b'{"trigger_data": ' + b"[" * deep + b"]" * deep + b"}"
    headers = {"content-type": "application/json"}
    answer = await owner.request("POST", f"/workflows/{workflow}/trigger", content=body, headers=headers)
    assert answer.status_code in {201, 400}, answer.text
    if answer.status_code == 201:
        execution = await ended(owner, answer.json()["id"])
        assert execution["status"] in {"completed", "failed"}


async def test_what_waits_in_a_long_queue_has_its_input_when_its_turn_comes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.embedded.queue._MOST_WITH_INPUT", 0)
    owner = scene.owner
    workflow = await made(owner, scene.project, "echo", "do: []")
    data = {"much": "x" * 2_000}
    execution = await ended(owner, (await owner.made(f"/workflows/{workflow}/trigger", {"trigger_data": data}))["id"])
    assert execution["output_data"] == data


async def test_events_that_nobody_wants_are_refused_when_there_are_too_many(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.platform.events.receiving._MOST_WAITING", 1)
    other = await scene.owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
    for _ in range(2):
        await sent(scene.owner, scene.project, EVENT)
    headers = {"content-type": "application/cloudevents+json"}
    answer = await scene.owner.post(f"/projects/{scene.project['id']}/events", EVENT, headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    await sent(scene.owner, other, EVENT)


async def test_a_definition_that_takes_long_to_be_made_ready_keeps_nobody_elses_waiting(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, real, goes_on = scene.owner, Definitions.get, asyncio.Event()
    slow = await made(owner, scene.project, "slow", "do: []", deploy=False)
    quick = await made(owner, scene.project, "quick", "do: []", deploy=False)

    async def get(self: Definitions, workflow_id: str, version: int) -> Any:
        if workflow_id == slow:
            await goes_on.wait()
        return await real(self, workflow_id, version)

    monkeypatch.setattr(Definitions, "get", get)
    waits = await owner.made(f"/workflows/{slow}/trigger", {})
    # Another project's, as each makes ready one at a time.
    other = await owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
    quick = await made(owner, other, "quick", "do: []", deploy=False)
    assert (await ended(owner, (await owner.made(f"/workflows/{quick}/trigger", {}))["id"]))["status"] == "completed"
    goes_on.set()
    assert (await ended(owner, waits["id"]))["status"] == "completed"


async def test_what_no_database_stores_fails_the_one_that_says_it(scene: Scene) -> None:
    owner = scene.owner
    raises = "do: [{no: {raise: {error: {type: 'https://e.com/x', status: 500, title: '${ \"a\\u0000b\" }'}}}}]"
    workflow = await made(owner, scene.project, "nul", raises)
    execution = await ended(owner, (await owner.made(f"/workflows/{workflow}/trigger", {}))["id"])
    assert (execution["status"], execution["error"]["title"]) == ("failed", "a\ufffdb")
