"""What may become of a provider: its making, changing and testing, without its secrets ever coming out."""

import asyncio
from typing import Any

import structlog
from limits import RateLimitItemPerMinute
from msgspec import UNSET, Struct, UnsetType

from penstock.http.edge import Call
from penstock.http.times import rfc3339
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.iam import config, grants, queries
from penstock.platform.iam.probe import Outcome, ProbeFailed
from penstock.platform.iam.queries import Provider, Stored, stored_from
from penstock.platform.iam.sealing import seal_config
from penstock.platform.iam.service import Iam
from penstock.platform.parts import Parts
from penstock.platform.texts import invalid, same_json, valid_name
from penstock.problems import Conflict, NotFound, Problem
from penstock.storage import Duplicate, Transaction, now

log = structlog.get_logger()
SECONDS = 10.0
# Trying addresses one after the other would make us a scanner of the network that we stand in.
_TESTS = RateLimitItemPerMinute(30, namespace="iam-test")


class NewProvider(Struct, forbid_unknown_fields=True):
    provider_type: str
    name: str
    config: dict[str, Any] = {}
    enabled: bool = True


class ProviderChange(Struct, forbid_unknown_fields=True):
    name: str | UnsetType = UNSET
    config: dict[str, Any] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


def shown(iam: Iam, provider: Stored) -> Provider:
    try:
        known = config.masked(provider.provider_type, iam.config_of(provider))
    except Conflict:
        known = {}  # sealed with a secret that this server no longer has: there is nothing to show
    return Provider(
        provider.id,
        provider.company_id,
        provider.provider_type,
        provider.name,
        known,
        provider.enabled,
        rfc3339(provider.created_at),
        rfc3339(provider.updated_at),
    )


async def create(parts: Parts, call: Call, access: Access, company_id: str, body: NewProvider) -> Provider:
    name, company_id = valid_name(body.name), company_id.lower()
    if body.provider_type not in parts.iam.types.names:
        raise invalid("provider_type", f"expected one of {', '.join(parts.iam.types.names)}")
    given = config.with_kept_secrets(body.provider_type, body.config, {})
    await asyncio.to_thread(config.check, body.provider_type, given)
    id_ = uuid7()
    async with parts.database.transaction() as tx:
        try:
            await tx.run(
                queries.ADD,
                id=id_,
                company_id=company_id,
                provider_type=body.provider_type,
                name=name,
                config=seal_config(parts.iam.vault, id_, given),
                enabled=body.enabled,
                now=now(),
            )
        except Duplicate as error:
            raise _name_taken(name) from error
        provider = shown(parts.iam, await _found(tx, id_))
        details = audit.changes({}, _audited(provider) | {"provider_type": body.provider_type})
        await audit.by(tx, call, access, "iam_provider.create", id_, details)
    return provider


async def read(parts: Parts, id_: str) -> Provider:
    row = await parts.database.one(queries.FIND, id=id_.lower())
    if row is None:
        raise NotFound("there is no such iam provider")
    return shown(parts.iam, stored_from(row))


async def update(parts: Parts, call: Call, access: Access, id_: str, body: ProviderChange) -> Provider:
    iam = parts.iam
    async with parts.database.transaction() as tx:
        before = await _found(tx, id_, lock=True)
        name = before.name if body.name is UNSET else valid_name(body.name)
        enabled = before.enabled if body.enabled is UNSET else body.enabled
        sealed, change = before.sealed, _Change()
        old = shown(iam, before).config
        if body.config is not UNSET:
            change = await _changed(iam, before, body.config)
            sealed = before.sealed if change.new is None else seal_config(iam.vault, before.id, change.new)
        if (name, enabled, sealed) == (before.name, before.enabled, before.sealed):
            return shown(iam, before)
        if change.admission or enabled != before.enabled:
            keeps_people = change.admission and not change.people
            await grants.require_reach(tx, access.caller, before, keeps_people=keeps_people)
        try:
            await tx.run(queries.UPDATE, id_=before.id, name=name, config=sealed, enabled=enabled, now=now())
        except Duplicate as error:
            raise _name_taken(name) from error
        if change.people:
            await tx.run(queries.FORGET_ALL, provider_id=before.id)
        if change.people or not enabled:
            await tx.run(queries.WITHDRAW_ALL, provider_id=before.id)
        after = shown(iam, await _found(tx, id_))
        details = audit.changes(_audited(shown(iam, before)), _audited(after))
        if change.new is not None and old == after.config:
            details["config"] = {"before": old, "after": after.config}  # only a secret was changed
        await audit.by(tx, call, access, "iam_provider.update", before.id, details)
        return after


class _Change(Struct, frozen=True):
    """What becomes of a configuration."""

    new: config.Config | None = None
    """None: it is the old one."""
    people: bool = False
    """Its people are others than the old one's."""
    admission: bool = False
    """Whom it lets in, or in which groups, may be another."""


async def _changed(iam: Iam, before: Stored, given: config.Config) -> _Change:
    kind = before.provider_type
    try:
        stored = iam.config_of(before)
    except Conflict:
        stored = {}
    new = config.with_kept_secrets(kind, given, stored)
    await asyncio.to_thread(config.check, kind, new)
    if same_json(new, stored):
        return _Change()
    if not stored:
        return _Change(new, people=True, admission=True)
    people = await asyncio.to_thread(lambda: config.vouches(kind, new) != config.vouches(kind, stored))
    return _Change(new, people, config.admission(kind, new) != config.admission(kind, stored))


async def delete(parts: Parts, call: Call, access: Access, id_: str) -> None:
    """Its identities, mappings and what they granted go with it. The accounts that it made stay."""
    async with parts.database.transaction() as tx:
        before = await _found(tx, id_, lock=True)
        await grants.require_reach(tx, access.caller, before)
        details = {"name": before.name, "provider_type": before.provider_type}
        await audit.by(tx, call, access, "iam_provider.delete", before.id, details)
        await tx.run(queries.DELETE, id=before.id)


async def test(parts: Parts, call: Call, access: Access, id_: str) -> Outcome:
    """A real attempt, bounded in time. What it found is noted."""
    await parts.accounts.limits.hit_address(_TESTS, call.origin.client, "too many tests of identity providers")
    row = await parts.database.one(queries.FIND, id=id_.lower())
    if row is None:
        raise NotFound("there is no such iam provider")
    provider = stored_from(row)
    outcome = await _tried(parts.iam, provider)
    async with parts.database.transaction() as tx:
        details = {"success": outcome.success, "message": outcome.message}
        await audit.by(tx, call, access, "iam_provider.test", provider.id, details)
    return outcome


async def _tried(iam: Iam, provider: Stored) -> Outcome:
    try:
        kind = iam.types.find(provider.provider_type)
        if kind is None:
            return Outcome(False, f"there is no implementation of the type {provider.provider_type} here (iam_types)")
        async with asyncio.timeout(SECONDS):
            outcome: Outcome = await kind.test(iam.config_of(provider), iam.egress)
    except ProbeFailed as error:
        return Outcome(False, str(error))
    except Problem as error:
        return Outcome(False, error.detail)
    except TimeoutError:
        return Outcome(False, f"the provider did not answer within {SECONDS:.0f} seconds")
    except Exception as error:  # noqa: BLE001 - a deployment's own type may fail in any way
        log.warning("the test of an identity provider failed", provider=provider.id, error=type(error).__name__)
        return Outcome(False, "the test failed unexpectedly; the server's log says more")
    return outcome


async def _found(tx: Transaction, id_: str, *, lock: bool = False) -> Stored:
    row = await tx.one(queries.LOCK if lock else queries.FIND, id=id_.lower())
    if row is None:
        raise NotFound("there is no such iam provider")
    return stored_from(row)


def _audited(provider: Provider) -> dict[str, Any]:
    return {"name": provider.name, "enabled": provider.enabled, "config": provider.config}


def _name_taken(name: str) -> Conflict:
    return Conflict(f"the company has an identity provider called {name!r} already; choose another name")
