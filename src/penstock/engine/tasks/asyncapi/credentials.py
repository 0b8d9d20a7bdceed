"""A name and a password, for brokers that ask for them as they connect."""

from collections.abc import Mapping
from typing import Any

from penstock.engine.tasks import authentication
from penstock.engine.tasks.work import Work


async def credentials(policy: Mapping[str, Any] | None, work: Work) -> tuple[str | None, str | None]:
    """Of `basic` the two; of everything else that ends in a token, the token alone."""
    if policy is None:
        return None, None
    read = authentication.read(policy, work.secrets)
    if read.scheme == "basic":
        return read.needed("username"), read.text("password") or ""
    return None, (await authentication.authorization(read, work)).parameter
