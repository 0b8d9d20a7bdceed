"""How a client proves to an authorization server who it is (RFC 6749, 2.3; RFC 7523; OpenID Connect Core, 9)."""

import secrets
import time
from base64 import b64encode
from urllib.parse import quote

import jwt

from penstock.engine.tasks.authentication.policy import Policy

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60


def credentials(policy: Policy, endpoint: str) -> tuple[dict[str, str], dict[str, str]]:
    """What the token request says in its headers and in its form, for the client to be believed."""
    method = policy.text("client", "authentication") or "client_secret_post"
    match method:
        case "client_secret_post":
            return {}, {**_id(policy), "client_secret": policy.needed("client", "secret")}
        case "client_secret_basic":
            return {"Authorization": f"Basic {_basic(policy)}"}, {}
        case "client_secret_jwt":
            return {}, _asserted(policy, policy.text("client", "assertion") or _signed(policy, endpoint))
        case "private_key_jwt":
            return {}, _asserted(policy, policy.needed("client", "assertion"))
        case "none":
            return {}, _id(policy) if policy.text("client", "id") else {}
        case _:
            raise policy.fault(
                f"`client.authentication` is {method[:40]!r}; it can be client_secret_post, client_secret_basic, "
                "client_secret_jwt, private_key_jwt or none"
            )


def _id(policy: Policy) -> dict[str, str]:
    return {"client_id": policy.needed("client", "id")}


def _basic(policy: Policy) -> str:
    pair = policy.needed("client", "id"), policy.needed("client", "secret")
    return b64encode(":".join(quote(part, safe="") for part in pair).encode()).decode()


def _asserted(policy: Policy, assertion: str) -> dict[str, str]:
    return {**_id(policy), "client_assertion_type": _ASSERTION, "client_assertion": assertion}


def _signed(policy: Policy, endpoint: str) -> str:
    client, now = policy.needed("client", "id"), int(time.time())
    claims = {
        "iss": client,
        "sub": client,
        "aud": endpoint,
        "jti": secrets.token_urlsafe(24),
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
    }
    return jwt.encode(claims, policy.needed("client", "secret"), algorithm="HS256")
