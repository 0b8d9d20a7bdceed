"""Social sign-in: off to an OAuth provider, back from it, or with a token that a client already has."""

from typing import Any

import msgspec

from penstock.accounts import changes, linking, sessions, signin
from penstock.accounts.oauth import Identity, OAuthError, Pending, ProviderDown, Refused, UnknownProvider, seal, unseal
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Visitor
from penstock.http import metrics
from penstock.problems import BadGateway, FieldError, Invalid, NotFound, Problem

COOKIE = "oauth_login"


class Arrived(msgspec.Struct, frozen=True):
    """Back from the provider: where to, and the session cookie when a new one was opened."""

    next: str
    cookie: str | None


def _problem(error: OAuthError) -> Problem:
    if isinstance(error, UnknownProvider):
        return NotFound(str(error))
    if isinstance(error, ProviderDown):
        return BadGateway(str(error))
    return Invalid(str(error))


async def begin(accounts: Accounts, name: str, *, callback: str, next_: str, links_to: int) -> tuple[str, str]:
    """The address at the provider, and the value of the short-lived cookie that proves the way back.

    `links_to` is the account that wants the identity linked, 0 for a sign-in.
    """
    try:
        url, pending = await accounts.oauth.begin(name, redirect_uri=callback, next=next_)
    except OAuthError as error:
        raise _problem(error) from error
    return url, seal(msgspec.structs.replace(pending, links_to=links_to), accounts.state_key)


async def finish(
    accounts: Accounts,
    name: str,
    *,
    query: dict[str, str],
    cookie: str,
    visitor: Visitor,
) -> Arrived:
    """Check the way back, then sign in; or link, for someone who is signed in.

    Only to the account that set out to be linked. Otherwise somebody who can plant a cookie here, or who sends a
    visitor off to a provider where the visitor was signed in as somebody else, would add a door of their own to the
    visitor's account.
    """
    identity, pending = await _identify(accounts, name, query, cookie)
    # Only now: the provider may have taken its time, in which the session can have ended.
    session = await sessions.find(accounts.database, visitor.cookie)
    if session is not None and session.user.userid == pending.links_to:
        await changes.add_provider(accounts, session, identity, visitor, update_email=False)
        return Arrived(pending.next, None)
    _, token = await sign_in(accounts, identity, visitor)
    return Arrived(pending.next, token)


async def arrived(accounts: Accounts, name: str, *, query: dict[str, str], cookie: str) -> Identity:
    """Who came back from the provider; for a way in of another door, with its own cookie."""
    identity, _ = await _identify(accounts, name, query, cookie)
    return identity


async def _identify(accounts: Accounts, name: str, query: dict[str, str], cookie: str) -> tuple[Identity, Pending]:
    try:
        if name not in accounts.settings.oauth_providers:
            raise UnknownProvider("no such sign-in provider")
        pending = unseal(cookie, accounts.state_key)
        if "error" in query:
            raise Refused("the provider did not let you in")
        identity = await accounts.oauth.finish(
            name, pending, code=query.get("code", ""), state=query.get("state", ""), iss=query.get("iss")
        )
    except OAuthError as error:
        metrics.sign_ins.labels("oauth", "refused").inc()
        raise _problem(error) from error
    return identity, pending


async def identify(accounts: Accounts, method: str, token: str) -> Identity:
    """Whom a provider's token speaks of. An unknown method is bad input here, not a missing page."""
    try:
        return await accounts.oauth.identify(method, token)
    except UnknownProvider as error:
        raise Invalid(str(error), errors=[FieldError("/method", str(error))]) from error
    except Refused as error:
        raise Invalid(str(error), errors=[FieldError("/token", str(error))]) from error
    except OAuthError as error:
        raise _problem(error) from error


async def sign_in(accounts: Accounts, identity: Identity, visitor: Visitor) -> tuple[Any, str]:
    try:
        answer = await _sign_in(accounts, identity, visitor)
    except linking.Raced:
        answer = await _sign_in(accounts, identity, visitor)
    metrics.sign_ins.labels("oauth", "accepted").inc()
    return answer


async def _sign_in(accounts: Accounts, identity: Identity, visitor: Visitor) -> tuple[Any, str]:
    async with accounts.database.transaction() as tx:
        userid, new = await linking.account_for(accounts, tx, identity, visitor)
        return await signin.open_for(accounts, tx, userid, visitor, new_account=new)
