"""Prefect's server on its SQLite, in a process of its own, and flows of the same three steps as tasks."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from bench.engine.work import cpu_seconds


def _ready(url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2).read()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server did not start")


async def _flows(plan: dict[str, int | str], server: int) -> None:
    from prefect import flow, task  # noqa: PLC0415 - reads its settings when it is imported

    @task
    async def step(data: dict[str, int]) -> dict[str, int]:
        return {"x": data.get("x", 0) + 1}

    @flow
    async def three() -> dict[str, int]:
        data: dict[str, int] = {}
        for _ in range(3):
            data = await step(data)
        return data

    times: list[float] = []

    async def one_after_the_other(share: int) -> None:
        for _ in range(share):
            began = time.perf_counter()
            await three()
            times.append(time.perf_counter() - began)

    at_once, count = int(plan["at_once"]), int(plan["count"])
    await one_after_the_other(2)
    times.clear()
    began, cpu = time.perf_counter(), cpu_seconds(server) + time.process_time()
    await asyncio.gather(*(one_after_the_other(max(1, count // at_once)) for _ in range(at_once)))
    took, used = time.perf_counter() - began, cpu_seconds(server) + time.process_time() - cpu
    print(json.dumps({"seconds": took, "cpu": used, "times": times}))


def main(plan: dict[str, int | str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    os.environ |= {
        "PREFECT_HOME": str(plan["folder"]),
        "PREFECT_API_URL": url,
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    server = subprocess.Popen(
        [Path(sys.executable).with_name("prefect"), "server", "start", "--port", str(port), "--host", "127.0.0.1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _ready(url)
        asyncio.run(_flows(plan, server.pid))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
