"""`penstock users`: who has an account, and who may use it."""

import asyncio
import json
from typing import Annotated

import msgspec
from cyclopts import Parameter
from sqlalchemy import bindparam, select, update

from penstock.accounts import emails, sessions
from penstock.accounts.sessions import Visitor
from penstock.cli.errors import CommandError
from penstock.cli.options import ConfigFile, DatabaseAddress, opened, settings_of
from penstock.http.times import rfc3339
from penstock.platform import audit
from penstock.platform.companies.queries import ROOTS
from penstock.settings import Settings
from penstock.storage import Statement, Transaction, now
from penstock.storage.schema import accounts

_LIST = Statement(
    select(accounts.c.userid, accounts.c.id, accounts.c.email, accounts.c.active, accounts.c.last_login_at)
    .where(accounts.c.userid > bindparam("after"))
    .order_by(accounts.c.userid)
    .limit(500)
)
_SET_ACTIVE = Statement(
    update(accounts)
    .where(accounts.c.email == bindparam("email_"))
    .values(active=bindparam("active"), updated_at=bindparam("now"))
    .returning(accounts.c.userid, accounts.c.id)
)


class Listed(msgspec.Struct, frozen=True):
    userid: int
    id: str
    email: str
    active: bool
    last_login_at: str | None


def list_(
    *,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs, one object a line.")] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    asyncio.run(_list(settings_of(config, database), as_json=as_json))


async def _list(settings: Settings, *, as_json: bool) -> None:
    after, any_at_all = 0, False
    async with opened(settings) as database:
        while rows := await database.all(_LIST, after=after):
            for userid, id_, email, active, login in rows:
                user = Listed(userid, id_, email, bool(active), rfc3339(login) if login is not None else None)
                print(json.dumps(msgspec.structs.asdict(user)) if as_json else _line(user))
                after, any_at_all = userid, True
    if not any_at_all and not as_json:
        print("There are no accounts yet.")


def _line(user: Listed) -> str:
    state = "" if user.active else "  (deactivated)"
    return f"{user.userid:>6}  {user.email}  last sign-in {user.last_login_at or 'never'}{state}"


_Email = Annotated[str, Parameter(help="The account's email.")]


def deactivate(email: _Email, /, *, database: DatabaseAddress = None, config: ConfigFile = None) -> None:
    asyncio.run(_set_active(settings_of(config, database), email, active=False))
    print(f"{email} is deactivated: every session has ended, and nobody can sign in.")


def activate(email: _Email, /, *, database: DatabaseAddress = None, config: ConfigFile = None) -> None:
    asyncio.run(_set_active(settings_of(config, database), email, active=True))
    print(f"{email} can sign in again.")


async def _set_active(settings: Settings, email: str, *, active: bool) -> None:
    async with opened(settings) as database, database.transaction() as tx:
        row = await tx.one(_SET_ACTIVE, email_=emails.canonical(email) or "", active=active, now=now())
        if row is None:
            raise CommandError(f"there is no account with the email {email}")
        userid, id_ = row
        if not active:
            await sessions.end_all(tx, userid)
        await _note(tx, "user.activate" if active else "user.deactivate", id_)


async def _note(tx: Transaction, action: str, user_id: str) -> None:
    """Every company that they are in sees it; nobody who has an account did it."""
    operator = Visitor("", "penstock users", "", secure=False)
    for company_id in sorted(row[0] for row in await tx.all(ROOTS, user_id=user_id)) or [None]:
        await audit.record(tx, operator, action, user_id=None, company_id=company_id, resource_id=user_id)
