"""Passwords are hashed a few at a time: a flood of sign-ins waits in line, and everybody else is served."""

import asyncio
import threading

import httpx
import pytest

from penstock.accounts.hooks import Hooks
from penstock.accounts.passwords import Passwords
from penstock.problems import Overloaded
from tests.accounts.steps import ADA, accounts_of, another, sign_in, sign_up, who
from tests.conftest import Serve

pytestmark = pytest.mark.anyio


@pytest.fixture
def cheap_passwords() -> None:
    """Here they cost what they cost."""


class Gate:
    """A slow hash: notes how many run at once, and ends when told to."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.running = 0
        self.most = 0
        self.done = 0
        self._lock = threading.Lock()

    def hash(self, password: str) -> str:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.open.wait(90)
        with self._lock:
            self.running -= 1
            self.done += 1
        return f"hash of {password}"


async def test_no_more_hashes_at_once_than_configured() -> None:
    gate = Gate()
    passwords = Passwords(Hooks(hash_password=gate.hash), concurrency=2)
    hashing = [asyncio.create_task(passwords.hash(f"password {number}")) for number in range(10)]
    async with asyncio.timeout(60):
        while gate.running < 2:
            await asyncio.sleep(0)
    gate.open.set()
    assert await asyncio.gather(*hashing) == [f"hash of password {number}" for number in range(10)]
    assert gate.most == 2
    passwords.close()


async def test_who_gave_up_waiting_leaves_the_line() -> None:
    gate = Gate()
    passwords = Passwords(Hooks(hash_password=gate.hash), concurrency=1)
    hashing = [asyncio.create_task(passwords.hash("x")) for _ in range(51)]
    async with asyncio.timeout(60):
        while gate.running < 1:
            await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await passwords.hash("one too many")
    hashing.pop().cancel()
    await asyncio.sleep(0)
    last = asyncio.create_task(passwords.hash("the last"))
    gate.open.set()
    assert await last == "hash of the last"
    await asyncio.gather(*hashing)
    passwords.close()


async def test_a_flood_of_sign_ins_is_turned_away_at_some_point_and_holds_nobody_up(serve: Serve) -> None:
    gate = Gate()
    gate.open.set()
    async with serve(hooks=Hooks(hash_password=gate.hash), password_hash_concurrency=1) as client:
        await sign_up(client)
        gate.open.clear()
        async with another(client) as flood:
            guesses = [
                asyncio.create_task(sign_in(flood, f"a{number}@example.com", "wrong password")) for number in range(60)
            ]
            turned_away = await first_done(guesses)
            assert turned_away.status_code == 503
            assert int(turned_away.headers["retry-after"]) > 0
            assert turned_away.headers["status"] == turned_away.json()["detail"]
            async with asyncio.timeout(60):
                while gate.running < 1:
                    await asyncio.sleep(0)
            done = gate.done
            assert await who(client) == ADA
            # Answered while the first guess of the flood was still being hashed.
            assert (gate.done, gate.running) == (done, 1)
            gate.open.set()
            answers = await asyncio.gather(*guesses)
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(503) == 60 - 51
        assert set(statuses) <= {401, 429, 503}
        assert gate.most == 1
        assert (await sign_in(client)).status_code in {200, 429}
        assert accounts_of(client).passwords._waiting == 0


async def first_done(tasks: list[asyncio.Task[httpx.Response]]) -> httpx.Response:
    done, _ = await asyncio.wait(tasks, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    return done.pop().result()
