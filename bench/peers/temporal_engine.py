"""Temporal's development server on a file, and a worker: the same three steps as activities, or as local ones."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from bench.engine.work import cpu_seconds

_SOON = timedelta(seconds=60)


@activity.defn
async def step(data: dict[str, int]) -> dict[str, int]:
    return {"x": data.get("x", 0) + 1}


@workflow.defn
class Three:
    @workflow.run
    async def run(self, local: bool) -> dict[str, int]:
        data: dict[str, int] = {}
        for _ in range(3):
            perform = workflow.execute_local_activity if local else workflow.execute_activity
            data = await perform(step, data, start_to_close_timeout=_SOON)
        return data


async def _connected(port: int) -> Client:
    for _ in range(600):
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except (RuntimeError, RPCError):
            await asyncio.sleep(0.1)
    raise SystemExit("the server did not start")


async def main(plan: dict[str, int | str | bool]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("temporal")
    server = subprocess.Popen(
        [program, "server", "start-dev", "--headless", "--port", str(port), "--db-filename",
         str(Path(str(plan["folder"])) / "temporal.db"), "--log-level", "error"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        client = await _connected(port)
        times: list[float] = []

        async def one_after_the_other(turn: str, share: int) -> None:
            for number in range(share):
                began = time.perf_counter()
                await client.execute_workflow(Three.run, bool(plan["local"]), id=f"{turn}-{number}", task_queue="bench")
                times.append(time.perf_counter() - began)

        async with Worker(client, task_queue="bench", workflows=[Three], activities=[step]):
            at_once, count = int(plan["at_once"]), int(plan["count"])
            await asyncio.gather(*(one_after_the_other(f"warm-{n}", 1) for n in range(min(at_once, 8))))
            times.clear()
            began, cpu = time.perf_counter(), cpu_seconds(server.pid) + time.process_time()
            await asyncio.gather(*(one_after_the_other(str(n), max(1, count // at_once)) for n in range(at_once)))
            took, used = time.perf_counter() - began, cpu_seconds(server.pid) + time.process_time() - cpu
        print(json.dumps({"seconds": took, "cpu": used, "times": times}))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
