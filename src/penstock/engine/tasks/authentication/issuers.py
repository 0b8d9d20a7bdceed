"""`issuers`: who must have issued a token, for a workflow to send it."""

from typing import Any

import jwt

from penstock.engine.faults import authentication
from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.authentication.token_request import Granted


def check(policy: Policy, granted: Granted, discovered: str | None) -> None:
    """Every name by which the authority calls itself must be one of `issuers`, and there must be one.

    The signature is not looked at: the token came from the authority itself, and whom we send it to checks it.
    """
    allowed = policy.texts("issuers")
    if not allowed:
        return
    named = [name for name in (discovered, _issuer(granted.token.access), _issuer(granted.id_token)) if name]
    if not named:
        raise authentication(
            "Issuer not known", "the token does not say who issued it, so `issuers` cannot be checked; leave them out"
        )
    if any(name.rstrip("/") not in {issuer.rstrip("/") for issuer in allowed} for name in named):
        raise authentication("Issuer not allowed", "the token was issued by somebody who is not among `issuers`")


def _issuer(token: str | None) -> str | None:
    if token is None:
        return None
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        return None
    issuer = claims.get("iss")
    return issuer if isinstance(issuer, str) else None
