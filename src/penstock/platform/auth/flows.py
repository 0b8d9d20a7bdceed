"""Opening, renewing and ending a session of the API. Accounts and passwords are document 1's."""

from limits import RateLimitItemPerMinute

from penstock.accounts import sessions, signin, signup, users
from penstock.accounts.sessions import Visitor
from penstock.http.edge import Call
from penstock.platform import audit
from penstock.platform.parts import Parts
from penstock.platform.tokens import TokenPair
from penstock.problems import NotSignedIn
from penstock.storage import Transaction


def visitor(call: Call) -> Visitor:
    """Without a cookie: a session of the API is another one than the browser's."""
    return Visitor(call.origin.client, call.header(b"user-agent"), "", call.secure)


async def limit(parts: Parts, call: Call) -> None:
    """One bucket a minute and address for both register and login."""
    each_minute = RateLimitItemPerMinute(parts.settings.rate_limit_auth, namespace="api-auth")
    await parts.accounts.limits.hit_address(each_minute, call.origin.client, "too many sign-ins from this address")


async def register(parts: Parts, call: Call, *, email: str, password: str, display_name: str) -> TokenPair:
    await limit(parts, call)
    _, token = await signup.create(
        parts.accounts, email=email, password=password, display_name=display_name, sign_in=True, visitor=visitor(call)
    )
    assert token is not None  # noqa: S101
    async with parts.database.transaction() as tx:
        return await tokens_for_cookie(parts, tx, call, token, "auth.register")


async def login(parts: Parts, call: Call, *, email: str, password: str) -> TokenPair:
    await limit(parts, call)
    try:
        _, token = await signin.with_password(parts.accounts, email=email, password=password, visitor=visitor(call))
    except NotSignedIn:
        account = await users.by_email(parts.database, email.strip().lower())
        async with parts.database.transaction() as tx:
            await audit.record(
                tx,
                call,
                "auth.login_failed",
                user_id=account.id if account is not None else None,
                details={"email": email[:254]},
            )
        raise
    async with parts.database.transaction() as tx:
        return await tokens_for_cookie(parts, tx, call, token, "auth.login")


async def tokens_for_cookie(parts: Parts, tx: Transaction, call: Call, token: str, action: str) -> TokenPair:
    session = await sessions.find(tx, token)
    account = await users.by_id(tx, session.user.userid) if session is not None else None
    if session is None or account is None:
        raise NotSignedIn("not signed in")
    await audit.record(tx, call, action, user_id=account.id, resource_type="user", resource_id=account.id)
    return await parts.tokens.open(tx, session_hash=session.token_hash, user_id=account.id, email=account.email)


async def refresh(parts: Parts, call: Call, token: str) -> TokenPair:
    async with parts.database.transaction() as tx:
        pair = await parts.tokens.refresh(tx, token)
        if pair is None:
            await audit.record(tx, call, "auth.refresh_reused", user_id=None, resource_type="session")
    if pair is None:
        raise NotSignedIn("the refresh token was used before; the session has ended, sign in again")
    return pair
