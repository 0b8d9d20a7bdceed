"""Where everything is kept: tables, migrations and transactions, on SQLite or PostgreSQL."""

import penstock.storage.engine_tables
import penstock.storage.platform_tables  # noqa: F401 - registers its tables
from penstock.storage.database import (
    Busy,
    Database,
    Duplicate,
    Refused,
    Row,
    StorageError,
    Transaction,
    Unavailable,
    now,
)
from penstock.storage.opening import open_database
from penstock.storage.statement import Statement

__all__ = [
    "Busy",
    "Database",
    "Duplicate",
    "Refused",
    "Row",
    "Statement",
    "StorageError",
    "Transaction",
    "Unavailable",
    "now",
    "open_database",
]
