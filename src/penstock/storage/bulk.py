"""One statement for many rows: the rows go to the database as one list, and not one by one.

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
    """What each row gives, in the order in which the statement takes it."""
    key: int | None = None
    """Which of them finds the row that an update is of: it must not find the same one twice."""

    def values_of(self, rows: Sequence[Mapping[str, Any]]) -> list[list[Any]] | None:
        """The rows as lists; None when only one after the other will do."""
        names = self.names
        values = [[row[name] for name in names] for row in rows]
        key = self.key
        if key is not None and len({row[key] for row in values}) < len(values):
            return None
        return values


def for_sqlite(clause: Any, text: str, constants: Mapping[str, Any]) -> Bulk | None:
    """With the rows as `:rows`, a JSON array of arrays. None for what cannot be written so."""
    names: list[str] = []

    def member(found: re.Match[str]) -> str:
        name = found[1]
        if name in constants:
            return found[0]
        if name not in names:
            names.append(name)
        return f"json_extract(r.value, '$[{names.index(name)}]')"

    if not _is_plain(clause):
        return None
    if (insert := _INSERT.fullmatch(text)) is not None:
        values = _NAMED.sub(member, insert["values"])
        # Without a WHERE, SQLite takes ON CONFLICT for the ON of a join.
        text = f"{insert['head']} SELECT {values} FROM json_each(:rows) AS r WHERE true{insert['tail'] or ''}"  # noqa: S608
        return Bulk(text, tuple(names))
    if (update := _UPDATE.fullmatch(text)) is not None and _ONE_KEY.fullmatch(update["where"]):
        where, head = _NAMED.sub(member, update["where"]), _NAMED.sub(member, update["head"])
        where = _SHARED.sub(r" AND +\1", where)
        return Bulk(f"{head} FROM json_each(:rows) AS r WHERE {where}", tuple(names), key=0) if names else None
    return None


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
        return Bulk(f"{head} FROM {_unnested(arrays)} WHERE {where}", tuple(names), key=number - 1)
    return None


def _unnested(arrays: Mapping[int, str]) -> str:
    numbers = sorted(arrays)
    given = ", ".join(arrays[number] for number in numbers)
    return f"unnest({given}) WITH ORDINALITY AS r({', '.join(f'v{number}' for number in numbers)}, at)"


def _is_plain(clause: Any) -> bool:
    """Bytes are nothing that JSON can carry."""
    return isinstance(clause, Insert | Update) and not any(
        isinstance(column.type, LargeBinary) for column in clause.table.columns
    )
