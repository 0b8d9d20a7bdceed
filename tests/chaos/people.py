"""People who trigger, cancel, pause, let go on, tell events, deploy and run again, whatever becomes of the servers that
they ask."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial

import httpx
import msgspec

from tests.chaos.workflows import DEPLOYED_ANEW, KINDS, MEETING, RUN_AGAIN, definition

PATIENCE = 300.0  # seconds; a busy machine takes a minute to start two servers
_ANSWERED, _AWAY = frozenset({200, 201}), frozenset({500, 503})
_ENDED = 409
_EVENT = {"specversion": "1.0", "source": "https://chaos.example", "type": "chaos.told"}


class Asked(msgspec.Struct, frozen=True):
    """A trigger that was acknowledged."""

    kind: str
    n: int
    execution_id: str


class People:
    def __init__(
        self, client: httpx.AsyncClient, workflows: dict[str, str], chance: random.Random, pause: float, service: str
    ) -> None:
        self.asked: list[Asked] = []
        self.told: list[int] = []
        """Events that were acknowledged."""
        self.project_id = ""
        self._client = client
        self._workflows = workflows
        self._random = chance
        self._pause = pause
        self._service = service
        self._n = 0

    async def keep_triggering(self, calm: asyncio.Event) -> None:
        heard = set(MEETING.values())
        kinds = [name for name in self._workflows if KINDS[name].triggered and name not in heard]
        acts: list[Callable[[int], Awaitable[None]]] = [self._tell, self._deploy_anew, self._run_again]
        acts += [partial(self._begin, kind) for kind in kinds]
        while not calm.is_set():
            self._n += 1
            await self._random.choice(acts)(self._n)
            await asyncio.sleep(self._random.uniform(0, self._pause))

    async def _begin(self, kind: str, n: int) -> None:
        if kind in MEETING:
            # Whoever comes first, they must meet.
            pair = [kind, MEETING[kind]]
            self._random.shuffle(pair)
            for each in pair:
                await self.trigger(each, n)
            return
        execution_id = await self.trigger(kind, n)
        if KINDS[kind].status == "cancelled":
            await self._ask(execution_id, "cancel")
        elif kind == "held":
            await self._ask(execution_id, "pause")
            await self._ask(execution_id, "resume")

    async def trigger(self, kind: str, n: int) -> str:
        """With the same key, however often."""
        key = f"{kind}-{n}"
        answer = await self.until_answered(
            f"/workflows/{self._workflows[kind]}/trigger",
            json={"trigger_data": {"n": n}},
            headers={"Idempotency-Key": key},
        )
        execution_id = str(answer.json()["id"])
        self.asked.append(Asked(kind, n, execution_id))
        return execution_id

    async def _tell(self, n: int) -> None:
        """With the same key, however often."""
        headers = {"Content-Type": "application/cloudevents+json", "Idempotency-Key": f"told-{n}"}
        event = _EVENT | {"id": str(n), "data": {"n": n}}
        path = f"/projects/{self.project_id}/events"
        await self.until_answered(path, frozenset({202}), json=event, headers=headers)
        self.told.append(n)

    async def _deploy_anew(self, n: int) -> None:
        """What is under way, and what comes meanwhile, is not to notice."""
        kind = self._random.choice(DEPLOYED_ANEW)
        path, text = f"/workflows/{self._workflows[kind]}", f"{definition(kind, self._service)}# {n}\n"
        await self.until_answered(path, method="PUT", json={"config_yaml": text})
        await self.until_answered(f"{path}/deploy")

    async def _run_again(self, _: int) -> None:
        """From some step of one that may have ended. When an answer is lost, it may run again twice."""
        before = [asked.execution_id for asked in self.asked if asked.kind in RUN_AGAIN]
        if not before:
            return
        path = f"/executions/{self._random.choice(before)}"
        steps = (await self.until_answered(f"{path}/steps", method="GET")).json()["items"]
        if steps:
            chosen = self._random.choice(steps)["reference"]
            await self.until_answered(f"{path}/rerun", _ANSWERED | {_ENDED}, json={"from": chosen})

    async def _ask(self, execution_id: str, what: str) -> None:
        """From when it is acknowledged, nobody need ask any more."""
        await asyncio.sleep(self._random.uniform(0, 0.5))
        await self.until_answered(f"/executions/{execution_id}/{what}", _ANSWERED | {_ENDED})

    async def until_answered(
        self, path: str, answers: frozenset[int] = _ANSWERED, method: str = "POST", **request: object
    ) -> httpx.Response:
        ends = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < ends, f"{path} was never answered"
            try:
                answer = await self._client.request(method, path, **request)  # type: ignore[arg-type]
            except httpx.TransportError:
                await asyncio.sleep(0.05)
                continue
            if answer.status_code in answers:
                return answer
            assert answer.status_code in _AWAY, answer.text
            await asyncio.sleep(0.05)
