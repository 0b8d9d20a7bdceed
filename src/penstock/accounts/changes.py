"""What a signed-in user changes about the account: email, password, linked providers."""

from typing import Any

from penstock.accounts import emails, reset_tokens, saml_registry, sessions, users
from penstock.accounts.oauth import Identity
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Session, Visitor
from penstock.problems import Conflict, FieldError, Invalid, NotFound, NotSignedIn
from penstock.storage import Duplicate, Transaction


async def update(
    accounts: Accounts,
    session: Session,
    *,
    email: str | None,
    password: str | None,
    current_password: str | None,
    visitor: Visitor,
) -> tuple[Any, str | None]:
    """Change email, password or both; user-info and, with a new password, the new value of the session cookie."""
    userid = session.user.userid
    if email is None and password is None:
        message = "send a new email, a new password or both"
        raise Invalid(message, errors=[FieldError("", message)])
    if email is not None:
        email = emails.required(email)
    if password is not None:
        accounts.passwords.check_new(password)
    await _check_current(accounts, session, current_password, visitor.address)
    password_hash = await accounts.passwords.hash(password) if password is not None else None
    token, changed = None, {}
    async with accounts.database.transaction() as tx:
        await _still_signed_in(tx, session)
        if email is not None and email != session.user.email:
            changed["email"] = {"before": session.user.email, "after": email}
            await users.set_email(tx, userid, email, verified=False)
            # A mail on its way to the old address must not open the account any more.
            await reset_tokens.forget_all(tx, userid)
        if password_hash is not None:
            await users.set_password(tx, userid, password_hash)
            await reset_tokens.forget_all(tx, userid)
            await sessions.end_all(tx, userid)
            token = await sessions.open_session(tx, userid, visitor, accounts.settings.session_ttl)
            changed["password"] = {"before": "", "after": ""}
        if changed:
            await accounts.journal.note(tx, "user.update", userid, visitor, changed)
        info = await users.info(tx, accounts.hooks, userid)
    return info, token


async def _still_signed_in(tx: Transaction, session: Session) -> None:
    """A session can end while its request waits: a thief's change must not come after the owner's reset."""
    await users.locked(tx, session.user.userid)
    if not await sessions.is_open(tx, session):
        raise NotSignedIn("not signed in")


async def _check_current(accounts: Accounts, session: Session, given: str | None, address: str) -> None:
    account = await users.by_id(accounts.database, session.user.userid)
    if account is None:
        raise NotSignedIn("not signed in")
    if given is None:
        # An account that only ever signed in through a provider has no password to give.
        if accounts.settings.update_requires_password and account.password_hash is not None:
            raise Invalid(
                "current_password is required", errors=[FieldError("/current_password", "expected your password")]
            )
        return
    async with accounts.passwords.slot():
        await accounts.limits.require_login(account.email, address)
        if not await accounts.passwords.compare(given, account.password_hash):
            await accounts.limits.failed_login(account.email, address)
            raise NotSignedIn("the current password is wrong")


async def add_provider(
    accounts: Accounts, session: Session, identity: Identity, visitor: Visitor, *, update_email: bool
) -> Any:
    """Link an identity that its provider has vouched for to the signed-in account."""
    userid = session.user.userid
    async with accounts.database.transaction() as tx:
        await _still_signed_in(tx, session)
        owner = await users.by_link(tx, identity.provider, identity.subject)
        if owner is not None and owner.userid != userid:
            raise Conflict("that identity is linked to another account")
        if owner is None:
            try:
                await users.link(tx, userid, identity.provider, identity.subject)
            except Duplicate as error:
                raise Conflict(f"another {identity.provider} identity is linked; remove it first") from error
            await accounts.journal.note(tx, "user.link", userid, visitor, {"method": identity.provider})
        if identity.email == session.user.email:
            if identity.email_verified:
                await users.set_verified(tx, userid)
        elif update_email:
            await _take_email(accounts, tx, session, identity, visitor)
        return await users.info(tx, accounts.hooks, userid)


async def _take_email(
    accounts: Accounts, tx: Transaction, session: Session, identity: Identity, visitor: Visitor
) -> None:
    userid, before = session.user.userid, session.user.email
    if not identity.email:
        raise Invalid("the provider gave no email")
    await users.set_email(tx, userid, identity.email, verified=identity.email_verified)
    await reset_tokens.forget_all(tx, userid)
    changed = {"email": {"before": before, "after": identity.email}}
    await accounts.journal.note(tx, "user.update", userid, visitor, changed)


async def remove_provider(accounts: Accounts, session: Session, method: str, visitor: Visitor) -> Any:
    userid = session.user.userid
    served = await saml_registry.provider_for(accounts.database, accounts.hooks, session.user.email)
    async with accounts.database.transaction() as tx:
        await _still_signed_in(tx, session)
        if not await users.unlink(tx, userid, method):
            raise NotFound("that provider is not linked")
        account = await users.by_id(tx, userid)
        has_password = account is not None and account.password_hash is not None
        elsewhere = account is not None and any([await doors.opens(tx, account.id) for doors in accounts.doors])
        if not has_password and served is None and not elsewhere and not await users.linked_methods(tx, userid):
            raise Conflict("that is the only way to sign in to this account; set a password first")
        await accounts.journal.note(tx, "user.unlink", userid, visitor, {"method": method})
        return await users.info(tx, accounts.hooks, userid)
