"""The server's own secret: configured, or made once and kept beside the database."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert

from penstock.settings import SettingsError
from penstock.storage.database import Database
from penstock.storage.schema import key_values
from penstock.storage.sqlite import SqliteDatabase
from penstock.storage.statement import Statement

_KEY = "penstock.secret"
_READ = Statement(select(key_values.c.value).where(key_values.c.key == bindparam("key")))
_KEEP_FIRST = Statement(
    insert(key_values).values(key=bindparam("key"), value=bindparam("value")).on_conflict_do_nothing()
)


async def server_secret(database: Database, configured: str) -> bytes:
    """Beside an SQLite file as a file of its own, so that a copy of the data holds no key; servers that share
    a PostgreSQL must share the secret, so there it is in the database."""
    if configured:
        return configured.encode()
    if isinstance(database, SqliteDatabase):
        return _from_file(database.path.with_name(database.path.name + ".secret"))
    async with database.transaction() as tx:
        await tx.run(_KEEP_FIRST, key=_KEY, value=secrets.token_urlsafe(48))
        row = await tx.one(_READ, key=_KEY)
    assert row is not None  # noqa: S101
    return str(row[0]).encode()


async def kept_secret(database: Database, configured: str) -> bytes:
    """The same, for who only looks: blank where none was made yet."""
    if configured:
        return configured.encode()
    if isinstance(database, SqliteDatabase):
        path = database.path.with_name(database.path.name + ".secret")
        return path.read_bytes().strip() if path.exists() else b""
    row = await database.one(_READ, key=_KEY)
    return b"" if row is None else str(row[0]).encode()


def derive(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose, so that what is signed for one cannot be used for another."""
    return hmac.digest(secret, purpose.encode(), hashlib.sha256)


def _from_file(path: Path) -> bytes:
    try:
        # Written whole under another name, then linked: of two servers that start together, one wins, and nobody
        # ever reads half a secret.
        if not path.exists():
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(48))
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        secret = path.read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"jwt_secret: cannot keep one in {path} ({error.strerror}); configure it") from error
    if len(secret) < 32:
        raise SettingsError(f"jwt_secret: {path} holds fewer than 32 bytes; delete it to have a new one made")
    return secret
