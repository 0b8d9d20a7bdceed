"""Creating an account with an email and a password."""

from typing import Any

from penstock.accounts import emails, events, sessions, users
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Visitor


async def create(
    accounts: Accounts, *, email: str, password: str, sign_in: bool, visitor: Visitor, display_name: str = ""
) -> tuple[Any, str | None]:
    """The user-info, and the value of a session cookie when the user is signed in with it."""
    email = emails.required(email)
    accounts.passwords.check_new(password)
    await accounts.limits.hit_create(visitor.address)
    password_hash = await accounts.passwords.hash(password)
    token = None
    async with accounts.database.transaction() as tx:
        userid = await users.add(
            tx, email=email, verified=False, password_hash=password_hash, display_name=display_name
        )
        if sign_in:
            await users.note_sign_in(tx, userid)
            token = await sessions.open_session(tx, userid, visitor, accounts.settings.session_ttl)
        info = await users.info(tx, accounts.hooks, userid, new_account=True)
        await events.emit(tx, accounts.hooks, "create", userid, info)
        await accounts.journal.note(tx, "auth.register", userid, visitor)
    return info, token
