"""Email domains that the operator granted to a company: its providers speak for these, and for no others."""

import msgspec

from penstock.accounts.sessions import Visitor
from penstock.http.times import rfc3339
from penstock.ids import is_uuid
from penstock.platform import audit
from penstock.platform.iam import queries
from penstock.platform.iam.config import is_domain
from penstock.problems import Conflict, Invalid, NotFound
from penstock.storage import Database, Duplicate, Transaction, now
from penstock.storage.database import Reader

_OPERATOR = Visitor("", "penstock domains", "", secure=False)


class Granted(msgspec.Struct, frozen=True):
    domain: str
    company_id: str
    company: str
    granted_at: str


def _domain(text: str) -> str:
    name = text.strip().lower().removeprefix("@")
    if not is_domain(name):
        raise Invalid(f"{text!r} is not an email domain")
    return name


async def grant(database: Database, company_id: str, domain: str) -> str:
    """Let a company's providers open accounts for this domain. Granting it again changes nothing."""
    name, id_ = _domain(domain), company_id.lower()
    async with database.transaction() as tx:
        if not is_uuid(id_) or await tx.one(queries.COMPANY, id=id_) is None:
            raise NotFound(f"there is no company {company_id}")
        held = await tx.one(queries.DOMAIN, domain=name)
        if held is not None and str(held[0]) == id_:
            return name
        try:
            if held is not None:
                raise Duplicate(name)
            await tx.run(queries.GRANT_DOMAIN, domain=name, company_id=id_, now=now())
        except Duplicate as error:
            raise Conflict(f"another company speaks for {name}; revoke it there first") from error
        await _note(tx, "domain.grant", id_, name)
    return name


async def revoke(database: Database, company_id: str, domain: str) -> str:
    name, id_ = _domain(domain), company_id.lower()
    async with database.transaction() as tx:
        if not is_uuid(id_) or not await tx.run(queries.REVOKE_DOMAIN, domain=name, company_id=id_):
            raise NotFound(f"{name} is not granted to company {company_id}")
        await _note(tx, "domain.revoke", id_, name)
    return name


async def _note(tx: Transaction, action: str, company_id: str, domain: str) -> None:
    """The company sees it; nobody who has an account did it."""
    row = await tx.one(queries.PARENT, id=company_id)
    parent_id = row[0] if row is not None else None
    await audit.record(
        tx,
        _OPERATOR,
        action,
        user_id=None,
        company_id=parent_id or company_id,
        organization_id=company_id if parent_id is not None else None,
        resource_id=domain,
    )


async def listed(reader: Reader) -> list[Granted]:
    return [Granted(row[0], str(row[1]), row[2], rfc3339(row[3])) for row in await reader.all(queries.ALL_DOMAINS)]


async def of_company(reader: Reader, company_id: str) -> set[str]:
    return {str(row[0]) for row in await reader.all(queries.DOMAINS, company_id=company_id)}
