"""DBOS in one process: the same three steps, on SQLite or PostgreSQL."""

import asyncio
import json
import sys
import time

from dbos import DBOS, DBOSConfig


@DBOS.step()
async def step(data: dict[str, int]) -> dict[str, int]:
    return {"x": data.get("x", 0) + 1}


@DBOS.workflow()
async def three() -> dict[str, int]:
    data: dict[str, int] = {}
    for _ in range(3):
        data = await step(data)
    return data


async def main(plan: dict[str, int | str]) -> None:
    database = str(plan["database"]) if plan.get("database") else f"sqlite:///{plan['folder']}/dbos.db"
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": database,
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    DBOS(config=config)
    DBOS.launch()
    times: list[float] = []

    async def one_after_the_other(share: int) -> None:
        for _ in range(share):
            began = time.perf_counter()
            await three()
            times.append(time.perf_counter() - began)

    at_once, count = int(plan["at_once"]), int(plan["count"])
    await asyncio.gather(*(one_after_the_other(2) for _ in range(min(8, at_once))))
    times.clear()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one_after_the_other(max(1, count // at_once)) for _ in range(at_once)))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"seconds": took, "cpu": used, "times": times}))
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
