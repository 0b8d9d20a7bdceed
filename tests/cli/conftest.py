"""What tests of commands share: databases for code that runs its own event loop, and settings as loaded."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from penstock.settings import Loaded, load


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    name = f"test_{secrets.token_hex(8)}"

    async def run(statement: str) -> None:
        admin = await asyncpg.connect(postgresql_server)
        await admin.execute(statement)
        await admin.close()

    asyncio.run(run(f"CREATE DATABASE {name}"))
    yield postgresql_server.replace("/postgres?", f"/{name}?")
    asyncio.run(run(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/penstock.db"
    url: str = request.getfixturevalue("postgresql_url")
    return url


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Loaded]:
    """Settings of a fresh SQLite database, with what the test wants different."""

    def make(**overrides: Any) -> Loaded:
        return load(environ={}, overrides={"database": f"sqlite:///{tmp_path}/penstock.db", **overrides})

    return make
