"""What a deployment may put in our place, and what happens when it fails."""

import asyncio
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx
import pytest
import structlog
from sqlalchemy import text

from penstock.accounts import reset_tokens
from penstock.accounts.hooks import Hooks, from_settings
from penstock.app import create_app
from penstock.problems import Denied
from penstock.settings import Settings, SettingsError, load
from penstock.storage import Statement, Transaction
from tests.accounts.steps import ADA, PASSWORD, another, cookie_of, database_of, rows, run, sign_in, sign_up
from tests.conftest import Serve, client_of, started

pytestmark = pytest.mark.anyio
NEW = "a new horse"
_EMAIL = Statement(text("SELECT email FROM accounts"))


async def reset_as_mailed(client: httpx.AsyncClient) -> httpx.Response:
    (row,) = await rows(database_of(client), "SELECT userid FROM accounts")
    async with database_of(client).transaction() as tx:
        token = await reset_tokens.issue(tx, row[0], 3600)
    return await client.post("/user/resetpassword", data={"token": token, "password": NEW})


async def test_user_info_is_replaced_in_every_answer(serve: Serve) -> None:
    async def info(tx: Transaction, userid: int, new_account: bool) -> dict[str, Any]:
        row = await tx.one(_EMAIL)
        assert row is not None
        return {"id": userid, "new": new_account, "profile": {"mail": row[0]}}

    async with serve(hooks=Hooks(user_info=info)) as client:
        old = {"id": 1, "new": False, "profile": {"mail": ADA}}
        assert (await sign_up(client)).json() == old | {"new": True}
        assert (await client.get("/user/get")).json() == old
        assert (await sign_in(client)).json() == old
        assert (await reset_as_mailed(client)).json() == old
        changed = await client.post("/user/update", data={"email": "new@example.com"})
        assert changed.json() == old | {"profile": {"mail": "new@example.com"}}


async def test_a_hook_for_user_info_need_not_be_async(serve: Serve) -> None:
    async with serve(hooks=Hooks(user_info=lambda _, userid, new: [userid, new])) as client:
        assert (await sign_up(client)).json() == [1, True]


async def test_events_come_in_order_and_write_in_the_same_transaction(serve: Serve) -> None:
    seen: list[tuple[str, int, str, bool]] = []

    async def on_event(tx: Transaction, action: str, userid: int, info: Any) -> None:
        seen.append((action, userid, info.email, info.new_account))
        await tx.run_text(f"INSERT INTO visits VALUES ({userid}, '{action}')")

    async with serve(hooks=Hooks(on_auth_event=on_event)) as client:
        await run(database_of(client), "CREATE TABLE visits (userid INTEGER, action TEXT)")
        await sign_up(client)
        await sign_in(client)
        await sign_in(client, password="wrong horse")
        await reset_as_mailed(client)
        await client.post("/user/update", data={"email": "new@example.com"})
        await client.get("/user/signout")
        actions = [row[0] for row in await rows(database_of(client), "SELECT action FROM visits")]
    assert actions == ["create", "auth", "resetpassword"]
    assert seen == [("create", 1, ADA, True), ("auth", 1, ADA, False), ("resetpassword", 1, ADA, False)]


async def test_when_an_event_hook_raises_nothing_happened(serve: Serve) -> None:
    failure: list[Exception] = []

    async def on_event(tx: Transaction, _action: str, _userid: int, _info: Any) -> None:
        await tx.run_text("INSERT INTO visits VALUES (1)")
        if failure:
            raise failure[0]

    async with serve(hooks=Hooks(on_auth_event=on_event)) as client:
        database = database_of(client)
        await run(database, "CREATE TABLE visits (userid INTEGER)")
        for error, status in ((RuntimeError("the shop's secret"), 500), (Denied("not in this shop"), 403)):
            failure[:] = [error]
            with structlog.testing.capture_logs() as lines:
                answer = await client.post("/user/create", data={"email": ADA, "password": PASSWORD, "signin": "1"})
            assert (answer.status_code, cookie_of(answer)) == (status, "")
            assert answer.headers["status"] == answer.json()["detail"]
            if status == 403:
                assert answer.json()["detail"] == "not in this shop"
            else:
                assert "secret" not in answer.text
                assert any(line.get("exc_info") is error for line in lines)
            for table in ("accounts", "sessions", "visits"):
                assert not await rows(database, f"SELECT 1 FROM {table}")
        failure.clear()
        await sign_up(client)
        failure[:] = [RuntimeError("no")]
        async with another(client) as browser:
            for answer in (await sign_in(browser), await reset_as_mailed(browser)):
                assert (answer.status_code, cookie_of(answer)) == (500, "")
        assert len(await rows(database, "SELECT 1 FROM sessions")) == 1
        assert len(await rows(database, "SELECT 1 FROM visits")) == 1
        assert len(await rows(database, "SELECT 1 FROM reset_tokens")) == 1
        assert await rows(database, "SELECT last_login_at FROM accounts WHERE password_hash LIKE '$argon2id$%'")
        failure.clear()
        assert (await sign_in(client)).status_code == 200


async def async_hash(password: str) -> str:
    await asyncio.sleep(0)
    return f"async {password}"


async def async_compare(password: str, stored: str) -> bool:
    return stored == f"async {password}"


@pytest.mark.parametrize(
    "hooks",
    [
        Hooks(hash_password=lambda password: f"sync {password}"),
        Hooks(hash_password=async_hash),
        Hooks(hash_password=async_hash, compare_password=async_compare),
        Hooks(
            hash_password=lambda password: f"sync {password}",
            compare_password=lambda password, stored: stored == f"sync {password}",
        ),
    ],
    ids=["sync hash", "async hash", "async both", "sync both"],
)
async def test_hashing_and_comparing_can_be_replaced(serve: Serve, hooks: Hooks) -> None:
    async with serve(hooks=hooks) as client:
        await sign_up(client)
        (row,) = await rows(database_of(client), "SELECT password_hash FROM accounts")
        assert row[0] in {f"sync {PASSWORD}", f"async {PASSWORD}"}
        assert (await sign_in(client)).status_code == 200
        assert (await sign_in(client, password="wrong horse")).status_code == 401
        assert (await sign_in(client, "nobody@example.com")).status_code == 401
        assert (await rows(database_of(client), "SELECT password_hash FROM accounts"))[0][0] == row[0]


async def test_a_comparison_that_raises_tells_nothing_and_counts_as_wrong(serve: Serve) -> None:
    def compare(_password: str, stored: str) -> bool:
        if stored.startswith("$argon2"):
            raise ValueError(f"cannot read {stored}")
        return False

    with structlog.testing.capture_logs() as lines:
        async with serve(hooks=Hooks(compare_password=compare), limit_failed_logins=2) as client:
            await sign_up(client)
            await sign_up(client, "old@example.com")
            await run(database_of(client), "UPDATE accounts SET password_hash = 'old' WHERE userid = 2")
            for number, email in enumerate((ADA, "old@example.com", "nobody@example.com")):
                async with another(client, f"192.0.2.{number}") as browser:
                    assert (await sign_in(browser, email)).status_code == 401
                    assert (await sign_in(browser, email)).status_code == 401
                    assert (await sign_in(browser, email)).status_code == 429
    assert any(line["log_level"] == "error" and "comparing a password failed" in line["event"] for line in lines)


async def test_saml_provider_for_decides_by_email(serve: Serve) -> None:
    def provider_for(email: str) -> str:
        return "https://idp.example/metadata" if email.endswith("@corp.example") else ""

    async with serve(hooks=Hooks(saml_provider_for=provider_for)) as client:
        await sign_up(client)
        assert (await sign_in(client)).status_code == 200
        answer = await sign_in(client, "Bob@Corp.example")
        assert (answer.status_code, answer.json()["detail"]) == (407, "sso required")
        assert answer.headers["proxy-authenticate"] == "SAML"
        assert answer.headers["status"] == "sso required"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A deployment's own module."""
    module = ModuleType("shop_accounts")
    monkeypatch.setitem(sys.modules, "shop_accounts", module)
    return module


async def test_hooks_come_by_import_path_too(settings_with: Callable[..., Settings], shop: ModuleType) -> None:
    shop.info = lambda _tx, userid, _new: {"shop": userid}  # type: ignore[attr-defined]
    app = create_app(settings_with(hooks={"user_info": "shop_accounts:info"}))
    async with started(app), client_of(app) as client:
        assert (await sign_up(client)).json() == {"shop": 1}


def test_a_path_that_leads_nowhere_stops_the_start() -> None:
    settings = load(environ={}, overrides={"hooks": {"on_auth_event": "no_such_module:hook"}}).settings
    with pytest.raises(SettingsError, match=r"hooks\.on_auth_event"):
        create_app(settings)


def test_hooks_given_in_code_win(shop: ModuleType) -> None:
    shop.info = lambda *_: "path"  # type: ignore[attr-defined]
    loaded = from_settings({"user_info": "shop_accounts:info"}, Hooks(user_info=lambda *_: "code"))
    assert loaded.user_info is not None
    assert loaded.user_info(None, 1, False) == "code"  # type: ignore[arg-type]
    assert loaded.on_auth_event is None


@pytest.mark.parametrize(
    "path", ["shop_accounts", "no_such_module:hook", "shop_accounts:missing", "shop_accounts:number", ":hook", ""]
)
def test_a_path_that_leads_nowhere_names_its_setting(shop: ModuleType, path: str) -> None:
    shop.number = 5  # type: ignore[attr-defined]
    with pytest.raises(SettingsError, match=r"hooks\.on_auth_event"):
        from_settings({"on_auth_event": path})
