"""Proving to a service who we are: one file for each scheme, and here what calls ask for.

`headers` is for every protocol that has headers or metadata. `digest` and `certificate` need more of a call than
that: a challenge, or a TLS context; HTTP calls look for them with `read`.
"""

from collections.abc import Mapping
from typing import Any

from penstock.engine.tasks.authentication import basic, bearer, oauth2
from penstock.engine.tasks.authentication.policy import Policy, read
from penstock.engine.tasks.work import Authorization, Work

__all__ = ["Policy", "authorization", "headers", "read", "refused"]


async def headers(policy: Mapping[str, Any] | None, work: Work) -> tuple[dict[str, str], Authorization | None]:
    """The headers that prove who we are, and `$authorization`. Fetches a token when one is needed."""
    if policy is None:
        return {}, None
    proof = await authorization(read(policy, work.secrets), work)
    return {"Authorization": f"{proof.scheme} {proof.parameter}"}, proof


def refused(policy: Policy, sent: Authorization, work: Work) -> bool:
    """A service answered 401; whether it is worth asking it once more, with a token fetched anew."""
    if policy.scheme not in ("oauth2", "oidc"):
        return False
    oauth2.refused(policy, sent, work)
    return True


async def authorization(policy: Policy, work: Work) -> Authorization:
    proof = await _proof(policy, work)
    # A token that was fetched, and a name with a password that was a secret, are secrets too.
    if policy.scheme in ("oauth2", "oidc") or work.secrets.mask(policy.members) is not policy.members:
        work.secrets.learn(proof.parameter)
    return proof


async def _proof(policy: Policy, work: Work) -> Authorization:
    match policy.scheme:
        case "basic":
            return basic.authorization(policy)
        case "bearer":
            return bearer.authorization(policy)
        case "oauth2" | "oidc":
            return await oauth2.authorization(policy, work)
        case _:
            raise policy.fault("this kind of call knows basic, bearer, oauth2 and oidc only")
