"""Mail that is still to leave: a table, so that it survives a restart, and a task that empties it.

A row says only "a reset mail for this email was asked for". Whether there is such an account is looked up here, and
the token is made here, so that neither a secret nor anybody's existence lies in the table.
"""

import asyncio
import inspect
from urllib.parse import urlencode

import msgspec
import structlog
from sqlalchemy import bindparam, delete, func, insert, select, update

from penstock.accounts import mail, reset_tokens, saml_registry, users
from penstock.accounts.hooks import Hooks, result
from penstock.http import metrics
from penstock.ids import uuid7
from penstock.settings import Settings
from penstock.storage import Database, Statement, StorageError, Transaction, now
from penstock.storage.schema import outbox

log = structlog.get_logger()

_LEASE = 120  # seconds in which a mail that was taken is sent, or is taken again by someone else
_GIVE_UP = 24 * 3600
_LONGEST_PAUSE = 1800
_IDLE = 60


class Entry(msgspec.Struct, frozen=True):
    id: str
    email: str
    reset_url: str
    attempts: int
    created_at: int


_PUT = Statement(
    insert(outbox).values(
        id=bindparam("id"),
        email=bindparam("email"),
        reset_url=bindparam("reset_url"),
        attempts=0,
        due_at=bindparam("now"),
        last_error="",
        created_at=bindparam("now"),
    )
)
_NEXT = select(outbox.c.id).where(outbox.c.due_at <= bindparam("now")).order_by(outbox.c.due_at).limit(1)
# The second look at `due_at` is for PostgreSQL: whoever waited for the row finds it taken, not due.
_TAKE = Statement(
    update(outbox)
    .where(outbox.c.id == _NEXT.scalar_subquery(), outbox.c.due_at <= bindparam("now"))
    .values(due_at=bindparam("lease"), attempts=outbox.c.attempts + 1)
    .returning(outbox.c.id, outbox.c.email, outbox.c.reset_url, outbox.c.attempts, outbox.c.created_at)
)
_LATER = Statement(
    update(outbox).where(outbox.c.id == bindparam("id_")).values(due_at=bindparam("due"), last_error=bindparam("error"))
)
_DONE = Statement(delete(outbox).where(outbox.c.id == bindparam("id")))
_DUE = Statement(select(func.min(outbox.c.due_at)))


def _require_uncancelled() -> None:
    """The mail library waits with `wait_for`, which in Python 3.11 forgets that it was cancelled when what it waits for
    ends in that moment; and then a server that is told to stop would wait for us for ever."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class Outbox:
    def __init__(self, settings: Settings, database: Database, hooks: Hooks) -> None:
        self._settings = settings
        self._database = database
        self._hooks = hooks
        self._wake = asyncio.Event()

    async def put(self, tx: Transaction, email: str, reset_url: str) -> None:
        await tx.run(_PUT, id=uuid7(), email=email, reset_url=reset_url, now=now())
        tx.after_commit(self._wake.set)

    async def run(self) -> None:
        """Send what is due, for as long as the server runs."""
        while True:
            self._wake.clear()
            try:
                while await self._send_next():
                    _require_uncancelled()
                pause = await self._pause()
            except StorageError as error:
                log.warning("the outbox cannot be read; trying again", error=str(error))
                pause = 5.0
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _send_next(self) -> bool:
        async with self._database.transaction() as tx:
            row = await tx.one(_TAKE, now=now(), lease=now() + _LEASE * 1_000_000)
        if row is None:
            return False
        entry = Entry(*row)
        token = await self._token_for(entry)
        if token is None:
            await self._done(entry)
            return True
        try:
            async with asyncio.timeout(_LEASE - 20):
                await self._send(entry, token)
        except Exception as error:  # noqa: BLE001 - a deployment's hook may raise anything; the mail stays here
            await self._failed(entry, token, error)
        else:
            metrics.mails.labels("sent").inc()
            await self._done(entry)
        return True

    async def _token_for(self, entry: Entry) -> str | None:
        """A token for the account that has this email now; None when no mail is to leave."""
        account = await users.by_email(self._database, entry.email)
        if account is None:
            return None
        # Whose company signs them in must not get around it through the mailbox.
        if await saml_registry.provider_for(self._database, self._hooks, entry.email) is not None:
            return None
        async with self._database.transaction() as tx:
            current = await users.locked(tx, account.userid)
            # Looked at again under lock: a token must not go to an address that the account has just left.
            if current is None or not current.active or current.email != entry.email:
                return None
            return await reset_tokens.issue(tx, current.userid, self._settings.reset_ttl)

    async def _send(self, entry: Entry, token: str) -> None:
        hook = self._hooks.send_email
        if not entry.reset_url and (hook is not None or "${URL}" in self._settings.forgot_password_body):
            raise mail.MailError("where the reset page is, is unknown: set public_url or reset_url")
        separator = "&" if "?" in entry.reset_url else "?"
        url = f"{entry.reset_url}{separator}{urlencode({'token': token})}"
        if hook is None:
            await mail.send_reset(self._settings, entry.email, token=token, url=url)
        elif inspect.iscoroutinefunction(hook):
            await hook(entry.email, url)
        else:
            # Most likely it talks to a mail server, and nobody else may wait for that.
            await result(await asyncio.to_thread(hook, entry.email, url))

    async def _failed(self, entry: Entry, token: str, error: Exception) -> None:
        """Later, again; a token that nobody received is withdrawn."""
        hopeless = isinstance(error, mail.Refused) or now() - entry.created_at > _GIVE_UP * 1_000_000
        # An HTTP client's error, for one, shows the address that it called; a token belongs in no log.
        reason = (str(error) or type(error).__name__).replace(token, "********")
        metrics.mails.labels("given_up" if hopeless else "failed").inc()
        log.warning("a reset mail was not sent", error=reason, attempt=entry.attempts, given_up=hopeless)
        pause = min(_LONGEST_PAUSE, 2**entry.attempts)
        async with self._database.transaction() as tx:
            await reset_tokens.withdraw(tx, token)
            if hopeless:
                await tx.run(_DONE, id=entry.id)
            else:
                await tx.run(_LATER, id_=entry.id, due=now() + pause * 1_000_000, error=reason[:500])

    async def _done(self, entry: Entry) -> None:
        async with self._database.transaction() as tx:
            await tx.run(_DONE, id=entry.id)

    async def _pause(self) -> float:
        row = await self._database.one(_DUE)
        if row is None or row[0] is None:
            return _IDLE
        due: int = row[0]
        return min(_IDLE, max(0.0, (due - now()) / 1_000_000))
