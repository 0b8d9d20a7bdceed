"""What the accounts tell whoever keeps an audit log, inside the transaction of what they tell. By default nobody."""

from typing import Any, Protocol

from penstock.accounts.sessions import Visitor
from penstock.storage import Transaction


class Journal(Protocol):
    async def note(
        self, tx: Transaction, action: str, userid: int | None, visitor: Visitor, details: dict[str, Any] | None = None
    ) -> None:
        """`auth.register`, `auth.login`, `auth.login_failed`, `auth.logout`, `auth.resetpassword`, `user.update`,
        `user.link`, `user.unlink`, or `user.claim`: its holder came, and whoever had made it before is out."""


class NoJournal:
    async def note(
        self, tx: Transaction, action: str, userid: int | None, visitor: Visitor, details: dict[str, Any] | None = None
    ) -> None:
        pass
