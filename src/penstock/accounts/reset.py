"""Forgotten passwords: a mail is asked for, a token is spent.

Asking writes the same row for an email with an account and for one without, so nothing can be learnt from the
answer or from its time. Whether there is an account is found out when the mail leaves (see `outbox`).
"""

from typing import Any

from penstock.accounts import emails, events, linking, reset_tokens, sessions, users
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Visitor
from penstock.problems import NotSignedIn


async def ask(accounts: Accounts, *, email: str, base_url: str | None, address: str) -> None:
    email = emails.required(email)
    await accounts.limits.hit_forgot_password(email, address)
    async with accounts.database.transaction() as tx:
        page = f"{base_url}/reset" if base_url is not None else ""
        await accounts.outbox.put(tx, email, accounts.settings.reset_url or page)


async def spend(accounts: Accounts, *, token: str, password: str, visitor: Visitor) -> tuple[Any, str]:
    """Replace the password; user-info and the cookie of the one session that is left."""
    refused = NotSignedIn("the reset link is unknown, used or expired; ask for a new one")
    # Looked at before anything is hashed: guessing tokens must not cost us more than it costs the guesser.
    userid = await reset_tokens.owner(accounts.database, token)
    if userid is None:
        raise refused
    accounts.passwords.check_new(password)
    password_hash = await accounts.passwords.hash(password)
    async with accounts.database.transaction() as tx:
        # The account before its tokens: two of its tokens, spent at once, would each wait for the other's end.
        account = await users.locked(tx, userid)
        if account is None or not account.active or not await reset_tokens.spend(tx, token):
            raise refused
        # Whoever has the token reads that mailbox; who never showed that they do is out, with all that they linked.
        await linking.claim(accounts, tx, account, visitor)
        await reset_tokens.forget_all(tx, account.userid)
        await users.set_password(tx, account.userid, password_hash)
        await sessions.end_all(tx, account.userid)
        cookie = await sessions.open_session(tx, account.userid, visitor, accounts.settings.session_ttl)
        await users.note_sign_in(tx, account.userid)
        info = await users.info(tx, accounts.hooks, account.userid)
        await events.emit(tx, accounts.hooks, "resetpassword", account.userid, info)
        await accounts.journal.note(tx, "auth.resetpassword", account.userid, visitor)
    await accounts.limits.succeeded_login(account.email)
    return info, cookie
