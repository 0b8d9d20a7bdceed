"""Tells the deployment what happened, inside the transaction in which it happened."""

from typing import Any

from penstock.accounts.hooks import Hooks, result
from penstock.storage import Transaction


async def emit(tx: Transaction, hooks: Hooks, action: str, userid: int, info: Any) -> None:
    """`create`, `auth` or `resetpassword`. When the hook raises, the operation is rolled back with it."""
    if hooks.on_auth_event is not None:
        await result(hooks.on_auth_event(tx, action, userid, info))
