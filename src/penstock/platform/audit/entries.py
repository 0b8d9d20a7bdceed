"""Writing entries. Where one stands: in the log of the top-level company, marked with the organization below it when it
happened there. A sign-in stands in the log of every company in which that person has a role at that moment: what a
company saw then stays when they leave, and nobody sees where someone signed in before they joined."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import bindparam, insert

from penstock.accounts.sessions import Visitor
from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.platform.companies.queries import ROOTS
from penstock.platform.texts import same_json
from penstock.storage import Statement, Transaction, now
from penstock.storage.platform_tables import audit_entries

if TYPE_CHECKING:
    from penstock.platform.access import Access

MASK = "********"
_SECRET_WORDS = ("password", "secret", "token", "private_key", "credential")
_LONGEST_AGENT = 500
ADD = Statement(insert(audit_entries).values({column.name: bindparam(column.name) for column in audit_entries.c}))


async def record(
    tx: Transaction,
    call: Call | Visitor,
    action: str,
    *,
    user_id: str | None,
    company_id: str | None = None,
    organization_id: str | None = None,
    resource_id: str | None = None,
    resource_type: str = "",
    details: dict[str, Any] | None = None,
) -> None:
    """`action` is `<what>.<verb>`; what is also the resource's word, unless another is given."""
    entry = _entry(call, action, user_id, organization_id, resource_id, resource_type, details)
    logs: list[str | None] = [company_id]
    if company_id is None and user_id is not None and action.startswith("auth."):
        logs = [row[0] for row in await tx.all(ROOTS, user_id=user_id)] or [None]
    await tx.run_many(ADD, [entry | {"id": uuid7(), "company_id": log} for log in logs])


def _entry(
    call: Call | Visitor,
    action: str,
    user_id: str | None,
    organization_id: str | None,
    resource_id: str | None,
    resource_type: str,
    details: dict[str, Any] | None,
) -> dict[str, Any]:
    by = call if isinstance(call, Visitor) else Visitor(call.origin.client, call.header(b"user-agent"), "", False)
    return {
        "organization_id": organization_id,
        "user_id": user_id,
        "action": action,
        "resource_type": resource_type or action.partition(".")[0],
        "resource_id": resource_id,
        "details": msgspec.json.encode(masked(details or {})).decode(),
        "ip_address": by.address,
        # PostgreSQL stores no NUL, and a strange header must not undo what it came with.
        "user_agent": by.user_agent[:_LONGEST_AGENT].replace("\0", ""),
        "request_id": call.request_id,
        "created_at": now(),
    }


def entry_by(
    call: Call, access: "Access", action: str, resource_id: str, details: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What somebody did at a resource, to be written (`ADD`) with what others did there."""
    entry = _entry(call, action, access.caller.id, access.organization_id, resource_id, "", details)
    return entry | {"id": uuid7(), "company_id": access.root_id}


async def by(
    tx: Transaction,
    call: Call,
    access: "Access",
    action: str,
    resource_id: str | None,
    details: dict[str, Any] | None = None,
    *,
    company_id: str | None = None,
    organization_id: str | None = None,
    resource_type: str = "",
) -> None:
    """What somebody did at a resource, in the log of the company on top of it."""
    await record(
        tx,
        call,
        action,
        user_id=access.caller.id,
        company_id=company_id or access.root_id,
        organization_id=organization_id or access.organization_id,
        resource_id=resource_id,
        resource_type=resource_type,
        details=details,
    )


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """`{member: {"before": …, "after": …}}` for the members that changed."""
    return {
        name: {"before": before.get(name), "after": value}
        for name, value in after.items()
        if not same_json(before.get(name), value)
    }


def masked(value: Any, name: str = "") -> Any:
    """The same, with everything that is called a secret hidden, however deep below that name."""
    if isinstance(value, dict):
        if set(value) == {"before", "after"} and _is_secret(name):
            return {"before": MASK, "after": MASK}
        return {key: masked(member, name if _is_secret(name) else str(key)) for key, member in value.items()}
    if isinstance(value, list):
        return [masked(member, name) for member in value]
    return MASK if _is_secret(name) and value else value


@lru_cache(maxsize=1_000)  # the same few names, at every write
def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)
