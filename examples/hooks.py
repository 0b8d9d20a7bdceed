"""A shop that keeps a customer record for every account, and answers with it.

`on_auth_event` writes in the same transaction that creates the account: there is never an account without its
customer, nor the reverse. What it raises undoes the operation; a `Problem` also says what the client is told.
`user_info` puts the customer into every answer that user-info would be in.

By import path, in penstock.toml:

    [hooks]
    on_auth_event = "examples.hooks:on_auth_event"
    user_info = "examples.hooks:user_info"
"""

from typing import Any

from sqlalchemy import bindparam, text

from penstock.accounts.hooks import Hooks
from penstock.problems import Denied
from penstock.storage import Database, Statement, Transaction

_TABLE = "CREATE TABLE IF NOT EXISTS customers (userid BIGINT PRIMARY KEY, tier TEXT NOT NULL, visits INTEGER NOT NULL)"
_WELCOME = Statement(
    text("INSERT INTO customers VALUES (:userid, 'new', 0)").bindparams(bindparam("userid", required=True))
)
_VISIT = Statement(
    text("UPDATE customers SET visits = visits + 1 WHERE userid = :userid").bindparams(
        bindparam("userid", required=True)
    )
)
_CUSTOMER = Statement(
    text(
        "SELECT email, tier, visits FROM accounts LEFT JOIN customers USING (userid) WHERE userid = :userid"
    ).bindparams(bindparam("userid", required=True))
)


async def create_table(database: Database) -> None:
    """The shop's own table, beside Penstock's."""
    async with database.transaction() as tx:
        await tx.run_text(_TABLE)


async def on_auth_event(tx: Transaction, action: str, userid: int, info: Any) -> None:
    if action == "create":
        if info["email"].endswith("@rival.example"):
            raise Denied("we do not sell to rivals")
        await tx.run(_WELCOME, userid=userid)
    elif action == "auth":
        await tx.run(_VISIT, userid=userid)


async def user_info(tx: Transaction, userid: int, new_account: bool) -> dict[str, Any]:
    row = await tx.one(_CUSTOMER, userid=userid)
    email, tier, visits = row if row is not None else ("", None, None)
    # At the event `create`, the customer is only about to be written.
    return {
        "userid": userid,
        "email": email,
        "methods": [],
        "newAccount": new_account,
        "tier": tier or "new",
        "visits": visits or 0,
    }


hooks = Hooks(on_auth_event=on_auth_event, user_info=user_info)
