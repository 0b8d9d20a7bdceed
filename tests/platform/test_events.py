"""The list of a workflow's events."""

import httpx
import pytest

from tests.platform.scenes import Scene, set_scene

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


async def types(scene: Scene, query: str = "") -> list[str]:
    answer = await scene.owner.get(f"{scene.path}/events{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["total"] >= len(answer.json()["items"])
    return [item["type"] for item in answer.json()["items"]]


async def test_an_event_is_shown_with_its_members(scene: Scene) -> None:
    await scene.event("task.started", step_name="greet", data={"a": [1]})
    event = (await scene.owner.get(f"{scene.path}/events")).json()["items"][0]
    assert list(event) == ["id", "type", "workflow_id", "execution_id", "step_name", "data", "created_at"]
    assert (event["workflow_id"], event["step_name"], event["data"]) == (scene.workflow_id, "greet", {"a": [1]})
    assert event["execution_id"] is None
    assert isinstance(event["id"], int)


async def test_events_are_newest_first_with_growing_ids(scene: Scene) -> None:
    await scene.event("workflow.started", "task.started")
    await scene.event("task.completed")
    items = (await scene.owner.get(f"{scene.path}/events")).json()["items"]
    assert [item["type"] for item in items] == ["task.completed", "task.started", "workflow.started"]
    ids = [item["id"] for item in items]
    assert ids == sorted(ids, reverse=True)
    assert await types(scene, "?page_size=1&page=2") == ["task.started"]


async def test_events_are_filtered(scene: Scene) -> None:
    execution = await scene.trigger()
    await scene.event("workflow.started", "workflow.completed", execution_id=execution["id"])
    await scene.event("workflow.started")
    assert await types(scene, "?type=workflow.started") == ["workflow.started"] * 2
    assert await types(scene, f"?execution_id={execution['id'].upper()}") == ["workflow.completed", "workflow.started"]
    assert await types(scene, f"?type=workflow.started&execution_id={execution['id']}") == ["workflow.started"]
    middle = (await scene.owner.get(f"{scene.path}/events")).json()["items"][0]["created_at"]
    assert await types(scene, f"?since={middle}") == ["workflow.started"]
    assert len(await types(scene, f"?until={middle}")) == 2


@pytest.mark.parametrize(
    "query", ["type=", "execution_id=x", "since=yesterday", "until=1", "level=info", "q=x", "page=x", "type=%00"]
)
async def test_a_filter_that_is_not_valid_is_400(scene: Scene, query: str) -> None:
    assert (await scene.owner.get(f"{scene.path}/events?{query}")).status_code == 400


async def test_deploy_and_stop_are_events(scene: Scene) -> None:
    await scene.owner.post(f"{scene.path}/deploy")
    await scene.owner.post(f"{scene.path}/stop")
    assert await types(scene) == ["workflow.stopped", "workflow.deployed"]
