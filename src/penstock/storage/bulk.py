"""One statement for many rows: the rows go to the database all at once, and not one by one.

SQLite then writes them all without Python in between, so that a thread can do it while others compute; PostgreSQL
plans and runs one statement and not a thousand.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import LargeBinary
from sqlalchemy.sql.dml import Insert, Update

_INSERT = re.compile(r"(?P<head>INSERT INTO \w+ \([\w, ]+\)) VALUES \((?P<values>[^()]+)\)(?P<tail> ON CONFLICT .+)?")
_UPDATE = re.compile(r"(?P<head>UPDATE \w+ SET [^()]+) WHERE (?P<where>[^()]+)")
# An update finds its row by one column, so that rows with different keys are never about the same one.
_ONE_KEY = re.compile(r"[^:$]*\w+\.\w+ = (:\w+|\$\d+::\w+)[^:$]*")
_NAMED = re.compile(r":(\w+)")
# SQLite would rather look at every row where a column is NULL than at the one with the key: a plus forbids it.
_SHARED = re.compile(r" AND (\w+\.\w+ IS NULL)")
_NUMBERED = re.compile(r"\$(\d+)::(\w+)")
_ARRAYS = {"VARCHAR": "text", "TEXT": "text", "UUID": "text", "BOOLEAN": "boolean"}


class Bulk(msgspec.Struct, frozen=True):
    text: str
    names: tuple[str, ...]
    """What the statement takes, in this order: an array each."""
    key: str | None = None
    """Which of them finds the row that an update is of: it must not find the same one twice."""


class Values(msgspec.Struct, frozen=True):
    """A statement around the rows: they are written out as parameters, as many times as there are rows."""

    head: str
    row: str
    tail: str
    blank: tuple[int | None, ...]
    """A row of nothing: NULL where none may be, and else what takes the least time."""
    key: str | None = None

    def text(self, count: int) -> str:
        return self.head + ", ".join([self.row] * count) + self.tail


def about_different_rows(given: Sequence[Sequence[Any]], names: Sequence[str], key: str | None) -> bool:
    """False when they must be written one after the other."""
    if key is None:
        return True
    place = names.index(key)
    return len({row[place] for row in given}) == len(given)


def for_sqlite(clause: Any, text: str, names: Sequence[str], constants: Mapping[str, Any]) -> Values | None:
    """With the values of the rows, in the order of the names, as parameters. None for what cannot be written so."""

    def literal(found: re.Match[str]) -> str:
        name = found[1]
        return _literal(constants[name]) if name in constants else found[0]

    def column(found: re.Match[str]) -> str:
        return f"r.column{names.index(found[1]) + 1}"

    if not isinstance(clause, Insert | Update) or not names:
        return None
    text = _NAMED.sub(literal, text)
    if (insert := _INSERT.fullmatch(text)) is not None and not _NAMED.search(insert["tail"] or ""):
        return _inserting(insert, names, clause.table)
    if (update := _UPDATE.fullmatch(text)) is not None and (key := _ONE_KEY.fullmatch(update["where"])) is not None:
        where = _SHARED.sub(r" AND +\1", _NAMED.sub(column, update["where"]))
        head, row = f"{_NAMED.sub(column, update['head'])} FROM (VALUES ", f"({', '.join('?' * len(names))})"
        name = key[1].removeprefix(":")
        return Values(head, row, f") AS r WHERE {where}", _blank(names, names.index(name)), name)
    return None


def _inserting(insert: re.Match[str], names: Sequence[str], table: Any) -> Values | None:
    """The columns in the order of the names, and after them those that are the same in every row."""
    into, _, columns = insert["head"].removesuffix(")").partition(" (")
    pairs = list(zip(insert["values"].split(", "), columns.split(", "), strict=True))
    given = {value.removeprefix(":"): column for value, column in pairs if value.startswith(":")}
    same = [(value, column) for value, column in pairs if not value.startswith(":")]
    if len(given) + len(same) < len(pairs) or given.keys() != set(names):
        return None  # one name twice
    columns = ", ".join([*(given[name] for name in names), *(column for _, column in same)])
    taken = ", ".join([*(f"column{at + 1}" for at in range(len(names))), *(value for value, _ in same)])
    filled = next((at for at, name in enumerate(names) if not table.c[given[name]].nullable), None)
    if filled is None:
        return None
    head = f"{into} ({columns}) SELECT {taken} FROM (VALUES "  # noqa: S608
    tail = f") WHERE column{filled + 1} IS NOT NULL{insert['tail'] or ''}"
    return Values(head, f"({', '.join('?' * len(names))})", tail, _blank(names, filled))


def _blank(names: Sequence[str], null: int) -> tuple[int | None, ...]:
    return tuple(None if at == null else 0 for at in range(len(names)))


def _literal(value: str | int | bool | None) -> str:
    """What stands in the statement itself; never what somebody sent."""
    if value is None:
        return "NULL"
    return str(int(value)) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def for_postgresql(clause: Any, text: str, names: Sequence[str]) -> Bulk | None:
    """With one array for each of the names, in their order. None for what cannot be written so."""
    arrays: dict[int, str] = {}

    def member(found: re.Match[str]) -> str:
        number = int(found[1])
        arrays[number] = f"${number}::{_ARRAYS.get(found[2], 'bigint')}[]"
        return f"r.v{number}::{found[2]}"

    if not _is_plain(clause):
        return None
    text = text.partition(" RETURNING ")[0]
    if (insert := _INSERT.fullmatch(text)) is not None and insert["tail"] is None:
        values = _NUMBERED.sub(member, insert["values"])
        # Ids that the database gives grow in the order of the rows.
        text = f"{insert['head']} SELECT {values} FROM {_unnested(arrays)} ORDER BY r.at"  # noqa: S608
        return Bulk(text, tuple(names))
    if (update := _UPDATE.fullmatch(text)) is not None and (key := _ONE_KEY.fullmatch(update["where"])) is not None:
        where, head = _NUMBERED.sub(member, update["where"]), _NUMBERED.sub(member, update["head"])
        number = int(key[1][1:].partition("::")[0])
        return Bulk(f"{head} FROM {_unnested(arrays)} WHERE {where}", tuple(names), key=names[number - 1])
    return None


def _unnested(arrays: Mapping[int, str]) -> str:
    numbers = sorted(arrays)
    given = ", ".join(arrays[number] for number in numbers)
    return f"unnest({given}) WITH ORDINALITY AS r({', '.join(f'v{number}' for number in numbers)}, at)"


def _is_plain(clause: Any) -> bool:
    """Bytes would need an array of another type."""
    return isinstance(clause, Insert | Update) and not any(
        isinstance(column.type, LargeBinary) for column in clause.table.columns
    )
