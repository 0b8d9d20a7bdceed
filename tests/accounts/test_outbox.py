"""Mail leaves in the background, survives what goes wrong, and leaves once."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from penstock.accounts import outbox, reset_tokens, users
from penstock.accounts.hooks import Hooks
from penstock.storage import Database, now
from tests.accounts.mail_server import mail_server
from tests.accounts.steps import (
    ADA,
    accounts_of,
    another,
    database_of,
    everything_stored,
    rows,
    run,
    sign_up,
    until_someone_waits,
)
from tests.conftest import Serve
from tests.ports import free_port

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def stopped_at(monkeypatch: pytest.MonkeyPatch) -> int:
    """Time stands still here: what was put off stays so until a test says otherwise, however long that takes."""
    at = now()
    monkeypatch.setattr(outbox, "now", lambda: at)
    return at


async def forgot(client: httpx.AsyncClient, email: str = ADA) -> None:
    answer = await client.post("/user/forgotpassword", data={"email": email})
    assert (answer.status_code, answer.json()) == (200, {})


async def until(database: Database, sql: str) -> None:
    """Until the query finds something."""
    async with asyncio.timeout(60):
        while not await rows(database, sql):
            await asyncio.sleep(0)


async def until_empty(database: Database) -> None:
    await until(database, "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM outbox)")


async def until_put_off(database: Database, attempts: int = 1) -> None:
    await until(database, f"SELECT 1 FROM outbox WHERE attempts = {attempts} AND last_error <> ''")


async def make_due(client: httpx.AsyncClient) -> None:
    """As if the pause were over."""
    await run(database_of(client), "UPDATE outbox SET due_at = 0, last_error = ''")
    accounts_of(client).outbox._wake.set()


async def test_a_mail_waits_for_its_server_and_a_token_that_nobody_got_is_withdrawn(
    serve: Serve, stopped_at: int
) -> None:
    port = free_port()
    async with serve(smtp_server=f"127.0.0.1:{port}") as client:
        await sign_up(client)
        await forgot(client)
        await until_put_off(database_of(client))
        assert not await rows(database_of(client), "SELECT 1 FROM reset_tokens")
        (row,) = await rows(database_of(client), "SELECT due_at FROM outbox")
        assert row[0] == stopped_at + 2_000_000
        await make_due(client)
        await until_put_off(database_of(client), attempts=2)
        async with mail_server(port=port) as server:
            await make_due(client)
            arrived = await server.next()
            assert arrived["To"] == ADA
            await until_empty(database_of(client))
            token = arrived.get_content().strip().rpartition("token=")[2]
            assert token not in await everything_stored(database_of(client))
            answer = await client.post("/user/resetpassword", data={"token": token, "password": "a new horse"})
            assert answer.status_code == 200
            assert len(server.mails) == 1


async def test_a_mail_survives_a_restart(serve: Serve) -> None:
    port = free_port()
    async with serve(smtp_server=f"127.0.0.1:{port}") as client:
        await sign_up(client)
        await forgot(client)
        await until_put_off(database_of(client))
    async with mail_server(port=port) as server, serve(smtp_server=f"127.0.0.1:{port}") as client:
        await make_due(client)
        assert (await server.next())["To"] == ADA
        await until_empty(database_of(client))


async def test_a_recipient_that_is_refused_for_good_is_given_up(serve: Serve) -> None:
    async with mail_server() as server, serve(smtp_server=server.address) as client:
        server.refuse_recipients = "550 no such mailbox"
        await sign_up(client)
        await forgot(client)
        await asyncio.wait_for(server.refused.wait(), 60)
        await until_empty(database_of(client))
        assert not await rows(database_of(client), "SELECT 1 FROM reset_tokens")


async def test_after_a_day_of_failing_a_mail_is_given_up(serve: Serve) -> None:
    async with serve(smtp_server=f"127.0.0.1:{free_port()}") as client:
        await sign_up(client)
        await forgot(client)
        await until_put_off(database_of(client))
        await run(database_of(client), f"UPDATE outbox SET created_at = {now() - 25 * 3600 * 1_000_000}")
        await make_due(client)
        await until_empty(database_of(client))


async def test_the_pause_grows_to_half_an_hour_at_most(serve: Serve, stopped_at: int) -> None:
    async with serve(smtp_server=f"127.0.0.1:{free_port()}") as client:
        await sign_up(client)
        await forgot(client)
        await until_put_off(database_of(client))
        await run(database_of(client), "UPDATE outbox SET attempts = 40")
        await make_due(client)
        await until_put_off(database_of(client), attempts=41)
        (row,) = await rows(database_of(client), "SELECT due_at FROM outbox")
        assert row[0] == stopped_at + 1800 * 1_000_000


async def test_the_send_email_hook_gets_email_and_url_and_is_tried_again_when_it_raises(serve: Serve) -> None:
    sent: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def send(email: str, url: str) -> None:
        if sent.empty() and not failed:
            failed.append(url)
            raise RuntimeError(f"could not call {url}")
        sent.put_nowait((email, url))

    failed: list[str] = []
    with structlog.testing.capture_logs() as lines:
        async with serve(hooks=Hooks(send_email=send)) as client:
            await sign_up(client)
            await forgot(client)
            await until_put_off(database_of(client))
            lost = failed[0].rpartition("token=")[2]
            assert len(lost) >= 43
            assert lost not in str(lines)
            assert lost not in await everything_stored(database_of(client))
            await make_due(client)
            email, url = await asyncio.wait_for(sent.get(), 60)
            assert email == ADA
            assert url.startswith("http://localhost:8080/reset?token=")
            assert not url.endswith(lost)
            await until_empty(database_of(client))


async def test_a_send_email_hook_that_is_not_async_holds_nobody_up(serve: Serve) -> None:
    import threading

    go_on, called = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def send(_email: str, _url: str) -> None:
        loop.call_soon_threadsafe(called.set)
        assert go_on.wait(60)

    async with serve(hooks=Hooks(send_email=send)) as client:
        await sign_up(client)
        await forgot(client)
        await asyncio.wait_for(called.wait(), 60)
        assert (await client.get("/user/get")).status_code == 200
        go_on.set()
        await until_empty(database_of(client))


async def test_nothing_is_sent_where_there_is_no_account_to_reset(serve: Serve) -> None:
    sent: list[str] = []

    async def send(email: str, _url: str) -> None:
        sent.append(email)

    async with serve(hooks=Hooks(send_email=send)) as client:
        await sign_up(client)
        await sign_up(client, "gone@example.com")
        await run(database_of(client), "UPDATE accounts SET active = false WHERE email = 'gone@example.com'")
        for email in ("nobody@example.com", "gone@example.com", ADA.upper()):
            await forgot(client, email)
        await until_empty(database_of(client))
    assert sent == [ADA]


async def test_two_servers_send_one_mail_once(serve: Serve) -> None:
    sent: list[str] = []

    async def send(email: str, _url: str) -> None:
        sent.append(email)
        await asyncio.sleep(0)

    hooks = Hooks(send_email=send)
    async with serve(hooks=hooks, limit_forgot_password=50) as one, serve(hooks=hooks, limit_forgot_password=50) as two:
        await sign_up(one)
        for server in (one, two):
            for task in accounts_of(server)._tasks:
                task.cancel()
        for number in range(10):
            await forgot((one, two)[number % 2])

        async def empty(server: httpx.AsyncClient) -> None:
            while await rows(database_of(server), "SELECT 1 FROM outbox"):
                await accounts_of(server).outbox._send_next()

        await asyncio.gather(empty(one), empty(one), empty(two), empty(two))
        assert sent == [ADA] * 10


async def test_a_server_that_dies_while_sending_leaves_the_mail_to_another(serve: Serve, stopped_at: int) -> None:
    begun, sent = asyncio.Event(), asyncio.Event()

    async def never_ends(_email: str, _url: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def sends(_email: str, _url: str) -> None:
        sent.set()

    async with serve(hooks=Hooks(send_email=never_ends)) as client:
        await sign_up(client)
        await forgot(client)
        await asyncio.wait_for(begun.wait(), 60)
    async with serve(hooks=Hooks(send_email=sends)) as client:
        (row,) = await rows(database_of(client), "SELECT due_at FROM outbox")
        assert row[0] == stopped_at + outbox._LEASE * 1_000_000
        await make_due(client)
        await asyncio.wait_for(sent.wait(), 60)
        await until_empty(database_of(client))


async def test_no_token_goes_to_an_address_that_the_account_is_just_leaving(serve: Serve) -> None:
    sent: list[str] = []

    async def send(email: str, _url: str) -> None:
        sent.append(email)

    async with serve(hooks=Hooks(send_email=send)) as client:
        await sign_up(client)
        database = database_of(client)
        for task in accounts_of(client)._tasks:
            task.cancel()
        await forgot(client)
        entry = outbox.Entry(*(await rows(database, "SELECT id, email, reset_url, 1, created_at FROM outbox"))[0])
        async with database.transaction() as tx:
            await users.set_email(tx, 1, "new@example.com", verified=False)
            late = asyncio.create_task(accounts_of(client).outbox._token_for(entry))
            await until_someone_waits(database)
            await reset_tokens.forget_all(tx, 1)
        assert await late is None
        assert not await rows(database, "SELECT 1 FROM reset_tokens")


FORGED = "evil.example"


@pytest.mark.parametrize(
    ("settings", "address", "headers", "link"),
    [
        ({}, "203.0.113.7", {"host": FORGED}, None),
        ({}, "203.0.113.7", {"host": f"localhost:80@{FORGED}"}, None),
        ({}, "203.0.113.7", {"host": f"{FORGED}@localhost"}, None),
        ({}, "203.0.113.7", {"host": f"localhost:80:{FORGED}"}, None),
        ({}, "203.0.113.7", {"host": "localhost:8080", "x-forwarded-host": FORGED}, "http://localhost:8080/reset"),
        ({}, "127.0.0.1", {"x-forwarded-host": "p.example", "x-forwarded-proto": "https"}, "https://p.example/reset"),
        ({"public_url": "https://p.example/"}, "203.0.113.7", {"host": FORGED}, "https://p.example/reset"),
        (
            {"reset_url": "https://shop.example/new?x=1"},
            "203.0.113.7",
            {"host": FORGED},
            "https://shop.example/new?x=1",
        ),
    ],
)
async def test_a_forged_host_reaches_no_mail(
    serve: Serve, settings: dict[str, str], address: str, headers: dict[str, str], link: str | None
) -> None:
    urls: asyncio.Queue[str] = asyncio.Queue()

    async def send(_email: str, url: str) -> None:
        urls.put_nowait(url)

    async with serve(hooks=Hooks(send_email=send), **settings) as client:
        await sign_up(client)
        async with another(client, address) as caller:
            answer = await caller.post("/user/forgotpassword", data={"email": ADA}, headers=headers)
            assert answer.status_code == 200
        if link is None:
            await until_put_off(database_of(client))
            assert urls.empty()
        else:
            url = await asyncio.wait_for(urls.get(), 60)
            assert url.startswith(f"{link}{'&' if '?' in link else '?'}token=")
        assert FORGED not in await everything_stored(database_of(client))


async def test_a_body_with_the_token_alone_needs_no_page(serve: Serve, tmp_path: Path) -> None:
    body: dict[str, Any] = {"forgot_password_body": "Your token is ${TOKEN}"}
    async with mail_server() as server, serve(smtp_server=server.address, **body) as client:
        await sign_up(client)
        await client.post("/user/forgotpassword", data={"email": ADA}, headers={"host": FORGED})
        text = (await server.next()).get_content().strip()
        assert text.startswith("Your token is ")
        assert FORGED not in text


async def test_nobody_gets_around_single_sign_on_through_the_mailbox(serve: Serve) -> None:
    sent: list[str] = []
    hooks = Hooks(
        send_email=lambda email, _: sent.append(email),
        saml_provider_for=lambda email: "https://idp.example.org" if email == ADA else "",
    )
    async with serve(hooks=hooks) as client:
        await sign_up(client)
        await sign_up(another(client), email="bob@example.net")
        await forgot(client)
        await forgot(client, "bob@example.net")
        await until_empty(database_of(client))
        assert sent == ["bob@example.net"]
