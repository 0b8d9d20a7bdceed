"""Executions: started once, listed in order, ended once."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from penstock.engine.asked import Pending
from penstock.ids import uuid7
from penstock.storage import now
from tests.platform.people import register
from tests.platform.records import add, add_execution
from tests.platform.scenes import Scene, set_scene

pytestmark = pytest.mark.anyio
MEMBERS = [
    "id", "workflow_id", "version", "trigger_type", "trigger_data", "status", "output_data", "error_message", "error",
    "started_at", "completed_at", "duration_ms", "created_at", "metadata",
]  # fmt: skip
STEP_MEMBERS = [
    "id", "execution_id", "step_name", "step_type", "reference", "sequence_num", "attempt", "status", "input_data",
    "output_data", "error_message", "started_at", "completed_at", "duration_ms", "metadata",
]  # fmt: skip


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


async def test_a_trigger_answers_the_pending_execution_and_where_it_is(scene: Scene) -> None:
    answer = await scene.owner.post(f"{scene.path}/trigger", {"trigger_data": {"b": 1, "a": [True, None, "é"]}})
    assert answer.status_code == 201, answer.text
    execution = answer.json()
    assert list(execution) == MEMBERS
    assert execution["trigger_data"] == {"a": [True, None, "é"], "b": 1}
    assert (execution["status"], execution["trigger_type"], execution["version"]) == ("pending", "manual", 1)
    assert [execution[name] for name in ("output_data", "error", "started_at", "duration_ms")] == [None] * 4
    assert execution["metadata"] == {}
    read = await scene.owner.get(answer.headers["Location"].removeprefix("/api/v1"))
    assert read.json() == execution


@pytest.mark.parametrize("options", [{}, {"content": b""}, {"json": {}}, {"json": {"trigger_data": {}}}])
async def test_without_a_body_the_input_is_an_empty_object(scene: Scene, options: dict[str, Any]) -> None:
    answer = await scene.owner.request("POST", f"{scene.path}/trigger", **options)
    assert (answer.status_code, answer.json()["trigger_data"]) == (201, {})


@pytest.mark.parametrize("value", [None, 0, "text", [1], False, 12345678901234567890123, {"\\u0000": "x"}])
async def test_the_input_may_be_any_json(scene: Scene, value: Any) -> None:
    answer = await scene.owner.post(f"{scene.path}/trigger", {"trigger_data": value})
    assert (answer.status_code, answer.json()["trigger_data"]) == (201, value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"trigger_data": 1, "version": 2}',
        b"[]",
        b"{",
        b'{"trigger_data": "\\u0000"}',
        b'{"trigger_data": {"\\u0000": 1}}',
        b'{"trigger_data": "\\ud800"}',
        b'{"trigger_data": "\xff"}',
        b'{"trigger_data": 1e999}',
        b'{"trigger_data": ' + b"[" * 100_000,
        b'{"trigger_data": ' + b"9" * 10_000 + b"}",
    ],
)
async def test_a_body_that_is_not_valid_starts_nothing(scene: Scene, body: bytes) -> None:
    answer = await scene.owner.request(
        "POST", f"{scene.path}/trigger", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400, answer.text
    assert (await scene.owner.get(f"{scene.path}/executions")).json()["total"] == 0


async def test_an_input_over_256_kib_is_413(scene: Scene) -> None:
    fits = await scene.owner.post(f"{scene.path}/trigger", {"trigger_data": "x" * (256 * 1024 - 2)})
    over = await scene.owner.post(f"{scene.path}/trigger", {"trigger_data": "x" * (256 * 1024 - 1)})
    assert (fits.status_code, over.status_code) == (201, 413)


async def test_the_same_key_answers_the_same_execution(scene: Scene) -> None:
    first = await scene.owner.post(
        f"{scene.path}/trigger", {"trigger_data": {"a": 1, "b": 2}}, headers={"Idempotency-Key": "k"}
    )
    again = await scene.owner.post(
        f"{scene.path}/trigger", {"trigger_data": {"b": 2, "a": 1}}, headers={"Idempotency-Key": "k"}
    )
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again.headers["Location"] == first.headers["Location"]


async def test_a_key_belongs_to_one_workflow(scene: Scene) -> None:
    first = await scene.trigger(1, **{"Idempotency-Key": "k"})
    other = await scene.another_workflow("Other")
    answer = await scene.owner.post(
        f"/workflows/{other}/trigger", {"trigger_data": 1}, headers={"Idempotency-Key": "k"}
    )
    assert answer.status_code == 201
    assert answer.json()["id"] != first["id"]


async def test_the_same_key_with_another_body_is_409(scene: Scene) -> None:
    await scene.trigger(1, **{"Idempotency-Key": "k"})
    answer = await scene.owner.post(f"{scene.path}/trigger", {"trigger_data": 2}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 409


async def test_after_24_hours_the_same_key_starts_anew(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await scene.trigger(1, **{"Idempotency-Key": "k"})
    monkeypatch.setattr("penstock.platform.executions.rules.now", lambda: now() + 24 * 3600 * 1_000_000 + 1)
    second = await scene.trigger(2, **{"Idempotency-Key": "k"})
    assert second["id"] != first["id"]


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é", "\t"])
async def test_a_key_that_is_not_1_to_255_visible_ascii_characters_is_400(scene: Scene, key: str) -> None:
    answer = await scene.owner.request("POST", f"{scene.path}/trigger", headers={"Idempotency-Key": key.encode()})
    assert answer.status_code == 400


async def test_of_parallel_triggers_with_one_key_one_starts_an_execution(scene: Scene) -> None:
    answers = await asyncio.gather(
        *(
            scene.owner.post(f"{scene.path}/trigger", {"trigger_data": 1}, headers={"Idempotency-Key": "k"})
            for _ in range(12)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 11 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (await scene.owner.get(f"{scene.path}/executions")).json()["total"] == 1


async def test_a_draft_runs_its_newest_version_and_an_active_workflow_the_deployed_one(scene: Scene) -> None:
    await scene.owner.put(scene.path, {"config_yaml": "do: [{a: {set: {x: 1}}}]\n" + "# broken: no document"})
    assert (await scene.owner.post(f"{scene.path}/trigger")).status_code == 422
    deployed = await scene.another_workflow("Deployed")
    assert (await scene.owner.post(f"/workflows/{deployed}/deploy")).status_code == 200
    await scene.owner.put(f"/workflows/{deployed}", {"config_yaml": "broken: ["})
    answer = await scene.owner.post(f"/workflows/{deployed}/trigger")
    assert (answer.status_code, answer.json()["version"]) == (201, 1)


async def test_a_draft_that_is_not_valid_says_what_is_wrong(scene: Scene) -> None:
    await scene.owner.put(scene.path, {"config_yaml": "do: 7"})
    answer = await scene.owner.post(f"{scene.path}/trigger")
    assert answer.status_code == 422
    assert answer.json()["errors"][0].keys() >= {"path", "message"}


async def test_a_stopped_workflow_is_not_triggered_but_a_repeated_request_still_finds_its_execution(
    scene: Scene,
) -> None:
    await scene.owner.post(f"{scene.path}/deploy")
    first = await scene.trigger(1, **{"Idempotency-Key": "k"})
    await scene.owner.post(f"{scene.path}/stop")
    assert (await scene.owner.post(f"{scene.path}/trigger")).status_code == 409
    assert (await scene.trigger(1, **{"Idempotency-Key": "k"}))["id"] == first["id"]


async def test_who_is_only_a_viewer_reads_but_neither_starts_nor_cancels(scene: Scene) -> None:
    viewer = await scene.member("viewer", "viewer")
    execution = await scene.trigger()
    assert (await viewer.post(f"{scene.path}/trigger")).status_code == 403
    assert (await viewer.post(f"/executions/{execution['id']}/cancel")).status_code == 403
    for path in (f"{scene.path}/executions", f"/executions/{execution['id']}", f"/executions/{execution['id']}/steps"):
        assert (await viewer.get(path)).status_code == 200
    stranger = await register(scene.client, "stranger")
    assert (await stranger.get(f"/executions/{execution['id']}")).status_code == 403


@pytest.mark.parametrize("id_", ["x", "0", "0192d3a4-5b6c-7d8e-9f00-112233445566", "%00", "a%2Fb"])
async def test_an_execution_that_is_not_there_is_404(scene: Scene, id_: str) -> None:
    assert (await scene.owner.get(f"/executions/{id_}/steps")).status_code == 404
    assert (await scene.owner.post(f"/executions/{id_}/cancel")).status_code == 404


async def test_the_list_is_newest_first_and_filtered(scene: Scene) -> None:
    made = [await scene.trigger(n) for n in range(3)]
    await scene.owner.post(f"/executions/{made[1]['id']}/cancel")

    async def found(query: str) -> tuple[list[int], int]:
        answer = await scene.owner.get(f"{scene.path}/executions{query}")
        assert answer.status_code == 200, answer.text
        return [item["trigger_data"] for item in answer.json()["items"]], answer.json()["total"]

    assert await found("") == ([2, 1, 0], 3)
    assert await found("?page=2&page_size=2") == ([0], 3)
    assert await found("?status=pending") == ([2, 0], 2)
    assert await found("?status=cancelled") == ([1], 1)
    assert await found("?status=failed") == ([], 0)
    assert await found(f"?since={made[1]['created_at']}") == ([2, 1], 2)
    assert await found(f"?until={made[1]['created_at']}") == ([0], 1)
    assert await found(f"?status=pending&since={made[1]['created_at']}") == ([2], 1)
    for bad in ("?status=done", "?since=now", "?page=0", "?page_size=101", "?q=x", "?status=failed&status=pending"):
        assert (await scene.owner.get(f"{scene.path}/executions{bad}")).status_code == 400, bad


async def test_steps_are_in_sequence_with_their_durations(scene: Scene) -> None:
    execution = await scene.trigger()
    for number in (2, 1, 3):
        await add(
            scene.database, "steps", id=uuid7(), execution_id=execution["id"], step_name=f"s{number}", step_type="set",
            reference=f"/do/{number}/s{number}", sequence_num=number, attempt=1, status="completed",
            input_data='{"n": 1}', output_data="null", started_at=1_000_000, completed_at=2_500_000, metadata="{}",
        )  # fmt: skip
    answer = await scene.owner.get(f"/executions/{execution['id']}/steps?page_size=2")
    assert [step["step_name"] for step in answer.json()["items"]] == ["s1", "s2"]
    step = answer.json()["items"][0]
    assert list(step) == STEP_MEMBERS
    assert (answer.json()["total"], step["duration_ms"], step["input_data"]) == (3, 1500, {"n": 1})


async def test_cancel_ends_an_execution_once_and_tells_of_it(scene: Scene) -> None:
    execution = await scene.trigger()
    answer = await scene.owner.post(f"/executions/{execution['id'].upper()}/cancel")
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["completed_at"] is not None) == ("cancelled", True)
    assert (await scene.owner.post(f"/executions/{execution['id']}/cancel")).status_code == 409
    events = (await scene.owner.get(f"{scene.path}/events?execution_id={execution['id']}")).json()
    assert [event["type"] for event in events["items"]] == ["workflow.cancelled"]
    assert (await scene.owner.get(f"{scene.path}/logs?execution_id={execution['id']}")).json()["total"] == 1
    audit = (await scene.owner.get(f"/companies/{scene.company_id}/audit?resource_type=execution")).json()
    assert [entry["action"] for entry in audit["items"]] == ["execution.cancel", "execution.trigger"]


async def test_of_parallel_cancels_one_ends_it(scene: Scene) -> None:
    execution = await scene.trigger()
    answers = await asyncio.gather(*(scene.owner.post(f"/executions/{execution['id']}/cancel") for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 5
    assert (await scene.owner.get(f"{scene.path}/events")).json()["total"] == 1


async def test_cancel_ends_its_unfinished_steps(scene: Scene) -> None:
    id_ = await add_execution(scene.database, scene.workflow_id, status="running")
    await add(
        scene.database, "steps", id=uuid7(), execution_id=id_, step_name="s", step_type="wait", reference="/do/0/s",
        sequence_num=1, attempt=1, status="running", metadata="{}",
    )  # fmt: skip
    await scene.owner.post(f"/executions/{id_}/cancel")
    steps = (await scene.owner.get(f"/executions/{id_}/steps")).json()
    assert [step["status"] for step in steps["items"]] == ["cancelled"]


class _Engine:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def trigger(self, pending: Pending) -> None:
        self.asked.append(("trigger", pending.id))

    async def cancel(self, execution_id: str) -> None:
        self.asked.append(("cancel", execution_id))


async def test_an_engine_is_asked_after_the_commit(scene: Scene) -> None:
    state, engine = scene.client.app.app.state, _Engine()  # type: ignore[attr-defined]
    state.platform = msgspec.structs.replace(state.platform, engine=engine)
    execution = await scene.trigger()
    assert (await scene.owner.post(f"/executions/{execution['id']}/cancel")).status_code == 200
    assert engine.asked == [("trigger", execution["id"]), ("cancel", execution["id"])]


async def test_a_trigger_that_meets_the_workflows_end_is_404(scene: Scene) -> None:
    answers = await asyncio.gather(
        *(scene.owner.post(f"{scene.path}/trigger") for _ in range(5)),
        scene.owner.delete(f"{scene.path}?force=true"),
        *(scene.owner.post(f"{scene.path}/trigger") for _ in range(5)),
    )
    assert {answer.status_code for answer in answers} <= {201, 204, 404}
    assert (await scene.owner.get(scene.path)).status_code == 404
