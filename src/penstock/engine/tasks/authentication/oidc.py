"""OpenID Connect discovery: where an authority hands out tokens, and the name by which it signs them."""

import msgspec
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks.addresses import shown
from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.pool import Http

_WELL_KNOWN = "/.well-known/openid-configuration"
_SECONDS = 30.0


class _Configuration(msgspec.Struct):
    issuer: str
    token_endpoint: str


async def discover(policy: Policy, http: Http) -> tuple[URL, str]:
    """The token endpoint and the issuer. The authority may be named with or without the well-known path."""
    authority = policy.needed("authority").rstrip("/")
    address = policy.address(authority if authority.endswith(_WELL_KNOWN) else authority + _WELL_KNOWN)
    answer = await http.send("GET", address, {"Accept": "application/json"}, seconds=_SECONDS)
    if answer.status != 200:
        raise faults.communication(
            answer.reason or "No configuration",
            f"{shown(address)} answered {answer.status} instead of the authority's configuration; check `authority`",
            status=answer.status if answer.status >= 400 else 500,
        )
    try:
        found = msgspec.json.decode(answer.body, type=_Configuration)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise faults.communication(
            "Answer not understood", f"{shown(address)} is no OpenID configuration with a token endpoint"
        ) from error
    return policy.address(found.token_endpoint), found.issuer
