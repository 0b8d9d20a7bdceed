"""A look behind the routes of a running application: its accounts as they are stored."""

from typing import Any

import httpx
from sqlalchemy import bindparam, select, update

from penstock.accounts import users
from penstock.accounts.service import Accounts
from penstock.storage import Statement
from penstock.storage.schema import accounts as account_table
from penstock.storage.schema import metadata

_ACTIVE = Statement(
    update(account_table).where(account_table.c.email == bindparam("email_")).values(active=bindparam("active"))
)
_TABLES = {table.name: Statement(select(table)) for table in metadata.sorted_tables}


def accounts_of(client: httpx.AsyncClient) -> Accounts:
    found: Accounts = client.app.app.state.accounts  # type: ignore[attr-defined]
    return found


async def stored(client: httpx.AsyncClient, email: str) -> users.Account:
    account = await users.by_email(accounts_of(client).database, email)
    assert account is not None, f"there is no account {email}"
    return account


async def verify_email(client: httpx.AsyncClient, email: str) -> None:
    """As a reset mail does whose link was followed."""
    async with accounts_of(client).database.transaction() as tx:
        await users.set_verified(tx, (await stored(client, email)).userid)


async def deactivate(client: httpx.AsyncClient, email: str) -> None:
    async with accounts_of(client).database.transaction() as tx:
        assert await tx.run(_ACTIVE, email_=email, active=False) == 1


async def rows(client: httpx.AsyncClient, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await accounts_of(client).database.all(_TABLES[table])]


async def everything(client: httpx.AsyncClient) -> dict[str, list[tuple[Any, ...]]]:
    """All that is stored, to see that something changed nothing."""
    return {name: sorted(await rows(client, name), key=repr) for name in _TABLES}
