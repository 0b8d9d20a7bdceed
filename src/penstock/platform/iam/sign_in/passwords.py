"""Signing in with a name and a password that a company's directory (or a deployment's own type) knows."""

import asyncio

import structlog

from penstock.http import metrics
from penstock.http.edge import Call
from penstock.platform import audit
from penstock.platform.auth import flows
from penstock.platform.iam.person import Person
from penstock.platform.iam.probe import ProbeFailed
from penstock.platform.iam.queries import Stored
from penstock.platform.iam.types import TakesPasswords
from penstock.platform.parts import Parts
from penstock.problems import BadGateway, NotSignedIn

log = structlog.get_logger()
_SECONDS = 10.0
_AWAY = "the identity provider cannot be asked right now; an administrator's test of it says why"


def takes_passwords(parts: Parts, provider: Stored) -> TakesPasswords | None:
    kind = parts.iam.types.find(provider.provider_type)
    return kind if isinstance(kind, TakesPasswords) else None


async def identify(
    parts: Parts, call: Call, provider: Stored, kind: TakesPasswords, username: str, password: str
) -> Person:
    """Limited like any sign-in with a password: by the minute and address, and by what went wrong in the last hour."""
    limits, address = parts.accounts.limits, call.origin.client
    key = f"iam:{provider.id}:{username.strip().lower()[:254]}"
    await flows.limit(parts, call)
    await limits.require_login(key, address)
    person = await _asked(parts, provider, kind, username, password)
    if person is None:
        await limits.failed_login(key, address)
        metrics.sign_ins.labels("iam", "refused").inc()
        await _note_failure(parts, call, provider, username)
        raise NotSignedIn("wrong user name or password")
    await limits.succeeded_login(key)
    return person


async def _asked(parts: Parts, provider: Stored, kind: TakesPasswords, username: str, password: str) -> Person | None:
    config = parts.iam.config_of(provider)
    try:
        async with asyncio.timeout(_SECONDS):
            return await kind.authenticate(config, parts.iam.egress, username, password)
    except (ProbeFailed, TimeoutError) as error:
        raise BadGateway(_AWAY) from error
    except Exception as error:
        log.warning("an identity provider failed", provider=provider.id, error=type(error).__name__)
        raise BadGateway(_AWAY) from error


async def _note_failure(parts: Parts, call: Call, provider: Stored, username: str) -> None:
    async with parts.database.transaction() as tx:
        await audit.record(
            tx,
            call,
            "auth.login_failed",
            user_id=None,
            company_id=provider.root_id,
            resource_type="iam_provider",
            resource_id=provider.id,
            details={"username": username[:254].replace("\0", "")},
        )
