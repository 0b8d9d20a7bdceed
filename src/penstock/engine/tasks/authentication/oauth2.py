"""OAuth 2 without a browser: a token from the authority, kept until it expires or a service refuses it."""

import hashlib

import msgspec
from yarl import URL

from penstock.engine.faults import Fault
from penstock.engine.tasks.authentication import issuers, oidc, token_request
from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.pool import Http, RotatedTokens, Token
from penstock.engine.tasks.work import Authorization, Work

_DEFAULT_ENDPOINT = "/oauth2/token"


async def authorization(policy: Policy, work: Work) -> Authorization:
    """Many who ask at the same time share one request."""
    http = work.tools.http

    async def fetch(before: Token | None) -> tuple[Token, float]:
        if policy.text("grant") != "refresh_token" or http.rotated is None:
            return await _fetched(policy, before, http)
        return await _rotated(policy, key, before, http, http.rotated)

    key = _key(policy)
    token = await http.tokens.get(key, fetch)
    return Authorization("Bearer", token.access)


def refused(policy: Policy, sent: Authorization, work: Work) -> None:
    """The service did not take this token: the next who asks gets a new one."""
    work.tools.http.tokens.stale(_key(policy), lambda token: token.access == sent.parameter)


async def _rotated(
    policy: Policy, key: str, before: Token | None, http: Http, stored: RotatedTokens
) -> tuple[Token, float]:
    """What the authority hands out instead is stored before it is used: the one before it may be good no more."""
    known = before.refresh if before is not None else await stored.find(key)
    try:
        token, seconds = await _fetched(policy, Token("", known) if known is not None else None, http)
    except Fault as fault:
        if known is None or fault.error.status != 401:
            raise
        # Somebody may have revoked it, and allowed the one in the policy anew.
        token, seconds = await _fetched(policy, None, http)
    if token.refresh is not None and token.refresh != known:
        await stored.keep(key, token.refresh)
    return token, seconds


async def _fetched(policy: Policy, before: Token | None, http: Http) -> tuple[Token, float]:
    if policy.scheme == "oidc":
        endpoint, issuer = await oidc.discover(policy, http)
    else:
        endpoint, issuer = _endpoint(policy), None
    granted = await token_request.send(policy, endpoint, before, http)
    issuers.check(policy, granted, issuer)
    return granted.token, granted.seconds


def _endpoint(policy: Policy) -> URL:
    """`/oauth2/token` is below the authority, not at the root of its host; a full address stands for itself."""
    path = policy.text("endpoints", "token") or _DEFAULT_ENDPOINT
    if path.startswith(("https://", "http://")):
        return policy.address(path)
    return policy.address(f"{policy.needed('authority').rstrip('/')}/{path.lstrip('/')}")


def _key(policy: Policy) -> str:
    """Everything that the policy says, its credentials too: who has other ones has other tokens. Only as a hash."""
    said = msgspec.json.encode([policy.scheme, policy.members], order="deterministic")
    return hashlib.sha256(said).hexdigest()
