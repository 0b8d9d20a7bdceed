"""Which account somebody from a company's provider opens. Getting this wrong gives accounts away, so it is all here.

A provider opens only accounts that it made, or that their holder linked while signed in. It makes accounts only for
emails of the domains that the operator granted to its company; it never joins an account by email.
"""

import msgspec

from penstock.accounts import emails, signin, users
from penstock.accounts.linking import Raced
from penstock.accounts.sessions import Visitor, hash_token
from penstock.http import metrics
from penstock.http.edge import Call
from penstock.platform import audit
from penstock.platform.iam import domains, grants, queries
from penstock.platform.iam.person import Person, usable_subject
from penstock.platform.iam.queries import Stored, stored_from
from penstock.platform.iam.sign_in.underway import Underway, holder
from penstock.platform.members.queries import KEEP
from penstock.platform.parts import Parts
from penstock.platform.tokens import Caller, TokenPair
from penstock.problems import Conflict, Denied, NotFound, NotSignedIn
from penstock.storage import Duplicate, Transaction, now

_LONGEST_NAME = 200


class Admitted(msgspec.Struct, frozen=True):
    tokens: TokenPair
    cookie: str


async def admit(parts: Parts, call: Call, provider_id: str, person: Person, visitor: Visitor) -> Admitted:
    """Sign in whom the provider has identified."""
    try:
        admitted = await _admit(parts, call, provider_id, person, visitor)
    except Raced:
        admitted = await _admit(parts, call, provider_id, person, visitor)
    metrics.sign_ins.labels("iam", "accepted").inc()
    return admitted


async def _admit(parts: Parts, call: Call, provider_id: str, person: Person, visitor: Visitor) -> Admitted:
    async with parts.database.transaction() as tx:
        provider = await _open(tx, provider_id)
        account, new = await _account(tx, provider, person)
        roles = await _give_roles(tx, provider, person, account)
        _, cookie = await signin.open_for(parts.accounts, tx, account.userid, visitor, new_account=new)
        await _note(tx, call, provider, "iam_provider.sign_in", account.id, {"new_account": new, "mappings": roles})
        tokens = await parts.tokens.open(tx, session_hash=hash_token(cookie), user_id=account.id, email=account.email)
    return Admitted(tokens, cookie)


async def link(parts: Parts, call: Call, person: Person, underway: Underway, cookie: str) -> None:
    """Let a person's identity open the account of whoever set out to have it linked, and is still signed in."""
    async with parts.database.transaction() as tx:
        provider = await _open(tx, underway.provider_id)
        userid = await holder(tx, underway, cookie)
        account = await users.locked(tx, userid) if userid else None
        if account is None or not account.active:
            raise NotSignedIn("sign in again, then link: the session that asked for it has ended")
        row = await tx.one(queries.ACCOUNT_OF, **_key(provider, person))
        if row is not None and row[0] != account.userid:
            raise Conflict("this identity opens another account already")
        if row is None:
            await _remember(tx, provider, person, account.id)
        roles = await _give_roles(tx, provider, person, account)
        await _note(tx, call, provider, "iam_provider.link", account.id, {"mappings": roles})


async def _open(tx: Transaction, provider_id: str) -> Stored:
    """The provider as it is until we are done: one that was switched off meanwhile lets nobody in.

    Its company first: whoever deletes that comes from the top, too.
    """
    row = await tx.one(queries.FIND, id=provider_id)
    if row is not None:
        await tx.one(KEEP["company"], id=stored_from(row).company_id)
        row = await tx.one(queries.HOLD, id=provider_id)
    if row is None:
        raise NotFound("there is no such identity provider")
    provider = stored_from(row)
    if not provider.enabled:
        raise Denied("this identity provider is switched off")
    return provider


async def _account(tx: Transaction, provider: Stored, person: Person) -> tuple[users.Account, bool]:
    """Theirs, and whether it is new."""
    if not usable_subject(person.subject):
        raise Denied("the identity provider did not say who you are")
    row = await tx.one(queries.ACCOUNT_OF, **_key(provider, person))
    if row is not None:
        known = await users.locked(tx, row[0])
        if known is None:
            raise Raced
        return known, False
    await _require_spoken_for(tx, provider, person)
    # Asked only now: to a company that has no say over the email, whether it has an account is none of its business.
    if await users.by_email(tx, person.email) is not None:
        raise Conflict("an account with this email exists: sign in first, then link")
    try:
        userid = await users.add(
            tx, email=person.email, verified=True, password_hash=None, display_name=person.name[:_LONGEST_NAME]
        )
    except Conflict as error:
        raise Raced from error
    account = await users.locked(tx, userid)
    assert account is not None  # noqa: S101
    await _remember(tx, provider, person, account.id)
    return account, True


async def _require_spoken_for(tx: Transaction, provider: Stored, person: Person) -> None:
    if not person.email:
        raise Denied("the identity provider gave no email, so no account can be made")
    if emails.domain(person.email) not in await domains.of_company(tx, provider.company_id):
        raise Denied(
            "this identity provider may not open accounts for that email domain; "
            "the server's operator grants domains to a company (penstock domains grant)"
        )
    if not person.email_verified:
        raise Denied("the identity provider does not say that the email is verified, so no account is made for it")


async def _remember(tx: Transaction, provider: Stored, person: Person, user_id: str) -> None:
    if not usable_subject(person.subject):
        raise Denied("the identity provider did not say who you are")
    # The same subject of who vouched before was somebody else.
    await tx.run(queries.FORGET_OTHERS, **_key(provider, person))
    try:
        await tx.run(queries.LINK, user_id=user_id, now=now(), **_key(provider, person))
    except Duplicate as error:
        raise Raced from error


def _key(provider: Stored, person: Person) -> dict[str, str]:
    return {"provider_id": provider.id, "subject": person.subject, "authority": person.authority}


async def _give_roles(tx: Transaction, provider: Stored, person: Person, account: users.Account) -> list[str]:
    caller = Caller(sid="", id=account.id, userid=account.userid, email=account.email, session_hash=b"")
    return await grants.apply(tx, provider, person, caller)


async def _note(
    tx: Transaction, call: Call, provider: Stored, action: str, user_id: str, details: dict[str, object]
) -> None:
    await audit.record(
        tx,
        call,
        action,
        user_id=user_id,
        company_id=provider.root_id,
        organization_id=provider.company_id if provider.company_id != provider.root_id else None,
        resource_id=provider.id,
        details=details,
    )
