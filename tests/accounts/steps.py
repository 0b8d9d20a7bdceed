"""Steps that many tests of accounts take: sign up, sign in, and look at what the server keeps."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
from sqlalchemy import text

from penstock.accounts.service import Accounts
from penstock.storage import Database, Row, Statement
from penstock.storage.schema import metadata
from penstock.storage.sqlite import SqliteDatabase
from tests.conftest import client_of

PASSWORD = "correct horse"
ADA = "ada@example.com"


def accounts_of(client: httpx.AsyncClient) -> Accounts:
    accounts: Accounts = client.app.app.state.accounts  # type: ignore[attr-defined]
    return accounts


def database_of(client: httpx.AsyncClient) -> Database:
    return accounts_of(client).database


def another(client: httpx.AsyncClient, address: str = "203.0.113.7", **more: str) -> httpx.AsyncClient:
    """Another browser, with no cookies, at the same server."""
    fresh = client_of(client.app, address=address, **more)  # type: ignore[attr-defined]
    fresh.app = client.app  # type: ignore[attr-defined]
    return fresh


async def sign_up(client: httpx.AsyncClient, email: str = ADA, password: str = PASSWORD) -> httpx.Response:
    answer = await client.post("/user/create", data={"email": email, "password": password, "signin": "1"})
    assert answer.status_code == 200, answer.text
    return answer


async def sign_in(client: httpx.AsyncClient, email: str = ADA, password: str = PASSWORD) -> httpx.Response:
    return await client.post("/user/auth", data={"email": email, "password": password})


async def who(client: httpx.AsyncClient) -> str | None:
    """The email of who is signed in."""
    answer = await client.get("/user/get")
    return answer.json()["email"] if answer.status_code == 200 else None


def cookie_of(answer: httpx.Response) -> str:
    """The whole Set-Cookie line of the session, or nothing."""
    return next((line for line in answer.headers.get_list("set-cookie") if line.startswith("session=")), "")


def value_of(answer: httpx.Response) -> str:
    return cookie_of(answer).partition(";")[0].removeprefix("session=")


async def rows(database: Database, sql: str) -> Sequence[Row]:
    return await database.all(Statement(text(sql)))


async def run(database: Database, sql: str) -> None:
    async with database.transaction() as tx:
        await tx.run_text(sql)


async def everything_stored(database: Database) -> str:
    """Every value of every table, to look for what must not be there."""
    found: list[Any] = []
    for table in metadata.sorted_tables:
        found += [value for row in await rows(database, f"SELECT * FROM {table.name}") for value in row]
    return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in found)


async def until_someone_waits(database: Database) -> None:
    """Until another transaction waits for the one that the caller holds open."""
    async with asyncio.timeout(60):
        while not await _someone_waits(database):
            await asyncio.sleep(0)


async def _someone_waits(database: Database) -> bool:
    if isinstance(database, SqliteDatabase):
        return bool(database._turn._waiters)
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return bool(await rows(database, waiting))
