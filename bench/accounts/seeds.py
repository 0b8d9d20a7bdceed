"""The same population for every server: users of one password, with a session each, put straight into its tables.

Through the API it would take minutes of hashing and meet the rate limits. A table that has changed fails here, loudly.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from argon2 import PasswordHasher

PASSWORD = "correct horse battery staple"
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Population:
    """How many users there are; the hash of their password under argon2id, and under better-auth's own scrypt."""

    size: int
    argon2id: str
    scrypt: str

    @classmethod
    def of(cls, size: int) -> "Population":
        argon2id = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1).hash(PASSWORD)
        return cls(size, argon2id, _scrypt(PASSWORD))

    @property
    def numbers(self) -> range:
        return range(1, self.size + 1)


def email(number: int) -> str:
    return f"user{number}@bench.example"


def seed_penstock(path: Path, population: Population) -> None:
    at = _microseconds(datetime.now(UTC))
    ends = _microseconds(datetime.now(UTC) + 30 * DAY)
    _insert(
        path,
        "accounts (userid, id, email, email_verified, password_hash, settings, display_name, avatar_url, active,"
        " created_at, updated_at)",
        ((n, str(uuid4()), email(n), 1, population.argon2id, "", "", "", 1, at, at) for n in population.numbers),
    )
    _insert(
        path,
        "sessions (token_hash, id, userid, ip_address, user_agent, created_at, expires_at)",
        ((_token_hash(n), str(uuid4()), n, "127.0.0.1", "bench", at, ends) for n in population.numbers),
    )


def seed_fastapi(path: Path, population: Population) -> None:
    ends = (datetime.now(UTC) + 30 * DAY).strftime("%Y-%m-%d %H:%M:%S.%f")
    _seed_users(path, population, ends)


def seed_floor(path: Path, population: Population) -> None:
    _seed_users(path, population, int((datetime.now(UTC) + 30 * DAY).timestamp()))


def seed_better_auth(path: Path, population: Population) -> None:
    _seed_better_auth(path, population, population.argon2id)


def seed_better_auth_scrypt(path: Path, population: Population) -> None:
    _seed_better_auth(path, population, population.scrypt)


def _seed_users(path: Path, population: Population, ends: str | int) -> None:
    users = ((n, email(n), population.argon2id, "") for n in population.numbers)
    _insert(path, "users (id, email, password_hash, settings)", users)
    sessions = ((_token_hash(n), n, ends) for n in population.numbers)
    _insert(path, "sessions (token_hash, user_id, expires_at)", sessions)


def _seed_better_auth(path: Path, population: Population, password: str) -> None:
    at, ends = _javascript(datetime.now(UTC)), _javascript(datetime.now(UTC) + 7 * DAY)
    _insert(
        path,
        "user (id, name, email, emailVerified, createdAt, updatedAt)",
        ((f"u{n}", "bench", email(n), 0, at, at) for n in population.numbers),
    )
    _insert(
        path,
        "account (id, accountId, providerId, userId, password, createdAt, updatedAt)",
        ((f"a{n}", f"u{n}", "credential", f"u{n}", password, at, at) for n in population.numbers),
    )
    _insert(
        path,
        "session (id, expiresAt, token, createdAt, updatedAt, ipAddress, userAgent, userId)",
        ((f"s{n}", ends, f"token{n}", at, at, "127.0.0.1", "bench", f"u{n}") for n in population.numbers),
    )


def _insert(path: Path, table_and_columns: str, rows: Iterable[Sequence[object]]) -> None:
    marks = ", ".join("?" * (table_and_columns.count(",") + 1))
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        database.executemany(f"INSERT INTO {table_and_columns} VALUES ({marks})", rows)


def _token_hash(number: int) -> bytes:
    return hashlib.sha256(f"seeded session {number}".encode()).digest()


def _microseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000)


def _javascript(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _scrypt(password: str) -> str:
    """As better-auth stores it: the salt's hexadecimal text is itself the salt."""
    salt = "00112233445566778899aabbccddeeff"
    key = hashlib.scrypt(password.encode(), salt=salt.encode(), n=16384, r=16, p=1, maxmem=64 << 20, dklen=64)
    return f"{salt}:{key.hex()}"
