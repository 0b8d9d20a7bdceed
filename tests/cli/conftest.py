"""What tests of commands share: databases that nobody has used yet, and settings as loaded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.settings import Loaded, load
from tests.postgresql import Databases


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """With no tables yet, and not even a file: making them is what commands do."""
    return f"sqlite:///{tmp_path}/penstock.db"


@pytest.fixture
def postgresql_url(databases: Databases) -> Iterator[str]:
    with databases.empty() as url:
        yield url


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Loaded]:
    """Settings of a fresh SQLite database, with what the test wants different."""

    def make(**overrides: Any) -> Loaded:
        return load(environ={}, overrides={"database": f"sqlite:///{tmp_path}/penstock.db", **overrides})

    return make
