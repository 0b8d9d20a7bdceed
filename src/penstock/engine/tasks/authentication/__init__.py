"""Proving to a service who we are: one file for each scheme, and here what calls ask for.

`headers` is for every protocol that has headers or metadata. `digest` and `certificate` need more of a call than
that: a challenge, or a TLS context; HTTP calls look for them with `read`.
"""

from collections.abc import Mapping
from typing import Any

from penstock.engine.tasks.authentication import basic, bearer
from penstock.engine.tasks.authentication.policy import Policy, read
from penstock.engine.tasks.work import Authorization, Work

__all__ = ["Policy", "authorization", "headers", "read", "refused"]


async def headers(policy: Mapping[str, Any] | None, work: Work) -> tuple[dict[str, str], Authorization | None]:
    """The headers that prove who we are, and `$authorization`. Fetches a token when one is needed."""
    if policy is None:
        return {}, None
    proof = await authorization(read(policy, work.secrets), work)
    return {"Authorization": f"{proof.scheme} {proof.parameter}"}, proof


async def refused(policy: Mapping[str, Any] | None, sent: Authorization | None, work: Work) -> bool:
    """The service answered 401 to what was sent; whether it is worth asking once more, with a new token."""
    return False


async def authorization(policy: Policy, work: Work) -> Authorization:
    match policy.scheme:
        case "basic":
            return basic.authorization(policy)
        case "bearer":
            return bearer.authorization(policy)
        case _:
            raise policy.fault("this kind of call knows basic, bearer, oauth2 and oidc only")
