"""The parts that the flows of accounts need, put together and started once."""

import asyncio
from contextlib import suppress
from typing import Protocol

import structlog

from penstock.accounts import outbox, reset_tokens, saml_registry, sessions
from penstock.accounts.hooks import Hooks
from penstock.accounts.journal import Journal, NoJournal
from penstock.accounts.limits import Limits
from penstock.accounts.oauth import OAuthClient
from penstock.accounts.passwords import Passwords
from penstock.accounts.saml import Assertion, IdentityProvider
from penstock.settings import Settings
from penstock.storage import Database, StorageError, Transaction
from penstock.storage.secret import derive, server_secret

log = structlog.get_logger()
_SWEEP_EVERY = 3600


class SamlSource(Protocol):
    """SAML providers that are kept elsewhere, each under a key of its own. Asked by the key that a request was
    remembered with, never by issuer: anyone may claim an issuer's name."""

    def owns(self, key: str) -> bool: ...

    async def provider(self, key: str) -> IdentityProvider | None: ...

    async def arrived(self, key: str, next_: str, request_id: str, assertion: Assertion) -> str:
        """What to make of a verified answer; the path to send the browser to."""


class Doors(Protocol):
    """Ways in to accounts that are kept elsewhere."""

    async def opens(self, tx: Transaction, user_id: str) -> bool:
        """Whether one of them opens this account."""

    async def shut(self, tx: Transaction, user_id: str) -> None:
        """None of them opens this account any more."""


class Accounts:
    """Everything of document 1 that lives as long as the server does."""

    def __init__(self, settings: Settings, database: Database, secret: bytes, hooks: Hooks) -> None:
        self.settings = settings
        self.database = database
        self.hooks = hooks
        self.passwords = Passwords(
            hooks, concurrency=settings.password_hash_concurrency, min_length=settings.password_min_length
        )
        self.limits = Limits(settings)
        self.oauth = OAuthClient(settings.oauth_providers)
        self.saml_sources: list[SamlSource] = []
        self.doors: list[Doors] = []
        self.secret = secret
        self.state_key = derive(secret, "oauth state cookie")
        self.outbox = outbox.Outbox(settings, database, hooks)
        self.journal: Journal = NoJournal()
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, settings: Settings, database: Database, hooks: Hooks) -> "Accounts":
        secret = await server_secret(database, settings.jwt_secret.reveal())
        accounts = cls(settings, database, secret, hooks)
        await accounts.passwords.warm_up()
        await saml_registry.register_configured(database, settings)
        accounts._tasks = [asyncio.create_task(accounts.outbox.run()), asyncio.create_task(accounts._sweep())]
        return accounts

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self.passwords.close()
        await self.limits.close()
        await self.oauth.aclose()

    async def _sweep(self) -> None:
        """What has expired is of no use to anyone, and must not fill the disk."""
        while True:
            try:
                async with self.database.transaction() as tx:
                    await sessions.sweep(tx)
                    await reset_tokens.sweep(tx)
                    await saml_registry.sweep(tx)
            except StorageError as error:
                log.warning("sweeping expired rows failed; it is tried again in an hour", error=str(error))
            await asyncio.sleep(_SWEEP_EVERY)
