"""Through the API of a real `penstock serve`: triggers as fast as they are answered, and the time to each one's end."""

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.accounts.contenders import Contender, _penstock
from bench.accounts.load import require_wrk
from bench.accounts.servers import BenchError, Server, serving
from bench.engine.work import CALLS, SETS, THREE_CALLS, THREE_SETS, Figures, cpu_seconds, figures, megabytes
from bench.platform.throughput import SCRIPT
from penstock.ids import uuid7

_PATIENCE = 120


class Through:
    def __init__(self, server: Server, token: str, client: httpx.Client, project_id: str) -> None:
        self._server = server
        self._token = token
        self._client = client
        self._project_id = project_id

    def workflow(self, definition: str) -> str:
        body = {"name": uuid7(), "config_yaml": definition}
        made = self._client.post(f"/projects/{self._project_id}/workflows", json=body)
        id_ = str(made.raise_for_status().json()["id"])
        self._client.post(f"/workflows/{id_}/deploy").raise_for_status()
        return id_

    def burst(self, work: str, workflow_id: str, seconds: int, at_once: int, folder: Path) -> Figures:
        """As many as are answered; the clock stops when the last of them has ended. Times are of the answers."""
        requests = folder / "requests"
        requests.write_text(f'POST\t/api/v1/workflows/{workflow_id}/trigger\t{{"trigger_data": {{}}}}\n')
        began, cpu = time.perf_counter(), cpu_seconds(self._server.process.pid)
        ran = subprocess.run(
            ["wrk", "-t1", f"-c{at_once}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT), self._server.url,
             "--", self._token, str(requests)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ran.returncode != 0:
            raise BenchError(f"wrk failed: {ran.stdout}{ran.stderr}")
        told = json.loads(ran.stdout.strip().splitlines()[-1])
        if any(told[kind] for kind in ("status", "timeout", "socket")) or not told["requests"]:
            raise BenchError(f"triggers failed: {told}. {self._server.complaint()}")
        self._until_ended(workflow_id)
        took, used = time.perf_counter() - began, cpu_seconds(self._server.process.pid) - cpu
        count, note = told["requests"], "times are of the answer to the trigger"
        p50, p99 = told["p50"] / 1e3, told["p99"] / 1e3
        resident = megabytes(self._server.process.pid)
        return Figures("Penstock API", work, at_once, count / took, p50, p99, used / count * 1e3, note, resident)

    def _until_ended(self, workflow_id: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            left = 0
            for status in ("pending", "running"):
                found = self._client.get(f"/workflows/{workflow_id}/executions", params={"status": status})
                left += found.raise_for_status().json()["total"]
            if not left:
                return
            time.sleep(0.02)
        raise BenchError("executions did not end")

    def ends(self, work: str, workflow_id: str, count: int, at_once: int) -> Figures:
        """From sending the trigger to hearing, by the stream of events, that it has completed."""
        return asyncio.run(self._ends(work, workflow_id, count, at_once))

    async def _ends(self, work: str, workflow_id: str, count: int, at_once: int) -> Figures:
        headers = {"authorization": f"Bearer {self._token}"}
        base, times, ended = f"{self._server.url}/api/v1", list[float](), dict[str, float]()
        heard = asyncio.Condition()

        async def listen(client: httpx.AsyncClient, open_: asyncio.Event) -> None:
            params = {"type": "workflow.completed"}
            async with client.stream("GET", f"/workflows/{workflow_id}/events/stream", params=params) as stream:
                stream.raise_for_status()
                open_.set()
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        event = json.loads(line[5:])
                        if event.get("execution_id"):
                            async with heard:
                                ended[event["execution_id"]] = time.perf_counter()
                                heard.notify_all()

        async def ask(client: httpx.AsyncClient, share: int) -> None:
            for _ in range(share):
                began = time.perf_counter()
                answer = await client.post(f"/workflows/{workflow_id}/trigger", json={})
                id_ = answer.raise_for_status().json()["id"]
                async with asyncio.timeout(_PATIENCE), heard:
                    while id_ not in ended:
                        await heard.wait()
                times.append(ended.pop(id_) - began)

        async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as client:
            open_ = asyncio.Event()
            listening = asyncio.create_task(listen(client, open_))
            await asyncio.wait([asyncio.create_task(open_.wait()), listening], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.gather(*(ask(client, 10) for _ in range(at_once)))
            times.clear()
            began, cpu = time.perf_counter(), cpu_seconds(self._server.process.pid)
            await asyncio.gather(*(ask(client, count // at_once) for _ in range(at_once)))
            took, used = time.perf_counter() - began, cpu_seconds(self._server.process.pid) - cpu
            listening.cancel()
        note, resident = "from the trigger to its event of completion", megabytes(self._server.process.pid)
        return figures("Penstock API", work, at_once, took, used, times, note, resident)


@contextmanager
def through(folder: Path, database: str | None) -> Iterator[Through]:
    require_wrk()

    def command(port: int, file: Path) -> list[str]:
        ours = _penstock(port, file)
        return ours if database is None else [*ours[:-1], database]

    quiet = {"PENSTOCK_LOG_LEVEL": "warning"}
    with (
        serving(Contender("penstock", "Penstock", command, lambda *_: None, quiet), folder) as server,
        httpx.Client(base_url=f"{server.url}/api/v1", timeout=60) as client,
    ):
        who = {"email": "bench@example.com", "password": "correct horse battery"}
        token = client.post("/auth/register", json=who).raise_for_status().json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        company = client.post("/companies", json={"name": "Bench"}).json()["id"]
        project = client.post(f"/organizations/{company}/projects", json={"name": "Bench"}).json()["id"]
        yield Through(server, token, client, project)


def measure(folder: Path, database: str | None, url: str, seconds: int) -> list[Figures]:
    with through(folder, database) as api:
        sets, calls = api.workflow(THREE_SETS), api.workflow(THREE_CALLS % {"url": url})
        api.burst(SETS, sets, 1, 64, folder)
        return [
            api.burst(SETS, sets, seconds, 64, folder),
            api.burst(CALLS, calls, seconds, 64, folder),
            api.ends(SETS, sets, 200, 1),
            api.ends(SETS, sets, 400, 8),
            api.ends(CALLS, calls, 200, 1),
        ]
