"""The account itself: its row, its linked providers, and the user-info object that clients get."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, literal_column, select, update

from penstock.accounts.hooks import Hooks, result
from penstock.ids import uuid7
from penstock.problems import Conflict
from penstock.storage import Duplicate, Statement, Transaction, now
from penstock.storage.database import Reader
from penstock.storage.schema import accounts, oauth_links


class Account(msgspec.Struct, frozen=True, gc=False):
    userid: int
    id: str
    email: str
    email_verified: bool
    password_hash: str | None
    active: bool


class UserInfo(msgspec.Struct, frozen=True, gc=False, rename={"new_account": "newAccount"}):
    """What a client gets whenever a user signs in. A hook may replace it."""

    userid: int
    email: str
    settings: str
    methods: list[str]
    new_account: bool


_COLUMNS = (
    accounts.c.userid,
    accounts.c.id,
    accounts.c.email,
    accounts.c.email_verified,
    accounts.c.password_hash,
    accounts.c.active,
)
_BY_EMAIL = Statement(select(*_COLUMNS).where(accounts.c.email == bindparam("email")))
_BY_ID = Statement(select(*_COLUMNS).where(accounts.c.userid == bindparam("userid")))
_LOCK = Statement(select(*_COLUMNS).where(accounts.c.userid == bindparam("userid")).with_for_update())
_BY_LINK = Statement(
    select(*_COLUMNS)
    .join(oauth_links, oauth_links.c.userid == accounts.c.userid)
    .where(oauth_links.c.method == bindparam("method"), oauth_links.c.foreign_id == bindparam("foreign_id"))
)
methods_of_account = (
    select(func.aggregate_strings(oauth_links.c.method, literal_column("','")))  # type: ignore[arg-type]
    .where(oauth_links.c.userid == accounts.c.userid)
    .correlate(accounts)
    .scalar_subquery()
)
_INFO = Statement(
    select(accounts.c.userid, accounts.c.email, accounts.c.settings, methods_of_account).where(
        accounts.c.userid == bindparam("userid")
    )
)
_INSERT = Statement(
    insert(accounts)
    .values(
        id=bindparam("id"),
        email=bindparam("email"),
        email_verified=bindparam("email_verified"),
        password_hash=bindparam("password_hash"),
        settings="",
        display_name=bindparam("display_name"),
        avatar_url="",
        active=True,
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
    .returning(accounts.c.userid)
)
_SET_PASSWORD = Statement(
    update(accounts)
    .where(accounts.c.userid == bindparam("id_"))
    .values(password_hash=bindparam("password_hash"), updated_at=bindparam("now"))
)
_REPLACE_HASH = Statement(
    update(accounts)
    .where(accounts.c.userid == bindparam("id_"), accounts.c.password_hash == bindparam("old"))
    .values(password_hash=bindparam("new"))
)
_SET_EMAIL = Statement(
    update(accounts)
    .where(accounts.c.userid == bindparam("id_"))
    .values(email=bindparam("email"), email_verified=bindparam("verified"), updated_at=bindparam("now"))
)
_SET_VERIFIED = Statement(
    update(accounts)
    .where(accounts.c.userid == bindparam("id_"))
    .values(email_verified=True, updated_at=bindparam("now"))
)
_SIGNED_IN = Statement(
    update(accounts).where(accounts.c.userid == bindparam("id_")).values(last_login_at=bindparam("now"))
)
_LINK = Statement(
    insert(oauth_links).values(
        method=bindparam("method"),
        foreign_id=bindparam("foreign_id"),
        userid=bindparam("userid"),
        created_at=bindparam("now"),
    )
)
_UNLINK = Statement(
    delete(oauth_links).where(oauth_links.c.userid == bindparam("userid"), oauth_links.c.method == bindparam("method"))
)
_UNLINK_ALL = Statement(delete(oauth_links).where(oauth_links.c.userid == bindparam("userid")))
_LINKS = Statement(select(oauth_links.c.method).where(oauth_links.c.userid == bindparam("userid")))


async def by_email(reader: Reader, email: str) -> Account | None:
    row = await reader.one(_BY_EMAIL, email=email)
    return Account(*row) if row is not None else None


async def by_id(reader: Reader, userid: int) -> Account | None:
    row = await reader.one(_BY_ID, userid=userid)
    return Account(*row) if row is not None else None


async def locked(tx: Transaction, userid: int) -> Account | None:
    """The account as it is now, and stays until this transaction ends (SQLite has one writer at a time anyway).

    Whoever opens a session or issues a token on what they know of an account asks here first: else a change of
    password or email, just under way, would not see what they open, nor they the change.
    """
    row = await tx.one(_LOCK, userid=userid)
    return Account(*row) if row is not None else None


async def by_link(reader: Reader, method: str, foreign_id: str) -> Account | None:
    row = await reader.one(_BY_LINK, method=method, foreign_id=foreign_id)
    return Account(*row) if row is not None else None


async def add(tx: Transaction, *, email: str, verified: bool, password_hash: str | None, display_name: str = "") -> int:
    try:
        row = await tx.one(
            _INSERT,
            id=uuid7(),
            email=email,
            email_verified=verified,
            password_hash=password_hash,
            display_name=display_name,
            now=now(),
        )
    except Duplicate as error:
        raise Conflict("duplicate user") from error
    assert row is not None  # noqa: S101
    return int(row[0])


async def set_password(tx: Transaction, userid: int, password_hash: str | None) -> None:
    await tx.run(_SET_PASSWORD, id_=userid, password_hash=password_hash, now=now())


async def replace_hash(tx: Transaction, userid: int, old: str, new: str) -> bool:
    """The same password under new parameters, unless it was changed meanwhile."""
    return await tx.run(_REPLACE_HASH, id_=userid, old=old, new=new) > 0


async def set_email(tx: Transaction, userid: int, email: str, *, verified: bool) -> None:
    try:
        await tx.run(_SET_EMAIL, id_=userid, email=email, verified=verified, now=now())
    except Duplicate as error:
        raise Conflict("another account has that email") from error


async def set_verified(tx: Transaction, userid: int) -> None:
    await tx.run(_SET_VERIFIED, id_=userid, now=now())


async def note_sign_in(tx: Transaction, userid: int) -> None:
    await tx.run(_SIGNED_IN, id_=userid, now=now())


async def link(tx: Transaction, userid: int, method: str, foreign_id: str) -> None:
    await tx.run(_LINK, method=method, foreign_id=foreign_id, userid=userid, now=now())


async def unlink(tx: Transaction, userid: int, method: str) -> bool:
    return await tx.run(_UNLINK, userid=userid, method=method) > 0


async def unlink_all(tx: Transaction, userid: int) -> None:
    await tx.run(_UNLINK_ALL, userid=userid)


async def linked_methods(reader: Reader, userid: int) -> list[str]:
    return sorted(row[0] for row in await reader.all(_LINKS, userid=userid))


def info_from(userid: int, email: str, settings: str, methods: str | None, *, new_account: bool = False) -> UserInfo:
    return UserInfo(userid, email, settings, sorted(methods.split(",")) if methods else [], new_account)


async def info(tx: Transaction, hooks: Hooks, userid: int, *, new_account: bool = False) -> Any:
    """User-info, or what the deployment's hook makes in its place."""
    if hooks.user_info is not None:
        return await result(hooks.user_info(tx, userid, new_account))
    row = await tx.one(_INFO, userid=userid)
    assert row is not None  # noqa: S101
    return info_from(*row, new_account=new_account)
