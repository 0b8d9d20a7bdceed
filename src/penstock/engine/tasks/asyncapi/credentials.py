"""A name and a password, for brokers that ask for them as they connect, and whom we trust to be that broker."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

from penstock.engine.tasks import authentication
from penstock.engine.tasks.asyncapi.target import Target
from penstock.engine.tasks.work import Work

_KEPT_SECONDS = 3600.0


async def credentials(policy: Mapping[str, Any] | None, work: Work) -> tuple[str | None, str | None]:
    """Of `basic` the two; of everything else that ends in a token, the token alone."""
    if policy is None:
        return None, None
    read = authentication.read(policy, work.secrets)
    if read.scheme == "basic":
        return read.needed("username"), read.text("password") or ""
    return None, (await authentication.authorization(read, work)).parameter


async def secured(target: Target, work: Work) -> ssl.SSLContext | None:
    """In TLS, with the machine's authorities. To read them takes 50 ms of a processor: it is done by another thread,
    and once for many messages."""
    return await work.tools.http.certificates.get("authorities", _authorities) if target.tls else None


async def _authorities(_: ssl.SSLContext | None) -> tuple[ssl.SSLContext, float]:
    return await asyncio.to_thread(ssl.create_default_context), _KEPT_SECONDS
