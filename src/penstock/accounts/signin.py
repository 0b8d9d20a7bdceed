"""Signing in: with a password, or as someone whom a provider has identified."""

from typing import Any

import msgspec

from penstock.accounts import emails, events, saml_registry, sessions, users
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Visitor
from penstock.accounts.users import Account
from penstock.http import metrics
from penstock.problems import Denied, NotSignedIn, SsoRequired
from penstock.storage import Transaction

WRONG = "wrong email or password"


async def with_password(accounts: Accounts, *, email: str, password: str, visitor: Visitor) -> tuple[Any, str]:
    """User-info and the session cookie's value."""
    try:
        account = await check_password(accounts, email=email, password=password, address=visitor.address)
    except NotSignedIn:
        await _note_failure(accounts, email, visitor)
        raise
    async with accounts.database.transaction() as tx:
        # Changed or reset while we compared: that ended every session, and no new one may come of the old password.
        current = await users.locked(tx, account.userid)
        if current is None or not current.active or current.password_hash != account.password_hash:
            raise NotSignedIn(WRONG)
        return await open_for(accounts, tx, account.userid, visitor)


async def _note_failure(accounts: Accounts, email: str, visitor: Visitor) -> None:
    """The same work for an account that exists and for one that does not."""
    account = await users.by_email(accounts.database, emails.canonical(email) or "")
    async with accounts.database.transaction() as tx:
        userid = account.userid if account is not None else None
        await accounts.journal.note(tx, "auth.login_failed", userid, visitor, {"email": email[:254]})


async def check_password(accounts: Accounts, *, email: str, password: str, address: str) -> Account:
    """The account whose password this is.

    A wrong email and a wrong password are told apart by nobody: the same words, after the same work.
    """
    known = emails.canonical(email)
    if known is not None and await saml_registry.provider_for(accounts.database, accounts.hooks, known) is not None:
        raise SsoRequired("sso required", headers={"Proxy-Authenticate": "SAML"})
    key = known or email.strip().lower()[:254]
    async with accounts.passwords.slot():
        # Asked inside the slot, where guesses come one after the other: a thousand sent at once, all asking before
        # the first has failed, would all be let through.
        await accounts.limits.require_login(key, address)
        account = await users.by_email(accounts.database, known) if known is not None else None
        usable = account is not None and account.active
        right = await accounts.passwords.compare(password, account.password_hash if usable and account else None)
        if not right or account is None:
            await accounts.limits.failed_login(key, address)
            metrics.sign_ins.labels("password", "refused").inc()
            raise NotSignedIn(WRONG)
    await accounts.limits.succeeded_login(key)
    metrics.sign_ins.labels("password", "accepted").inc()
    if account.password_hash is not None and accounts.passwords.outdated(account.password_hash):
        fresh = await accounts.passwords.hash(password)
        async with accounts.database.transaction() as tx:
            if await users.replace_hash(tx, account.userid, account.password_hash, fresh):
                account = msgspec.structs.replace(account, password_hash=fresh)
    return account


async def open_for(
    accounts: Accounts, tx: Transaction, userid: int, visitor: Visitor, *, new_account: bool = False
) -> tuple[Any, str]:
    """Open a session for someone who has shown who they are, and say so to the deployment."""
    account = await users.locked(tx, userid)
    if account is None or not account.active:
        raise Denied("this account is deactivated")
    await users.note_sign_in(tx, userid)
    token = await sessions.open_session(tx, userid, visitor, accounts.settings.session_ttl)
    info = await users.info(tx, accounts.hooks, userid, new_account=new_account)
    if new_account:
        await events.emit(tx, accounts.hooks, "create", userid, info)
        await accounts.journal.note(tx, "auth.register", userid, visitor)
    await events.emit(tx, accounts.hooks, "auth", userid, info)
    await accounts.journal.note(tx, "auth.login", userid, visitor)
    return info, token
