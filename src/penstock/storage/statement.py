"""SQL written once with SQLAlchemy Core, compiled once for each database, run by the bare driver.

SQLAlchemy's execution layer costs more than the query itself (measured: a factor of two on a read by key), and its
types are not needed: columns are integers, text, bytes and booleans, which both drivers speak.
"""

from typing import Any

from sqlalchemy.dialects.postgresql.asyncpg import dialect as postgresql_dialect
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler

from penstock.storage import bulk
from penstock.storage.bulk import Bulk, Values

_SQLITE = sqlite_dialect(paramstyle="named")
_POSTGRESQL = postgresql_dialect()  # type: ignore[no-untyped-call]


class Statement:
    """A Core statement with named parameters (`bindparam`), ready for both drivers.

    Inserts written with `sqlalchemy.dialects.postgresql.insert` compile for SQLite too, `ON CONFLICT` included.
    """

    __slots__ = ("_clause", "_names", "_postgresql", "_postgresql_bulk", "_sqlite", "_sqlite_bulk")

    def __init__(self, clause: Executable, *names: str) -> None:
        """`names`: the parameters in the order in which rows give them."""
        self._clause = clause
        self._names = names
        self._sqlite: tuple[str, dict[str, Any]] | None = None
        self._postgresql: tuple[str, tuple[str, ...], dict[str, Any]] | None = None
        self._sqlite_bulk: tuple[Values | None] | None = None
        self._postgresql_bulk: tuple[Bulk | None, dict[str, Any]] | None = None

    def for_sqlite(self, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text, and parameters by name."""
        if self._sqlite is None:
            compiled = self._compile(_SQLITE)
            self._sqlite = compiled.string, _constants(compiled)
        text, constants = self._sqlite
        return text, (constants | params if constants else params)

    def for_postgresql(self, params: dict[str, Any]) -> tuple[str, list[Any]]:
        """The text with `$1` …, and parameters in that order."""
        if self._postgresql is None:
            compiled = self._compile(_POSTGRESQL)
            self._postgresql = compiled.string, tuple(compiled.positiontup or ()), _constants(compiled)
        text, names, constants = self._postgresql
        return text, [params[name] if name in params else constants[name] for name in names]

    @property
    def names(self) -> tuple[str, ...]:
        """What each row of many gives, in this order."""
        if not self._names:
            self._names = tuple(name for name, bind in self._compile(_SQLITE).binds.items() if bind.required)
        return self._names

    def bulk_for_sqlite(self) -> Values | None:
        """The form for many rows, if there is one."""
        if self._sqlite_bulk is None:
            compiled = self._compile(_SQLITE)
            self._sqlite_bulk = (bulk.for_sqlite(self._clause, compiled.string, self.names, _constants(compiled)),)
        return self._sqlite_bulk[0]

    def bulk_for_postgresql(self) -> tuple[Bulk | None, dict[str, Any]]:
        """The form for many rows, if there is one, and the parameters that are the same for all."""
        if self._postgresql_bulk is None:
            compiled = self._compile(_POSTGRESQL)
            names = tuple(compiled.positiontup or ())
            self._postgresql_bulk = bulk.for_postgresql(self._clause, compiled.string, names), _constants(compiled)
        return self._postgresql_bulk

    def _compile(self, dialect: Any) -> SQLCompiler:
        compiled = self._clause.compile(dialect=dialect)  # type: ignore[attr-defined]
        assert isinstance(compiled, SQLCompiler)  # noqa: S101
        return compiled


def _constants(compiled: SQLCompiler) -> dict[str, Any]:
    """Values that stand in the statement itself (`.where(t.c.active == 1)`), not those still to be given."""
    return {name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required}
