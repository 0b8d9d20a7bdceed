"""Opening, renewing and ending a session of the API. Accounts, passwords and what is audited of a sign-in are
document 1's."""

from limits import RateLimitItemPerMinute

from penstock.accounts import sessions, signin, signup, users
from penstock.accounts.sessions import Visitor
from penstock.http.edge import Call
from penstock.http.openapi import answer
from penstock.platform import audit
from penstock.platform.parts import Parts
from penstock.platform.tokens import TokenPair
from penstock.problems import NotSignedIn

EXAMPLE = {"access_token": "eyJhbGciOi…", "refresh_token": "eyJhbGciOi…", "token_type": "Bearer", "expires_in": 900}
TOKENS = {200: answer(TokenPair, "An access token and its refresh token.", EXAMPLE)}
TOKENS_CREATED = {201: answer(TokenPair, "The account exists; its first tokens.", EXAMPLE)}


def visitor(call: Call) -> Visitor:
    """Without a cookie: a session of the API is another one than the browser's."""
    return Visitor(call.origin.client, call.header(b"user-agent"), "", call.secure, call.request_id)


async def limit(parts: Parts, call: Call) -> None:
    """One bucket a minute and address for both register and login."""
    each_minute = RateLimitItemPerMinute(parts.settings.rate_limit_auth, namespace="api-auth")
    await parts.accounts.limits.hit_address(each_minute, call.origin.client, "too many sign-ins from this address")


async def register(parts: Parts, call: Call, *, email: str, password: str, display_name: str) -> TokenPair:
    await limit(parts, call)
    _, token = await signup.create(
        parts.accounts, email=email, password=password, display_name=display_name, sign_in=True, visitor=visitor(call)
    )
    return await tokens_for(parts, token or "")


async def login(parts: Parts, call: Call, *, email: str, password: str) -> TokenPair:
    await limit(parts, call)
    _, token = await signin.with_password(parts.accounts, email=email, password=password, visitor=visitor(call))
    return await tokens_for(parts, token)


async def tokens_for(parts: Parts, token: str) -> TokenPair:
    """Tokens that live and end with the session of this cookie value."""
    async with parts.database.transaction() as tx:
        session = await sessions.find(tx, token)
        account = await users.by_id(tx, session.user.userid) if session is not None else None
        if session is None or account is None:
            raise NotSignedIn("not signed in")
        return await parts.tokens.open(tx, session_hash=session.token_hash, user_id=account.id, email=account.email)


async def refresh(parts: Parts, call: Call, token: str) -> TokenPair:
    async with parts.database.transaction() as tx:
        pair, user_id = await parts.tokens.refresh(tx, token)
        if pair is None:
            await audit.record(tx, call, "auth.refresh_reused", user_id=user_id, resource_type="session")
    if pair is None:
        raise NotSignedIn("the refresh token was used before; the session has ended, sign in again")
    return pair
