"""Streams of events and logs: at once, in order, nothing lost, nothing twice, and to nobody who may not listen."""

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.streams import Level, NewLog, append, hub, signals, sse
from tests.conftest import Serve
from tests.platform.people import API, PASSWORD, register
from tests.platform.scenes import Scene, set_scene
from tests.streaming import Stream, streaming

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


@pytest.fixture
def listen(scene: Scene) -> Callable[..., Any]:
    def opened(what: str, **headers: str) -> Any:
        app, token = scene.client.app, scene.owner.tokens["access_token"]  # type: ignore[attr-defined]
        return streaming(app, f"{scene.path}/{what}", token, **headers)

    return opened


def ids(frames: Any) -> list[int]:
    return [int(frame["id"]) for frame in frames]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def until_together(scene: Scene) -> None:
    """Until nobody reads by themselves any more what they missed: a stream begins before that."""
    await until(lambda: not any(listener.behind for listener in scene.hub._listeners))


class TestWhatIsStreamed:
    async def test_an_event_has_its_id_its_type_and_its_json_on_one_line(
        self, scene: Scene, listen: Callable[..., Any]
    ) -> None:
        async with listen("events/stream") as stream:
            assert stream.status == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert stream.headers["cache-control"] == "no-store"
            assert stream.headers["x-accel-buffering"] == "no"
            await scene.event("task.completed", step_name="greet", data={"text": "two\nlines"})
            frame = await stream.next()
            listed = (await scene.owner.get(f"{scene.path}/events")).json()["items"][0]
            assert (frame["id"], frame["event"], frame.json) == (str(listed["id"]), "task.completed", listed)

    async def test_a_log_entry_is_called_log(self, scene: Scene, listen: Callable[..., Any]) -> None:
        async with listen("logs/stream") as stream:
            await scene.log("hello", fields={"n": 1})
            frame = await stream.next()
            listed = (await scene.owner.get(f"{scene.path}/logs")).json()["items"][0]
            assert (frame["event"], frame.json) == ("log", listed)

    async def test_without_an_id_only_new_entries_come(self, scene: Scene, listen: Callable[..., Any]) -> None:
        await scene.log("old")
        async with listen("logs/stream") as stream:
            await scene.log("new")
            assert (await stream.next()).json["message"] == "new"

    async def test_it_comes_with_its_commit_and_waits_for_no_clock(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(signals, "_LOOK_EVERY", 3600)
        monkeypatch.setattr(hub, "_CHECK_EVERY", 3600)
        async with listen("logs/stream") as stream:
            for number in range(3):
                await scene.log(f"one more: {number}")
                assert (await stream.next()).json["message"] == f"one more: {number}"

    async def test_what_is_rolled_back_is_never_heard_of(self, scene: Scene, listen: Callable[..., Any]) -> None:
        async with listen("logs/stream") as stream:
            with suppress(ZeroDivisionError):
                async with scene.database.transaction() as tx:
                    await append(tx, logs=[NewLog(scene.workflow_id, Level.INFO, "undone")])
                    raise ZeroDivisionError
            await scene.log("done")
            assert (await stream.next()).json["message"] == "done"

    async def test_filters_work_as_in_the_list(self, scene: Scene, listen: Callable[..., Any]) -> None:
        async with listen("logs/stream?level=warn&module=pump&q=50%25_O") as stream:
            await scene.log("50%_off", level=Level.INFO, module_name="pump")
            await scene.log("50%_off", level=Level.ERROR, module_name="other")
            await scene.log("50x_off", "says 50%_OFF", level=Level.ERROR, module_name="pump")
            assert (await stream.next()).json["message"] == "says 50%_OFF"
        async with listen("events/stream?type=workflow.completed") as stream:
            await scene.event("workflow.started", "workflow.completed")
            assert (await stream.next())["event"] == "workflow.completed"

    async def test_another_workflows_entries_stay_there(self, scene: Scene, listen: Callable[..., Any]) -> None:
        other = Scene(scene.client, scene.owner, "", scene.project_id, await scene.another_workflow("Other"))
        async with listen("logs/stream") as stream:
            await other.log("theirs")
            await scene.log("ours")
            assert (await stream.next()).json["message"] == "ours"

    async def test_a_comment_comes_while_nothing_happens(
        self, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert sse._COMMENT_EVERY == 15
        monkeypatch.setattr(sse, "_COMMENT_EVERY", 0.02)
        async with listen("events/stream") as stream:
            await until(lambda: stream.comments >= 3)

    async def test_cancel_is_heard_on_both(self, scene: Scene, listen: Callable[..., Any]) -> None:
        execution = await scene.trigger()
        async with listen("events/stream") as events, listen("logs/stream") as logs:
            await scene.owner.post(f"/executions/{execution['id']}/cancel")
            assert (await events.next())["event"] == "workflow.cancelled"
            assert (await logs.next()).json["execution_id"] == execution["id"]


class TestResume:
    async def test_nothing_is_lost_and_nothing_comes_twice(self, scene: Scene, listen: Callable[..., Any]) -> None:
        async with listen("logs/stream") as stream:
            await scene.log(*(f"{n}" for n in range(5)))
            seen = await stream.some(3)
        await scene.log(*(f"{n}" for n in range(5, 1300)))  # more than is read at once
        async with listen("logs/stream", last_event_id=seen[-1]["id"]) as stream:
            frames = await stream.some(1297)
            await scene.log("1300")
            frames += await stream.some(1)
        assert [frame.json["message"] for frame in [*seen, *frames]] == [str(n) for n in range(1301)]

    async def test_after_in_the_query_does_the_same_and_the_header_wins(
        self, scene: Scene, listen: Callable[..., Any]
    ) -> None:
        await scene.event("workflow.started", "task.started", "task.completed")
        async with listen("events/stream?after=0") as stream:
            frames = await stream.some(3)
        async with listen(f"events/stream?after={frames[0]['id']}") as stream:
            assert ids(await stream.some(2)) == ids(frames[1:])
        async with listen("events/stream?after=0", last_event_id=frames[1]["id"]) as stream:
            assert ids(await stream.some(1)) == ids(frames[2:])

    @pytest.mark.parametrize("value", ["x", "-1", "1.5", "9" * 19, "9" * 400, "%00"])
    async def test_an_id_that_is_none_is_400(self, scene: Scene, listen: Callable[..., Any], value: str) -> None:
        async with listen(f"logs/stream?after={value}") as stream:
            assert stream.status == 400
        if "%" not in value:
            async with listen("logs/stream", last_event_id=value) as stream:
                assert stream.status == 400

    @pytest.mark.parametrize("query", ["level=loud", "since=now", "execution_id=7", "page=1", "q=", "type=x"])
    async def test_a_filter_that_is_not_valid_is_400(self, listen: Callable[..., Any], query: str) -> None:
        async with listen(f"logs/stream?{query}") as stream:
            assert stream.status == 400

    async def test_while_others_write_a_reader_that_keeps_leaving_misses_nothing(
        self, scene: Scene, listen: Callable[..., Any]
    ) -> None:
        async def write() -> None:
            for number in range(60):
                await scene.log(*(f"{number}.{part}" for part in range(3)))

        writing = asyncio.create_task(write())
        seen: list[int] = []
        while len(seen) < 180:
            async with listen(f"logs/stream?after={seen[-1] if seen else 0}") as stream:
                seen += ids(await stream.some(min(7, 180 - len(seen))))
        await writing
        listed = [
            item["id"]
            for page in (2, 1)
            for item in reversed(
                (await scene.owner.get(f"{scene.path}/logs?page_size=100&page={page}")).json()["items"]
            )
        ]
        assert seen == listed


class TestTheEnd:
    async def test_who_signs_out_hears_that_the_session_ended(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_CHECK_EVERY", 0.02)
        async with listen("logs/stream") as stream:
            await scene.owner.post("/auth/logout")
            assert (await stream.end())[1] == "the session has ended; sign in again"

    async def test_whose_role_goes_hears_it(
        self, scene: Scene, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_CHECK_EVERY", 0.02)
        viewer = await scene.member("viewer", "viewer")
        me = (await viewer.get("/auth/me")).json()["id"]
        token = viewer.tokens["access_token"]
        async with streaming(client.app, f"{scene.path}/logs/stream", token) as stream:  # type: ignore[attr-defined]
            await scene.owner.delete(f"/projects/{scene.project_id}/members/{me}")
            assert "role" in (await stream.end())[1]

    async def test_the_workflow_being_deleted_ends_it(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_CHECK_EVERY", 0.02)
        async with listen("logs/stream") as stream:
            await scene.owner.delete(f"{scene.path}?force=true")
            assert "deleted" in (await stream.end())[1]

    async def test_the_expiry_of_the_token_ends_it_to_the_second(self, serve: Serve) -> None:
        async with serve() as client:
            scene = await set_scene(client)
        async with serve(access_ttl="2s") as client:
            status = 401
            while status == 401:  # a machine that is slow enough has let it expire before it was used
                body = {"email": scene.owner.email, "password": PASSWORD}
                token = (await client.post(f"{API}/auth/login", json=body)).json()["access_token"]
                async with streaming(client.app, f"{scene.path}/logs/stream", token) as stream:  # type: ignore[attr-defined]
                    status = stream.status
                    assert status == 401 or "expired" in (await stream.end())[1]

    async def test_a_reader_that_is_too_slow_is_let_go_and_can_resume(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_MOST_WAITING", 50)
        monkeypatch.setattr(hub, "_SLOW", 0.0)
        async with listen("logs/stream") as slow, listen("logs/stream") as quick:
            await until_together(scene)
            slow.blocked.clear()
            await self._burst(scene, quick)
            slow.blocked.set()
            frames, reason = await slow.end()
            assert "slow" in reason
            last = ids(frames)[-1] if frames else 0
        async with listen(f"logs/stream?after={last}") as again:
            assert ids(await again.some(200 - len(frames))) == list(range(last + 1, last + 201 - len(frames)))

    async def test_a_reader_that_a_burst_leaves_behind_catches_up(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_MOST_WAITING", 50)
        async with listen("logs/stream") as behind, listen("logs/stream") as quick:
            await until_together(scene)
            for first in (1, 201):
                behind.blocked.clear()
                await self._burst(scene, quick)
                behind.blocked.set()
                assert ids(await behind.some(200)) == list(range(first, first + 200))
            await scene.log("together again")
            assert [(await one.next()).json["message"] for one in (behind, quick)] == ["together again"] * 2

    async def _burst(self, scene: Scene, quick: Stream) -> None:
        for number in range(20):
            await scene.log(*(f"{number}.{part}" for part in range(10)))
            await quick.some(10)

    async def test_who_does_not_read_at_all_is_let_go_of(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub, "_CHECK_EVERY", 0.02)
        monkeypatch.setattr(hub, "_PATIENCE", 0.1)
        async with listen("logs/stream") as other, listen("logs/stream") as deaf:
            deaf.blocked.clear()
            await scene.log("one")
            await other.next()
            await until(lambda: scene.hub.listening == 1)
            await scene.log("two")
            assert (await other.next()).json["message"] == "two"

    async def test_the_server_shutting_down_ends_it(self, serve: Serve) -> None:
        async with serve() as client:
            scene = await set_scene(client)
            token = scene.owner.tokens["access_token"]
            async with streaming(client.app, f"{scene.path}/logs/stream", token) as stream:  # type: ignore[attr-defined]
                await scene.hub.close()
                assert (await stream.end())[1] == "the server shuts down"

    async def test_whoever_has_no_role_gets_no_stream(self, scene: Scene, client: httpx.AsyncClient) -> None:
        stranger = await register(client, "stranger")
        for token, status in ((stranger.tokens["access_token"], 403), ("x", 401)):
            async with streaming(client.app, f"{scene.path}/events/stream", token) as stream:  # type: ignore[attr-defined]
                assert stream.status == status
        token = scene.owner.tokens["access_token"]
        assert (await client.get(f"/api/v1{scene.path}/logs/stream?access_token={token}")).status_code == 401


class TestMany:
    async def test_whatever_the_number_of_listeners_rows_are_read_once(
        self, scene: Scene, listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with AsyncExitStack() as stack:
            streams: list[Stream] = [await stack.enter_async_context(listen("logs/stream")) for _ in range(40)]
            await until_together(scene)
            await scene.log("settled")
            for stream in streams:
                await stream.next()
            reads = 0
            after = scene.hub.after

            async def counted(*arguments: Any) -> Any:
                nonlocal reads
                reads += 1
                return await after(*arguments)

            monkeypatch.setattr(scene.hub, "after", counted)
            await scene.log("one")
            for stream in streams:
                await stream.next()
            assert reads <= 3

    async def test_clients_that_vanish_leave_nothing_behind(self, scene: Scene, listen: Callable[..., Any]) -> None:
        async with listen("logs/stream"):
            pass
        before = len(asyncio.all_tasks())
        async with AsyncExitStack() as stack:
            for what in ["logs/stream", "events/stream", "logs/stream?after=0"] * 10:
                await stack.enter_async_context(listen(what))
            assert scene.hub.listening == 30
        await until(lambda: len(asyncio.all_tasks()) <= before and scene.hub.tasks == 0)
        assert (scene.hub.listening, scene.hub._topics) == (0, {})


WRITER = """
import asyncio, sys
from penstock.storage import open_database
from penstock.http.times import micros
from penstock.streams import Level, NewEvent, NewLog, append

async def main(url, workflow_id, name, count):
    database = await open_database(url)
    async def write(part):
        for number in range(count):
            async with database.transaction() as tx:
                names = [f"{name}.{part}.{number}.{i}" for i in range(2)]
                await append(tx, logs=[NewLog(workflow_id, Level.INFO, message) for message in names])
    await asyncio.gather(*(write(part) for part in range(4)))
    await database.close()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
"""


_START_LIMIT = 240  # seconds: a process that starts on a busy machine takes its time


async def _writer(url: str, workflow_id: str, name: str, count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, url, workflow_id, name, str(count))


class TestSeveralProcesses:
    async def test_what_another_process_writes_is_heard_at_once(
        self, scene: Scene, listen: Callable[..., Any], database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PostgreSQL tells; an SQLite file is looked at, four times in a second or more often."""
        assert signals._LOOK_EVERY < 0.25
        if scene.database.dialect == "postgresql":
            monkeypatch.setattr(signals, "_LOOK_EVERY", 3600)
        async with listen("logs/stream") as stream:
            writer = await _writer(database_url, scene.workflow_id, "other", 1)
            frames = await stream.some(8, seconds=_START_LIMIT)
            assert await writer.wait() == 0
            assert len({frame.json["message"] for frame in frames}) == 8

    async def test_with_many_writers_a_reader_sees_every_entry_once_and_in_order(
        self, scene: Scene, listen: Callable[..., Any], database_url: str
    ) -> None:
        async with listen("logs/stream") as stream:
            writers = [await _writer(database_url, scene.workflow_id, name, 25) for name in "abc"]
            frames = await stream.some(3 * 4 * 25 * 2, seconds=_START_LIMIT)
            assert [await writer.wait() for writer in writers] == [0, 0, 0]
            assert ids(frames) == sorted(set(ids(frames)))
            assert len({frame.json["message"] for frame in frames}) == 600


async def test_it_flows_through_a_real_server_and_ends_when_that_is_told_to_stop(
    settings_with: Callable[..., Any], tmp_path: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "penstock", "serve", "--port", "0", "--database", settings_with().database.reveal(),
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        url = await _address(process)
        async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60) as client:
            answer = await client.post("/auth/register", json={"email": "a@example.com", "password": "correct horse"})
            client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
            company = (await client.post("/companies", json={"name": "A"})).json()["id"]
            project = (await client.post(f"/organizations/{company}/projects", json={"name": "P"})).json()["id"]
            workflow = (await client.post(f"/projects/{project}/workflows", json={"name": "W"})).json()["id"]
            async with client.stream("GET", f"/workflows/{workflow}/events/stream") as response:
                lines = response.aiter_lines()
                assert await anext(lines) == ": hello"
                assert (await client.post(f"/workflows/{workflow}/trigger")).status_code == 201
                async with asyncio.timeout(60):
                    while not (line := await anext(lines)).startswith("event:"):
                        pass
                assert line == "event: workflow.started"
                process.terminate()
                async with asyncio.timeout(60):
                    rest = [line async for line in lines]
                assert "event: end" in rest
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    said = ""
    while True:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        said += line
        assert line, said
        if found := re.search(r"http://[\d.]+:\d+", line):
            return found[0]
