"""The streams of a project and of all that one can see: in the order of all ids, nothing lost, nothing twice."""

import asyncio
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from penstock.streams import NewEvent, append, hub, journal
from tests.platform.people import Person, register
from tests.platform.records import id_of
from tests.platform.scenes import Scene, set_scene
from tests.platform.test_streams import until_together
from tests.streaming import Stream, streaming

pytestmark = pytest.mark.anyio
Listen = Callable[..., Any]


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


@pytest.fixture
def listen(scene: Scene) -> Listen:
    def opened(path: str, person: Person | None = None, **headers: str) -> Any:
        token = (person or scene.owner).tokens["access_token"]
        return streaming(scene.client.app, path, token, **headers)  # type: ignore[attr-defined]

    return opened


@pytest.fixture
def project(scene: Scene) -> str:
    return f"/projects/{scene.project_id}/events/stream"


def ids(frames: Any) -> list[int]:
    return [int(frame["id"]) for frame in frames]


async def beside(scene: Scene, name: str) -> Scene:
    """Another workflow of the project."""
    return Scene(scene.client, scene.owner, "", scene.project_id, await scene.another_workflow(name))


async def elsewhere(scene: Scene, owner: Person | None = None) -> Scene:
    """A workflow in another project; of another company, when somebody else owns it."""
    owner = owner or scene.owner
    company = scene.company_id if owner is scene.owner else (await owner.made("/companies", {"name": "Ajax"}))["id"]
    project = await owner.made(f"/organizations/{company}/projects", {"name": "Other"})
    workflow = await owner.made(f"/projects/{project['id']}/workflows", {"name": "Elsewhere"})
    return Scene(scene.client, owner, company, project["id"], workflow["id"])


async def test_a_project_is_heard_whole_and_nothing_of_others(scene: Scene, listen: Listen, project: str) -> None:
    other, away = await beside(scene, "Other"), await elsewhere(scene)
    async with listen(project) as stream, listen(f"{project}?type=workflow.*") as narrow:
        await scene.event("workflow.started", "task.started")
        await away.event("workflow.started")
        await other.event("workflow.started")
        frames = await stream.some(3)
        heard = [(frame["event"], frame.json["workflow_id"]) for frame in frames]
        assert heard == [
            ("workflow.started", scene.workflow_id),
            ("task.started", scene.workflow_id),
            ("workflow.started", other.workflow_id),
        ]
        assert ids(frames) == sorted(ids(frames))
        assert ids(await narrow.some(2)) == [ids(frames)[0], ids(frames)[2]]


async def test_of_all_one_hears_what_one_can_see_from_the_moment_one_can(scene: Scene, listen: Listen) -> None:
    stranger = await register(scene.client, "stranger")
    theirs = await elsewhere(scene, stranger)
    async with listen("/events/stream") as ours, listen("/events/stream", stranger) as strange:
        await scene.event("workflow.started")
        await theirs.event("workflow.completed")
        assert (await ours.next()).json["workflow_id"] == scene.workflow_id
        assert (await strange.next()).json["workflow_id"] == theirs.workflow_id
        permission = {"user_id": await id_of(stranger), "role": "viewer"}
        await scene.owner.made(f"{scene.path}/permissions", permission)
        await scene.event("workflow.faulted")
        assert (await strange.next())["event"] == "workflow.faulted"
        await scene.owner.request("DELETE", f"{scene.path}/permissions/{permission['user_id']}")
        await scene.event("workflow.cancelled")
        await theirs.event("workflow.stopped")
        assert (await strange.next())["event"] == "workflow.stopped"
    async with listen(f"/projects/{scene.project_id}/events/stream", stranger) as refused:
        assert refused.status == 403
    async with listen("/events/stream?page=1") as wrong:
        assert wrong.status == 400


async def test_resumed_by_one_id_nothing_is_lost_or_comes_twice(
    scene: Scene, listen: Listen, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_WINDOW", 100)
    other, away = await beside(scene, "Other"), await elsewhere(scene)
    async with listen(project) as stream:
        await scene.event(*["workflow.started"] * 5)
        seen = await stream.some(3)
    for number in range(6):
        await away.event(*["task.started"] * 90)  # ids of which nothing is to be heard
        await (scene, other)[number % 2].event(*["task.completed"] * 110)
    async with listen(project, last_event_id=seen[-1]["id"]) as stream:
        frames = await stream.some(662)
        await other.event("workflow.completed")
        frames += await stream.some(1)
    both = [*seen, *frames]
    assert ids(both) == sorted(set(ids(both)))
    assert len(both) == 5 + 660 + 1
    assert frames[-1]["event"] == "workflow.completed"


async def test_a_slow_reader_is_let_go_and_resumes_while_others_hear(
    scene: Scene, listen: Listen, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_MOST_WAITING", 50)
    monkeypatch.setattr(hub, "_SLOW", 0.0)
    async with listen(project) as slow, listen(project) as quick:
        await until_together(scene)
        slow.blocked.clear()
        heard = await _burst(scene, quick)
        slow.blocked.set()
        frames, reason = await slow.end()
        assert "slow" in reason
    async with listen(f"{project}?after={ids(frames)[-1] if frames else 0}") as again:
        assert ids(frames) + ids(await again.some(200 - len(frames))) == heard


async def _burst(scene: Scene, quick: Stream) -> list[int]:
    heard = []
    for _ in range(20):
        await scene.event(*["task.completed"] * 10)
        heard += ids(await quick.some(10))
    return heard


async def test_whose_role_in_the_project_goes_hears_it(
    scene: Scene, listen: Listen, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_CHECK_EVERY", 0.02)
    viewer = await scene.member("viewer", "viewer")
    async with listen(project, viewer) as stream, listen("/events/stream", viewer) as all_:
        await scene.owner.delete(f"/projects/{scene.project_id}/members/{await id_of(viewer)}")
        assert "role" in (await stream.end())[1]
        await viewer.post("/auth/logout")
        assert (await all_.end())[1] == "the session has ended; sign in again"


def _lane(scene: Scene) -> int:
    return zlib.crc32(scene.workflow_id.encode()) % journal._LANES


async def test_an_entry_waits_for_an_earlier_one_that_is_not_committed_yet(
    scene: Scene, listen: Listen, project: str
) -> None:
    """Two workflows are written at once: the id that was given out first is committed last."""
    if scene.database.dialect == "sqlite":
        pytest.skip("SQLite has one writer")
    other = await beside(scene, "Other")
    while _lane(other) == _lane(scene):
        other = await beside(scene, f"Other {other.workflow_id}")
    async with listen(project) as stream:
        async with scene.database.transaction() as tx:
            await append(tx, events=[NewEvent(scene.workflow_id, "workflow.started")])
            await other.event("workflow.completed")
            with pytest.raises(TimeoutError):
                await stream.next(seconds=0.5)
        frames = await stream.some(2)
        assert [frame["event"] for frame in frames] == ["workflow.started", "workflow.completed"]
        assert ids(frames) == sorted(ids(frames))


async def test_with_many_writers_a_reader_that_keeps_leaving_hears_everything_once(
    scene: Scene, listen: Listen, project: str
) -> None:
    writers = [scene, *[await beside(scene, f"Workflow {number}") for number in range(4)]]

    async def write(one: Scene) -> None:
        for _ in range(20):
            await one.event("task.started", "task.completed")

    writing = [asyncio.create_task(write(one)) for one in writers]
    seen: list[int] = []
    while len(seen) < 200:
        async with listen(f"{project}?after={seen[-1] if seen else 0}") as stream:
            seen += ids(await stream.some(min(17, 200 - len(seen))))
    await asyncio.gather(*writing)
    assert seen == sorted(set(seen))
