"""Which account an outside identity opens. Getting this wrong gives accounts away, so it is all in one place."""

import hashlib
import re

from penstock.accounts import reset_tokens, sessions, users
from penstock.accounts.oauth import Identity
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Visitor
from penstock.problems import Conflict
from penstock.storage import Duplicate, Transaction


class Raced(Conflict):
    """Another request made or changed the account in the same instant. Looking once more finds what it left."""

    def __init__(self) -> None:
        super().__init__("the account was changed at the same moment; try again")


async def account_for(accounts: Accounts, tx: Transaction, identity: Identity, visitor: Visitor) -> tuple[int, bool]:
    """The userid that this identity signs in to, and whether the account is new.

    A known identity opens its account. An unknown one joins the account with its email only on the provider's word
    that the email is verified; an account whose own email was never verified may have been made by someone waiting
    for the real owner, so that person is put out as it is joined.
    """
    email = identity.email or _placeholder(identity)
    # The email first: an account is made together with its link, so who sees it here sees the link below.
    account = await users.by_email(tx, email)
    linked = await users.by_link(tx, identity.provider, identity.subject)
    if linked is not None:
        held = await _hold(tx, linked)
        if await users.by_link(tx, identity.provider, identity.subject) != held:
            raise Raced  # the account was claimed, and this identity is one of those that were put out
        return linked.userid, False
    if account is None:
        userid = await _add(tx, email, verified=identity.email_verified, name=identity.name)
        try:
            await users.link(tx, userid, identity.provider, identity.subject)
        except Duplicate as error:
            raise Raced from error
        return userid, True
    if not identity.email_verified:
        raise Conflict("an account with this email exists: sign in first, then link")
    account = await _hold(tx, account)
    if await users.by_link(tx, identity.provider, identity.subject) == account:
        return account.userid, False  # another sign-in of the same person was faster
    await claim(accounts, tx, account, visitor)
    try:
        await users.link(tx, account.userid, identity.provider, identity.subject)
    except Duplicate as error:
        raise Conflict(f"the account with this email is linked to another {identity.provider} identity") from error
    await accounts.journal.note(tx, "user.link", account.userid, visitor, {"method": identity.provider})
    return account.userid, False


async def account_for_verified_email(
    accounts: Accounts, tx: Transaction, email: str, visitor: Visitor
) -> tuple[int, bool]:
    """As above, for a company's SAML provider, which speaks for every email of its domains and for no other."""
    account = await users.by_email(tx, email)
    if account is None:
        return await _add(tx, email, verified=True), True
    await claim(accounts, tx, await _hold(tx, account), visitor)
    return account.userid, False


async def _add(tx: Transaction, email: str, *, verified: bool, name: str = "") -> int:
    try:
        return await users.add(tx, email=email, verified=verified, password_hash=None, display_name=name)
    except Conflict as error:
        raise Raced from error


async def _hold(tx: Transaction, account: users.Account) -> users.Account:
    """The account as it is now, and stays until we are done.

    Without this, who is being put out of an account could come in, or rename it, between our look and our commit.
    """
    current = await users.locked(tx, account.userid)
    if current is None or current.email != account.email:
        raise Raced
    return current


async def claim(accounts: Accounts, tx: Transaction, account: users.Account, visitor: Visitor) -> None:
    """Put out whoever made an account with an email that they never showed to be theirs, by every way in they left."""
    if account.email_verified:
        return
    await users.set_password(tx, account.userid, None)
    await users.unlink_all(tx, account.userid)
    for doors in accounts.doors:
        await doors.shut(tx, account.id)
    await sessions.end_all(tx, account.userid)
    await reset_tokens.forget_all(tx, account.userid)
    await users.set_verified(tx, account.userid)
    await accounts.journal.note(tx, "user.claim", account.userid, visitor)


def _placeholder(identity: Identity) -> str:
    """`<id>@<provider>.invalid`, for an account whose provider gave no email.

    Emails are compared in lower case, ids are not: one that would change, or look odd, is hashed.
    """
    subject = identity.subject
    if not re.fullmatch(r"[a-z0-9._|-]{1,64}", subject):
        subject = hashlib.sha256(subject.encode()).hexdigest()[:32]
    return f"{subject}@{identity.provider}.invalid"
