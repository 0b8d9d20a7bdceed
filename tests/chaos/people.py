"""People who trigger, cancel, pause and let go on, whatever becomes of the servers that they ask."""

import asyncio
import random
import time

import httpx
import msgspec

from tests.chaos.workflows import KINDS, MEETING

PATIENCE = 300.0  # seconds; a busy machine takes a minute to start two servers
_ANSWERED, _AWAY = frozenset({200, 201}), frozenset({500, 503})
_ENDED = 409


class Asked(msgspec.Struct, frozen=True):
    """A trigger that was acknowledged."""

    kind: str
    n: int
    execution_id: str


class People:
    def __init__(
        self, client: httpx.AsyncClient, workflows: dict[str, str], chance: random.Random, pause: float
    ) -> None:
        self.asked: list[Asked] = []
        self._client = client
        self._workflows = workflows
        self._random = chance
        self._pause = pause
        self._n = 0

    async def keep_triggering(self, calm: asyncio.Event) -> None:
        heard = set(MEETING.values())
        kinds = [name for name in self._workflows if KINDS[name].triggered and name not in heard]
        while not calm.is_set():
            self._n += 1
            await self._begin(self._random.choice(kinds), self._n)
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
