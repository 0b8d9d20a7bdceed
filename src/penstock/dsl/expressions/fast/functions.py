"""jq's functions of no argument, and those whose arguments are plain values."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.access import each, has, item
from penstock.dsl.expressions.fast.numbers import computed, exact, is_number, read
from penstock.dsl.expressions.fast.operators import add, split
from penstock.dsl.expressions.fast.order import equal, is_true, rank, type_name
from penstock.dsl.expressions.fast.scope import Fails, Scope
from penstock.dsl.expressions.fast.texts import to_json, to_string

_LOWER = {number: number + 32 for number in range(ord("A"), ord("Z") + 1)}
_UPPER = {number + 32: number for number in _LOWER}
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # noqa: E501
# Numbers that are not written as we would write them, and halves of characters.
_NOT_PLAIN = re.compile(r"[0-9][.eE]|-0|[0-9]{15}|\\u[dD]|[nN][aA][nN]")


def array_of(value: Any) -> list[Any]:
    if type(value) is not list:
        raise Fails
    return value


def text_of(value: Any) -> str:
    if type(value) is not str:
        raise Fails
    return value


def _length(value: Any, scope: Scope) -> int | float:
    if type(value) in {list, dict, str}:
        return len(value)
    if value is None:
        return 0
    if not is_number(value):
        raise Fails
    if type(value) is float and value == 0:
        raise NeedsJq
    return abs(exact(value))


def _keys(value: Any, scope: Scope) -> list[Any]:
    if type(value) is dict:
        scope.spend(len(value))
        return sorted(value)
    scope.spend(len(array_of(value)))
    return list(range(len(value)))


def total(values: list[Any], scope: Scope) -> Any:
    """`add`. Many strings or arrays are joined at once: one after the other would take the square of their length."""
    scope.spend(len(values))
    if values and all(type(value) is str for value in values):
        scope.spend_on_text(sum(map(len, values)))
        return "".join(values)
    if values and all(type(value) is list for value in values):
        scope.spend(sum(map(len, values)) >> 2)
        return [one for value in values for one in value]
    result = None
    for value in values:
        result = add(result, value, scope)
    return result


def _add(value: Any, scope: Scope) -> Any:
    return total(list(each(value, scope)), scope)


def ranked(values: list[Any], scope: Scope) -> list[Any]:
    return [rank(value, scope) for value in values]


def sorted_by(values: list[Any], ranks: list[Any]) -> list[tuple[Any, Any]]:
    return sorted(zip(ranks, values, strict=True), key=lambda pair: pair[0])


def runs(values: list[Any], ranks: list[Any]) -> list[list[Any]]:
    """Sorted, and those of equal rank together."""
    found: list[list[Any]] = []
    before = None
    for here, value in sorted_by(values, ranks):
        if before is None or here != before:
            found.append([])
        found[-1].append(value)
        before = here
    return found


def least(values: list[Any], ranks: list[Any]) -> Any:
    """The first of the least."""
    return values[min(range(len(values)), key=ranks.__getitem__)] if values else None


def greatest(values: list[Any], ranks: list[Any]) -> Any:
    """The last of the greatest."""
    return values[max(range(len(values)), key=lambda at: (ranks[at], at))] if values else None


def _sort(value: Any, scope: Scope) -> list[Any]:
    return [one for _, one in sorted_by(array_of(value), ranked(value, scope))]


def _unique(value: Any, scope: Scope) -> list[Any]:
    return [run[0] for run in runs(array_of(value), ranked(value, scope))]


def _reverse(value: Any, scope: Scope) -> list[Any]:
    if type(value) is not list:
        raise NeedsJq
    scope.spend(len(value) >> 4)
    return value[::-1]


def _flatten(value: Any, scope: Scope) -> list[Any]:
    found = []
    for one in each(value, scope):
        if type(one) is list:
            found += _flatten(one, scope)
        else:
            found.append(one)
    return found


def to_entries(value: Any, scope: Scope) -> list[Any]:
    if type(value) is not dict:
        raise NeedsJq
    scope.spend(len(value))
    return [{"key": key, "value": one} for key, one in value.items()]


def from_entries(value: Any, scope: Scope) -> dict[str, Any]:
    if type(value) is not list:
        raise NeedsJq
    scope.spend(len(value))
    made = {}
    for entry in value:
        if type(entry) is not dict:
            raise NeedsJq
        key = next((entry[name] for name in ("key", "Key", "name", "Name") if is_true(entry.get(name))), None)
        made[text_of(key)] = entry["value"] if "value" in entry else entry.get("Value")
    return made


def _to_number(value: Any, scope: Scope) -> int | float:
    if is_number(value):
        return value  # type: ignore[no-any-return]
    scope.spend(2)
    return read(text_of(value))


def _from_json(value: Any, scope: Scope) -> Any:
    text = _read(value, scope)
    scope.spend(4 + (len(text) >> 4))
    if _NOT_PLAIN.search(text):
        raise NeedsJq
    try:
        return json.loads(text)
    except ValueError:
        raise NeedsJq from None


def _rounded(round_: Callable[[float], int]) -> "Function":
    def function(value: Any, scope: Scope) -> int | float:
        if not is_number(value):
            raise Fails
        whole = round_(exact(value))
        if whole == 0 and (value < 0 or type(value) is float):  # It may be minus zero.
            raise NeedsJq
        return computed(whole)

    return function


def _round(number: float) -> int:
    """Halves go away from zero."""
    whole = math.floor(abs(number))
    whole += abs(number) - whole >= 0.5
    return whole if number >= 0 else -whole


def contains(value: Any, other: Any, scope: Scope) -> bool:
    if type_name(value) != type_name(other) or (type(value) is bool and value is not other):
        raise Fails
    return _contains(value, other, scope)


def _contains(value: Any, other: Any, scope: Scope) -> bool:
    scope.spend(2)
    if type_name(value) != type_name(other):
        return False
    if type(value) is dict:
        return all(key in value and _contains(value[key], wanted, scope) for key, wanted in other.items())
    if type(value) is list:
        return all(any(_contains(one, wanted, scope) for one in value) for wanted in other)
    if type(value) is str:
        scope.spend_on_text(len(value))
        return other in value
    return equal(value, other, scope)


def _join(value: Any, separator: Any, scope: Scope) -> str:
    if type(separator) is not str:
        raise NeedsJq
    parts = [_joined(one, scope) for one in each(value, scope)]
    scope.spend_on_text(sum(map(len, parts)) + len(parts) * len(separator))
    return separator.join(parts)


def _joined(value: Any, scope: Scope) -> str:
    if value is None:
        return ""
    return to_string(value, scope) if type(value) is bool or is_number(value) else text_of(value)


def _read(value: Any, scope: Scope) -> str:
    """A text all of which will be looked at."""
    text = text_of(value)
    scope.spend_on_text(len(text))
    return text


def _starts(value: Any, start: Any, scope: Scope) -> bool:
    return text_of(value).startswith(text_of(start))


def _ends(value: Any, end: Any, scope: Scope) -> bool:
    return text_of(value).endswith(text_of(end))


def _split(value: Any, separator: Any, scope: Scope) -> list[str]:
    return split(text_of(value), text_of(separator), scope)


Function = Callable[[Any, Scope], Any]

PLAIN: dict[str, Function] = {
    "add": _add,
    "all": lambda value, scope: all(is_true(one) for one in each(value, scope)),
    "any": lambda value, scope: any(is_true(one) for one in each(value, scope)),
    "ascii_downcase": lambda value, scope: _read(value, scope).translate(_LOWER),
    "ascii_upcase": lambda value, scope: _read(value, scope).translate(_UPPER),
    "ceil": _rounded(math.ceil),
    "first": lambda value, scope: item(value, 0),
    "flatten": _flatten,
    "floor": _rounded(math.floor),
    "from_entries": from_entries,
    "fromjson": _from_json,
    "keys": _keys,
    "last": lambda value, scope: item(value, -1),
    "length": _length,
    "ltrim": lambda value, scope: _read(value, scope).lstrip(_WHITE),
    "max": lambda value, scope: greatest(array_of(value), ranked(value, scope)),
    "min": lambda value, scope: least(array_of(value), ranked(value, scope)),
    "not": lambda value, scope: not is_true(value),
    "reverse": _reverse,
    "round": _rounded(_round),
    "rtrim": lambda value, scope: _read(value, scope).rstrip(_WHITE),
    "sort": _sort,
    "to_entries": to_entries,
    "tojson": to_json,
    "tonumber": _to_number,
    "tostring": to_string,
    "trim": lambda value, scope: _read(value, scope).strip(_WHITE),
    "type": lambda value, scope: type_name(value),
    "unique": _unique,
}
WITH_VALUE: dict[str, Callable[[Any, Any, Scope], Any]] = {
    "contains": contains,
    "endswith": _ends,
    "has": lambda value, key, scope: has(value, key),
    "inside": lambda value, other, scope: contains(other, value, scope),
    "join": _join,
    "ltrimstr": lambda value, start, scope: _read(value, scope).removeprefix(text_of(start)),
    "rtrimstr": lambda value, end, scope: _read(value, scope).removesuffix(text_of(end)),
    "split": _split,
    "startswith": _starts,
}
# What selects by kind: `values` gives its input unless it is null.
KINDS: dict[str, frozenset[str]] = {
    "values": frozenset({"boolean", "number", "string", "array", "object"}),
    "nulls": frozenset({"null"}),
    "booleans": frozenset({"boolean"}),
    "numbers": frozenset({"number"}),
    "strings": frozenset({"string"}),
    "arrays": frozenset({"array"}),
    "objects": frozenset({"object"}),
    "iterables": frozenset({"array", "object"}),
    "scalars": frozenset({"null", "boolean", "number", "string"}),
}
