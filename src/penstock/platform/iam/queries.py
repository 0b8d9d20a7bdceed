"""What is asked of the tables of providers, role mappings, identities and granted email domains."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, or_, select, update

from penstock.http.times import rfc3339
from penstock.platform.roles import Role
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import (
    companies,
    company_domains,
    grants,
    iam_identities,
    iam_mappings,
    iam_providers,
)
from penstock.storage.schema import accounts


class Provider(msgspec.Struct, frozen=True):
    """As it is shown: `config` without its secrets."""

    id: str
    company_id: str
    provider_type: str
    name: str
    config: dict[str, Any]
    enabled: bool
    created_at: str
    updated_at: str


class Stored(msgspec.Struct, frozen=True):
    """As it is kept: `sealed` is the encrypted configuration."""

    id: str
    company_id: str
    provider_type: str
    name: str
    sealed: str
    enabled: bool
    created_at: int
    updated_at: int
    root_id: str
    """The company on top, in whose audit log it is noted."""


class Mapping(msgspec.Struct, frozen=True):
    id: str
    provider_id: str
    external_identifier: str
    resource_type: str
    resource_id: str
    role: str
    created_at: str


_OWN = (
    iam_providers.c.id,
    iam_providers.c.company_id,
    iam_providers.c.provider_type,
    iam_providers.c.name,
    iam_providers.c.config,
    iam_providers.c.enabled,
    iam_providers.c.created_at,
    iam_providers.c.updated_at,
)
_COLUMNS = (*_OWN, func.coalesce(companies.c.parent_id, companies.c.id))
_FROM = iam_providers.join(companies, companies.c.id == iam_providers.c.company_id)


def stored_from(row: Row) -> Stored:
    id_, company_id, provider_type, name, sealed, enabled, created, updated, root_id = row
    return Stored(id_, company_id, provider_type, name, sealed, bool(enabled), created, updated, root_id)


_find = select(*_COLUMNS).select_from(_FROM).where(iam_providers.c.id == bindparam("id"))
FIND = Statement(_find)
# A sign-in and a change of its provider wait for each other: nobody comes in on what is being taken away.
HOLD = Statement(_find.with_for_update(read=True, of=iam_providers))
LOCK = Statement(_find.with_for_update(of=iam_providers))
LIST = Statement(
    select(*_COLUMNS)
    .select_from(_FROM)
    .where(iam_providers.c.company_id == bindparam("company_id"))
    .order_by(iam_providers.c.created_at.desc(), iam_providers.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT = Statement(
    select(func.count()).select_from(iam_providers).where(iam_providers.c.company_id == bindparam("company_id"))
)
ADD = Statement(
    insert(iam_providers).values(
        id=bindparam("id"),
        company_id=bindparam("company_id"),
        provider_type=bindparam("provider_type"),
        name=bindparam("name"),
        config=bindparam("config"),
        enabled=bindparam("enabled"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
)
UPDATE = Statement(
    update(iam_providers)
    .where(iam_providers.c.id == bindparam("id_"))
    .values(
        name=bindparam("name"), config=bindparam("config"), enabled=bindparam("enabled"), updated_at=bindparam("now")
    )
)
DELETE = Statement(delete(iam_providers).where(iam_providers.c.id == bindparam("id")))

# --- role mappings
_MAPPING = (
    iam_mappings.c.id,
    iam_mappings.c.provider_id,
    iam_mappings.c.external_identifier,
    iam_mappings.c.resource_type,
    iam_mappings.c.resource_id,
    iam_mappings.c.role,
    iam_mappings.c.created_at,
)


def mapping_from(row: Row) -> Mapping:
    id_, provider_id, external, resource_type, resource_id, role, created = row
    return Mapping(id_, provider_id, external, resource_type, resource_id, Role(role).label, rfc3339(created))


FIND_MAPPING = Statement(select(*_MAPPING).where(iam_mappings.c.id == bindparam("id")))
MAPPINGS = Statement(select(*_MAPPING).where(iam_mappings.c.provider_id == bindparam("provider_id")))
# Where, and which; however many identifiers they are for.
MAPPED_ABOVE = Statement(
    select(iam_mappings.c.resource_type, iam_mappings.c.resource_id, iam_mappings.c.role)
    .where(iam_mappings.c.provider_id == bindparam("provider_id"), iam_mappings.c.role > bindparam("role"))
    .distinct()
)
LIST_MAPPINGS = Statement(
    select(*_MAPPING)
    .where(iam_mappings.c.provider_id == bindparam("provider_id"))
    .order_by(iam_mappings.c.created_at.desc(), iam_mappings.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT_MAPPINGS = Statement(
    select(func.count()).select_from(iam_mappings).where(iam_mappings.c.provider_id == bindparam("provider_id"))
)
ADD_MAPPING = Statement(
    insert(iam_mappings).values(
        id=bindparam("id"),
        provider_id=bindparam("provider_id"),
        external_identifier=bindparam("external_identifier"),
        resource_type=bindparam("resource_type"),
        resource_id=bindparam("resource_id"),
        role=bindparam("role"),
        created_at=bindparam("now"),
    )
)
DELETE_MAPPING = Statement(delete(iam_mappings).where(iam_mappings.c.id == bindparam("id")))

# --- what mappings gave
_of_provider = grants.c.mapping_id.in_(
    select(iam_mappings.c.id).where(iam_mappings.c.provider_id == bindparam("provider_id"))
)
ADD_GRANT = Statement(
    insert(grants).values(
        id=bindparam("id"),
        user_id=bindparam("user_id"),
        company_id=bindparam("company_id"),
        project_id=bindparam("project_id"),
        workflow_id=bindparam("workflow_id"),
        mapping_id=bindparam("mapping_id"),
        role=bindparam("role"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
)
HELD = Statement(
    select(grants.c.company_id, grants.c.project_id, grants.c.workflow_id).where(
        grants.c.user_id == bindparam("user_id"), _of_provider
    )
)
WITHDRAW_FROM = Statement(delete(grants).where(grants.c.user_id == bindparam("user_id"), _of_provider))
WITHDRAW_ALL = Statement(delete(grants).where(_of_provider))
WITHDRAW_EVERYWHERE = Statement(
    delete(grants).where(grants.c.user_id == bindparam("user_id"), grants.c.mapping_id.is_not(None))
)

# --- identities
ACCOUNT_OF = Statement(
    select(accounts.c.userid, accounts.c.id, accounts.c.email)
    .join(iam_identities, iam_identities.c.user_id == accounts.c.id)
    .where(
        iam_identities.c.provider_id == bindparam("provider_id"),
        iam_identities.c.subject == bindparam("subject"),
        iam_identities.c.authority == bindparam("authority"),
    )
)
LINK = Statement(
    insert(iam_identities).values(
        provider_id=bindparam("provider_id"),
        subject=bindparam("subject"),
        authority=bindparam("authority"),
        user_id=bindparam("user_id"),
        created_at=bindparam("now"),
    )
)
FORGET_OTHERS = Statement(
    delete(iam_identities).where(
        iam_identities.c.provider_id == bindparam("provider_id"),
        iam_identities.c.subject == bindparam("subject"),
        iam_identities.c.authority != bindparam("authority"),
    )
)
FORGET_ALL = Statement(delete(iam_identities).where(iam_identities.c.provider_id == bindparam("provider_id")))
OPENS = Statement(
    select(iam_identities.c.provider_id)
    .join(iam_providers, iam_providers.c.id == iam_identities.c.provider_id)
    .where(iam_identities.c.user_id == bindparam("user_id"), iam_providers.c.enabled.is_(True))
    .limit(1)
)
FORGET_PERSON = Statement(delete(iam_identities).where(iam_identities.c.user_id == bindparam("user_id")))
# Somebody of the provider whose role in its company, or in the one above, is higher.
PERSON_ABOVE = Statement(
    select(iam_identities.c.user_id)
    .join(grants, grants.c.user_id == iam_identities.c.user_id)
    .where(
        iam_identities.c.provider_id == bindparam("provider_id"),
        or_(grants.c.company_id == bindparam("company_id"), grants.c.company_id == bindparam("root_id")),
        grants.c.role > bindparam("role"),
    )
    .limit(1)
)

# --- email domains that the operator granted
DOMAINS = Statement(
    select(company_domains.c.domain)
    .where(company_domains.c.company_id == bindparam("company_id"))
    .order_by(company_domains.c.domain)
)
ALL_DOMAINS = Statement(
    select(company_domains.c.domain, company_domains.c.company_id, companies.c.name, company_domains.c.created_at)
    .join(companies, companies.c.id == company_domains.c.company_id)
    .order_by(company_domains.c.domain)
)
DOMAIN = Statement(select(company_domains.c.company_id).where(company_domains.c.domain == bindparam("domain")))
GRANT_DOMAIN = Statement(
    insert(company_domains).values(
        domain=bindparam("domain"), company_id=bindparam("company_id"), created_at=bindparam("now")
    )
)
REVOKE_DOMAIN = Statement(
    delete(company_domains).where(
        company_domains.c.domain == bindparam("domain"), company_domains.c.company_id == bindparam("company_id")
    )
)
COMPANY = Statement(select(companies.c.name).where(companies.c.id == bindparam("id")))
PARENT = Statement(select(companies.c.parent_id).where(companies.c.id == bindparam("id")))
