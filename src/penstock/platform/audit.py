"""The audit log: who did what, written in the transaction of what it records. The database refuses to change it."""

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import bindparam, insert

from penstock.accounts.sessions import Visitor
from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.storage import Database, Statement, Transaction, now
from penstock.storage.platform_tables import audit_entries

if TYPE_CHECKING:
    from penstock.platform.access import Access

MASK = "********"
_SECRET_WORDS = ("password", "secret", "token", "private_key", "credential")
_COLUMNS = (
    "id",
    "company_id",
    "user_id",
    "action",
    "resource_type",
    "resource_id",
    "details",
    "ip_address",
    "user_agent",
    "request_id",
    "created_at",
)
_ADD = Statement(insert(audit_entries).values({name: bindparam(name) for name in _COLUMNS}))


async def record(
    tx: Transaction,
    call: Call | Visitor,
    action: str,
    *,
    user_id: str | None,
    company_id: str | None = None,
    resource_id: str | None = None,
    resource_type: str = "",
    details: dict[str, Any] | None = None,
) -> None:
    """`action` is `<what>.<verb>`; what is also the resource's word, unless another is given."""
    by = call if isinstance(call, Visitor) else Visitor(call.origin.client, call.header(b"user-agent"), "", False)
    await tx.run(
        _ADD,
        id=uuid7(),
        company_id=company_id,
        user_id=user_id,
        action=action,
        resource_type=resource_type or action.partition(".")[0],
        resource_id=resource_id,
        details=msgspec.json.encode(masked(details or {})).decode(),
        ip_address=by.address,
        user_agent=by.user_agent[:500],
        request_id=call.request_id,
        created_at=now(),
    )


async def by(
    tx: Transaction,
    call: Call,
    access: "Access",
    action: str,
    resource_id: str | None,
    details: dict[str, Any] | None = None,
    *,
    company_id: str | None = None,
) -> None:
    """What somebody did at a resource, in the log of the company on top of it."""
    await record(
        tx,
        call,
        action,
        user_id=access.caller.id,
        company_id=company_id or access.root_id,
        resource_id=resource_id,
        details=details,
    )


async def refused(database: Database, call: Call, access: "Access", resource: str, id_: str) -> None:
    async with database.transaction() as tx:
        await record(
            tx,
            call,
            "access.denied",
            user_id=access.caller.id,
            company_id=access.root_id,
            resource_type=resource,
            resource_id=id_,
            details={"method": call.method},
        )


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """`{member: {"before": …, "after": …}}` for the members that changed."""
    return {
        name: {"before": before.get(name), "after": value} for name, value in after.items() if before.get(name) != value
    }


def masked(value: Any, name: str = "") -> Any:
    """The same, with everything that is called a secret hidden."""
    if isinstance(value, dict):
        if set(value) == {"before", "after"} and _is_secret(name):
            return {"before": MASK, "after": MASK}
        return {key: masked(member, str(key)) for key, member in value.items()}
    if isinstance(value, list):
        return [masked(member, name) for member in value]
    return MASK if _is_secret(name) and value else value


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)
