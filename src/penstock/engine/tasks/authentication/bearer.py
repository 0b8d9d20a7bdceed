"""Bearer authentication (RFC 6750): a token that the workflow or a secret has."""

import re

from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.work import Authorization

_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")


def authorization(policy: Policy) -> Authorization:
    token = policy.needed("token").strip()
    if not is_token(token):
        raise policy.fault("a `token` has visible ASCII characters only, 16,384 at most")
    return Authorization("Bearer", token)


def is_token(value: object) -> bool:
    """Whether it can stand in a header."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None
