"""A service that workflows call: a process of its own, which writes down every request before it answers, and since
when that may have been on its way: a busy machine may have halted the service meanwhile, and who asked be dead by now.

`/ok/{n}` and `/slow/{n}` answer with twice the number, `/broken` never works, and `/flaky/{whose}/{n}` fails for the
first two keys that ask. The same key is always answered alike.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict, deque
from pathlib import Path
from typing import Any, TextIO

from aiohttp import web

_FAILS = 2
_SLOW = 0.25
_TURN, _TURNS = 0.02, 10  # more than it takes from a connection to a request that is read


class Service:
    def __init__(self, log: TextIO) -> None:
        self._log = log
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        self._turns = deque([_now()], maxlen=_TURNS)

    async def run(self) -> None:
        """Whatever came before the earliest of these turns was seen to by now."""
        while True:
            await asyncio.sleep(_TURN)
            self._turns.append(_now())

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/ok/{n}", self._ok)
        application.router.add_get("/slow/{n}", self._slow)
        application.router.add_get("/broken", self._broken)
        application.router.add_get("/flaky/{whose}/{n}", self._flaky)
        return application

    async def _ok(self, request: web.Request) -> web.Response:
        self._note(request)
        return _doubled(request)

    async def _slow(self, request: web.Request) -> web.Response:
        self._note(request)
        await asyncio.sleep(_SLOW)
        return _doubled(request)

    async def _broken(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.json_response({}, status=500)

    async def _flaky(self, request: web.Request) -> web.Response:
        self._note(request)
        keys, key = self._keys[request.path], request.headers["Idempotency-Key"]
        if key not in keys:
            keys.append(key)
        return web.json_response({}, status=503) if keys.index(key) < _FAILS else _doubled(request)

    def _note(self, request: web.Request) -> None:
        entry: dict[str, Any] = {
            "key": request.headers.get("Idempotency-Key"),
            "path": request.path,
            "since": self._turns[0],
            "at": _now(),
        }
        print(json.dumps(entry), file=self._log, flush=True)


def _now() -> int:
    return time.time_ns() // 1000


def _doubled(request: web.Request) -> web.Response:
    return web.json_response({"doubled": 2 * int(request.match_info["n"])})


async def main(path: str) -> None:
    with Path(path).open("a") as log:
        service = Service(log)
        runner = web.AppRunner(service.application())
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        print(json.dumps({"port": site._server.sockets[0].getsockname()[1]}), file=log, flush=True)  # type: ignore[attr-defined]
        await service.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
