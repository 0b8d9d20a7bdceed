"""Keeps in the audit log what the accounts tell: sign-ins at either door, and changes of an account."""

from typing import Any

from sqlalchemy import bindparam, select

from penstock.accounts.sessions import Visitor
from penstock.platform import audit
from penstock.storage import Statement, Transaction
from penstock.storage.schema import accounts

_ID = Statement(select(accounts.c.id).where(accounts.c.userid == bindparam("userid")))


class AuditJournal:
    async def note(
        self, tx: Transaction, action: str, userid: int | None, visitor: Visitor, details: dict[str, Any] | None = None
    ) -> None:
        row = await tx.one(_ID, userid=userid) if userid is not None else None
        user_id = row[0] if row is not None else None
        await audit.record(
            tx, visitor, action, user_id=user_id, resource_type="user", resource_id=user_id, details=details
        )
