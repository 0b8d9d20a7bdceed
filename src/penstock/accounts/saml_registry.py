"""What SAML has to remember: providers and the domains they speak for, our keypair, requests under way, and the
assertions that were used."""

import asyncio

import msgspec
import structlog
from sqlalchemy import bindparam, delete, func, literal_column, select
from sqlalchemy.dialects.postgresql import insert

from penstock.accounts import emails
from penstock.accounts.hooks import Hooks, result
from penstock.accounts.saml import IdentityProvider, Keypair, SamlError, make_keypair, read_metadata
from penstock.problems import Conflict, Invalid, NotFound
from penstock.settings import Settings, SettingsError
from penstock.storage import Database, Duplicate, Statement, Transaction, now
from penstock.storage.database import Reader
from penstock.storage.schema import (
    key_values,
    saml_assertions,
    saml_domains,
    saml_providers,
    saml_requests,
    saml_service_provider,
)

log = structlog.get_logger()
_REQUEST_LIFE = 10 * 60
_CONFIGURED = "saml.configured"


class Registered(msgspec.Struct, frozen=True):
    entity_id: str
    domains: list[str]


class Request(msgspec.Struct, frozen=True):
    provider_id: str
    next: str


_PUT_PROVIDER = insert(saml_providers).values(
    id=bindparam("id"), xml=bindparam("xml"), created_at=bindparam("now"), updated_at=bindparam("now")
)
_PUT = Statement(
    _PUT_PROVIDER.on_conflict_do_update(
        index_elements=["id"],
        set_={"xml": _PUT_PROVIDER.excluded.xml, "updated_at": _PUT_PROVIDER.excluded.updated_at},
    )
)
_GET = Statement(select(saml_providers.c.xml).where(saml_providers.c.id == bindparam("id")))
_REMOVE = Statement(delete(saml_providers).where(saml_providers.c.id == bindparam("id")))
_LIST = Statement(
    select(saml_providers.c.id, func.aggregate_strings(saml_domains.c.domain, literal_column("','")))  # type: ignore[arg-type]
    .outerjoin(saml_domains, saml_domains.c.provider_id == saml_providers.c.id)
    .group_by(saml_providers.c.id)
    .order_by(saml_providers.c.id)
)
_ADD_DOMAIN = Statement(insert(saml_domains).values(domain=bindparam("domain"), provider_id=bindparam("provider_id")))
_CLEAR_DOMAINS = Statement(delete(saml_domains).where(saml_domains.c.provider_id == bindparam("provider_id")))
_DOMAINS = Statement(select(saml_domains.c.domain).where(saml_domains.c.provider_id == bindparam("provider_id")))
_BY_DOMAIN = Statement(select(saml_domains.c.provider_id).where(saml_domains.c.domain == bindparam("domain")))
_REMEMBER = Statement(
    insert(saml_requests).values(
        id=bindparam("id"),
        provider_id=bindparam("provider_id"),
        next=bindparam("next"),
        expires_at=bindparam("expires_at"),
    )
)
_ANSWERED = Statement(
    delete(saml_requests)
    .where(saml_requests.c.id == bindparam("id"), saml_requests.c.expires_at > bindparam("now"))
    .returning(saml_requests.c.provider_id, saml_requests.c.next)
)
_REQUEST = Statement(
    select(saml_requests.c.provider_id, saml_requests.c.next).where(
        saml_requests.c.id == bindparam("id"), saml_requests.c.expires_at > bindparam("now")
    )
)
_USE = Statement(
    insert(saml_assertions).values(
        provider_id=bindparam("provider_id"), assertion_id=bindparam("assertion_id"), expires_at=bindparam("expires_at")
    )
)
_SWEEP_REQUESTS = Statement(delete(saml_requests).where(saml_requests.c.expires_at <= bindparam("now")))
_SWEEP_ASSERTIONS = Statement(delete(saml_assertions).where(saml_assertions.c.expires_at <= bindparam("now")))
_KEYPAIR = Statement(
    select(saml_service_provider.c.certificate, saml_service_provider.c.privatekey).where(
        saml_service_provider.c.id == 1
    )
)
_PUT_KEYPAIR = insert(saml_service_provider).values(
    id=1, certificate=bindparam("certificate"), privatekey=bindparam("privatekey")
)
_KEEP_KEYPAIR = Statement(
    _PUT_KEYPAIR.on_conflict_do_update(
        index_elements=["id"],
        set_={"certificate": _PUT_KEYPAIR.excluded.certificate, "privatekey": _PUT_KEYPAIR.excluded.privatekey},
        where=saml_service_provider.c.certificate.is_(None) | saml_service_provider.c.privatekey.is_(None),
    )
)

_VALUE = Statement(select(key_values.c.value).where(key_values.c.key == bindparam("key")))
_PUT_VALUE = insert(key_values).values(key=bindparam("key"), value=bindparam("value"))
_KEEP_VALUE = Statement(
    _PUT_VALUE.on_conflict_do_update(index_elements=["key"], set_={"value": _PUT_VALUE.excluded.value})
)


async def add(database: Database, xml: str | bytes, domains: list[str]) -> Registered:
    """Register a provider under the entity id in its metadata, or replace its metadata and domains."""
    provider, names = await _read(xml, domains)
    async with database.transaction() as tx:
        await _put(tx, provider, names)
    return Registered(provider.entity_id, names)


async def _read(xml: str | bytes, domains: list[str]) -> tuple[IdentityProvider, list[str]]:
    try:
        provider = await asyncio.to_thread(read_metadata, xml)
    except SamlError as error:
        raise Invalid(f"the metadata cannot be used: {error}") from error
    names = sorted({_domain(domain) for domain in domains})
    if not names:
        raise Invalid("name at least one email domain that the provider speaks for")
    return provider, names


async def _put(tx: Transaction, provider: IdentityProvider, domains: list[str]) -> None:
    await tx.run(_PUT, id=provider.entity_id, xml=provider.xml, now=now())
    await tx.run(_CLEAR_DOMAINS, provider_id=provider.entity_id)
    for domain in domains:
        try:
            await tx.run(_ADD_DOMAIN, domain=domain, provider_id=provider.entity_id)
        except Duplicate as error:
            raise Conflict(f"another provider speaks for {domain}") from error


def _domain(text: str) -> str:
    name = text.strip().lower().removeprefix("@")
    # Accounts without an email live under `.invalid`; whoever spoke for it would speak for all of them.
    if emails.canonical(f"x@{name}") is None or name.endswith(".invalid"):
        raise Invalid(f"{text!r} is not an email domain")
    return name


async def remove(database: Database, entity_id: str) -> None:
    async with database.transaction() as tx:
        if not await tx.run(_REMOVE, id=entity_id):
            raise NotFound(f"no provider is registered as {entity_id}")


async def listed(reader: Reader) -> list[Registered]:
    return [Registered(row[0], sorted(row[1].split(",")) if row[1] else []) for row in await reader.all(_LIST)]


async def register_configured(database: Database, settings: Settings) -> None:
    """Providers that stand in the settings are registered at every start, as they stand there.

    One that stood there before and was deleted is removed: who deletes it means that nobody comes in through it.
    """
    providers = {}
    for configured in settings.saml_providers:
        try:
            xml = await asyncio.to_thread(configured.metadata.read_bytes)
            provider, domains = await _read(xml, configured.domains)
        except (OSError, Invalid) as error:
            raise SettingsError(f"saml_providers: {configured.metadata}: {error}") from error
        if provider.entity_id in providers:
            raise SettingsError(f"saml_providers: {configured.metadata}: {provider.entity_id} stands there twice")
        providers[provider.entity_id] = provider, domains
    if providers or await _configured_before(database):
        async with database.transaction() as tx:
            await _replace_configured(tx, providers)


async def _replace_configured(tx: Transaction, providers: dict[str, tuple[IdentityProvider, list[str]]]) -> None:
    for entity_id in await _configured_before(tx):
        # All domains are given back before any is given out, so that one can move from a provider to another.
        await tx.run(_CLEAR_DOMAINS, provider_id=entity_id)
        if entity_id not in providers and await tx.run(_REMOVE, id=entity_id):
            log.warning("a SAML provider is no longer in the settings and was removed", provider=entity_id)
    for provider, domains in providers.values():
        try:
            await _put(tx, provider, domains)
        except Conflict as error:
            raise SettingsError(f"saml_providers: {provider.entity_id}: {error}") from error
    await tx.run(_KEEP_VALUE, key=_CONFIGURED, value=msgspec.json.encode(sorted(providers)).decode())


async def _configured_before(reader: Reader) -> list[str]:
    row = await reader.one(_VALUE, key=_CONFIGURED)
    return msgspec.json.decode(row[0], type=list[str]) if row is not None else []


async def provider_for(database: Database, hooks: Hooks, email: str) -> str | None:
    """The entity id of the provider where this email signs in; None means with a password."""
    if hooks.saml_provider_for is not None:
        return await result(hooks.saml_provider_for(email)) or None
    row = await database.one(_BY_DOMAIN, domain=emails.domain(email))
    return str(row[0]) if row is not None else None


async def provider(reader: Reader, entity_id: str) -> IdentityProvider | None:
    row = await reader.one(_GET, id=entity_id)
    return await asyncio.to_thread(read_metadata, row[0]) if row is not None else None


async def domains_of(reader: Reader, entity_id: str) -> list[str]:
    return [row[0] for row in await reader.all(_DOMAINS, provider_id=entity_id)]


async def keypair(database: Database) -> Keypair:
    """Ours; made when the certificate or the private key is missing. Of two servers, the first one's is kept."""
    row = await database.one(_KEYPAIR)
    if row is None or not row[0] or not row[1]:
        fresh = await asyncio.to_thread(make_keypair)
        async with database.transaction() as tx:
            await tx.run(_KEEP_KEYPAIR, certificate=fresh.certificate, privatekey=fresh.private_key)
            row = await tx.one(_KEYPAIR)
    assert row is not None  # noqa: S101
    return Keypair(row[0], row[1])


async def remember_request(tx: Transaction, request_id: str, provider_id: str, next_: str) -> None:
    """On the server, not in a cookie: none comes along with the provider's cross-site POST."""
    await tx.run(
        _REMEMBER, id=request_id, provider_id=provider_id, next=next_, expires_at=now() + _REQUEST_LIFE * 1_000_000
    )


async def request(reader: Reader, request_id: str) -> Request | None:
    row = await reader.one(_REQUEST, id=request_id, now=now())
    return Request(*row) if row is not None else None


async def answer_request(tx: Transaction, request_id: str) -> bool:
    """Take the request off the list: it is answered once. False when someone was faster."""
    return await tx.one(_ANSWERED, id=request_id, now=now()) is not None


async def use_assertion(tx: Transaction, provider_id: str, assertion_id: str, until: int) -> bool:
    """Remember an assertion for as long as it could be shown again. False when it was used before."""
    try:
        await tx.run(_USE, provider_id=provider_id, assertion_id=assertion_id, expires_at=until * 1_000_000)
    except Duplicate:
        return False
    return True


async def sweep(tx: Transaction) -> None:
    await tx.run(_SWEEP_REQUESTS, now=now())
    await tx.run(_SWEEP_ASSERTIONS, now=now())
