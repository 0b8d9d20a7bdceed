"""Check of projects' secrets: whether the keys at hand open them. After a restore, that is the question."""

from collections.abc import AsyncIterator

from penstock.cli.findings import Finding, fail, ok
from penstock.platform.secrets.queries import COUNT_BY_KEY
from penstock.platform.secrets.vault import Vault
from penstock.settings import Loaded, Settings
from penstock.storage import StorageError, open_database
from penstock.storage.opening import AddressError
from penstock.storage.secret import kept_secret


async def sealed(loaded: Loaded) -> AsyncIterator[Finding]:
    try:
        opened, closed = await _counts(loaded.settings)
    except (AddressError, StorageError, OSError):
        return  # what is wrong with the database, its own check says
    if closed:
        yield fail(
            "secrets",
            f"{closed} of {opened + closed} secrets of projects were sealed with a key that is not here",
            "Set secrets_key (or jwt_secret) as it was, or add the old one to secrets_key_previous; "
            "else they must be set again.",
        )
    elif opened:
        yield ok("secrets", f"the keys at hand open all {opened} of them")


async def _counts(settings: Settings) -> tuple[int, int]:
    """How many secrets can be opened, and how many cannot."""
    database = await open_database(settings.database.reveal(), pool=1, upgrade=False)
    try:
        vault = Vault(settings, await kept_secret(database, settings.jwt_secret.reveal()))
        rows = await database.all(COUNT_BY_KEY)
    finally:
        await database.close()
    opened = sum(int(row[1]) for row in rows if vault.has(str(row[0])))
    return opened, sum(int(row[1]) for row in rows) - opened
