"""Basic authentication (RFC 7617): a name and a password in every request."""

from base64 import b64encode

from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.work import Authorization


def authorization(policy: Policy) -> Authorization:
    username, password = policy.needed("username"), policy.text("password") or ""
    if ":" in username:
        raise policy.fault("a `username` with a colon would be read as another one with another password")
    return Authorization("Basic", b64encode(f"{username}:{password}".encode()).decode())
