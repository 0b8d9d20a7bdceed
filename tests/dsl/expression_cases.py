"""Generated jq programs and data, and jq itself to answer for them."""

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jq
import msgspec

from penstock.dsl.expressions.allowed import wrapped

NAMES = ["a", "b", "key", "value", "name"]
TEXTS = ["", "a", "b", "aXb", "é😀", "a,b,c", "12", "-3.5", "0", '\x7f\n"\\', "true", '{"a":[1,null]}', " x ", "a" * 70]
NUMBERS: list[int | float] = [0, 1, 2, 3, -1, -2, 10, 2.5, -0.5, 1.0, 0.1, 1e-5, 1e17, 2**53, 2**53 + 1, 10**20, 100]
PLAIN = ["length", "keys", "add", "any", "all", "first", "last", "sort", "unique", "min", "max", "reverse", "flatten",
         "to_entries", "from_entries", "ascii_downcase", "ascii_upcase", "tojson", "fromjson", "tostring", "tonumber",
         "type", "not", "floor", "ceil", "round", "trim", "ltrim", "rtrim", "empty", "values", "strings", "numbers",
         "scalars", "iterables", "nulls", "booleans", "arrays", "objects"]  # fmt: skip
WITH_VALUE = ["has", "contains", "inside", "join", "split", "startswith", "endswith", "ltrimstr", "rtrimstr"]
WITH_CODE = ["map", "map_values", "select", "sort_by", "group_by", "unique_by", "min_by", "max_by", "any", "all",
             "first", "add", "with_entries", "map", "select"]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "and", "or", "//", "+", "==", "//"]
UPDATES = ["=", "|=", "+=", "-=", "*=", "/=", "%=", "//="]
WORDS = [".", "a", ".a", '"x"', '"\\(', ")", "(", "[", "]", "{", "}", ":", ",", "|", "?", "//", "-", "1", "2.5", "$x",
         "as", "as $x |", "if", "then", "else", "end", "elif", "and", "or", "+", "*", "==", "<", "=", "|=", "+=",
         "map(", "length", "not", "select(", "..", ".[0]", ".[]", "null", "true", ";", "del(", ".[1:]", "$x.a", "empty",
         "{a}", "{$x}", '."a"', "#c\n", " ", "-1", ".[-1]", "/", "%", "!=", "?//", "first(", "add"]  # fmt: skip
TYPICAL = [
    ".",
    ".customer.name",
    ".items[0].sku",
    ".items[-1]",
    ".customer.address.city",
    '.note // "none"',
    '.total > 10 and .status == "open"',
    '.status == "open" or .status == "held" | not',
    ".items | length",
    "[.items[].sku]",
    ".items | map(.price * .count) | add",
    "[.items[] | select(.gift) | .sku]",
    '.items | map(select(.price >= 2)) | sort_by(.price) | map(.sku) | join(", ")',
    "{id, name: .customer.name, total: (.total + 1), tags: .customer.tags}",
    '"Order \\(.id) of \\(.customer.name): \\(.items | length) items"',
    'if .total > 100 then "large" elif .total > 10 then "medium" else "small" end',
    "$context.limit - 1",
    "$input.customer + {seen: true}",
    ". + {count: (.items | length)}",
    ".customer | to_entries | map(.key)",
    ".customer | with_entries(select(.value != null))",
    ".items | group_by(.gift) | map({gift: .[0].gift, n: length})",
    ".items | any(.price > 5)",
    ".items | all(.count > 0)",
    '.customer.email | split("@") | .[1]',
    '.customer.tags | contains(["vip"])',
    ".status | ascii_upcase",
    ".error.status >= 500",
    '.customer.email | startswith("ada") and endswith(".com")',
    "[.items[] | {sku, cost: (.price * .count)}] | max_by(.cost).sku",
    ".items | map(.sku) - $context.seen",
    "del(.customer, .items)",
    '.status = "done" | .customer.name |= ascii_upcase',
    ".items[1:] | first",
    "$item.price * $item.count",
    "(.items | length) as $n | {n: $n, mean: (.total / $n)}",
    ".customer.name?",
    ".items | map(.gift // false)",
    'has("customer")',
    "[.items[].price] | add / length | floor",
]


class Writer:
    """Programs of the part of jq that is also done without it; not all of them compile, and many fail."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def data(self, depth: int = 3) -> Any:
        pick = self._random.random()
        if depth and pick < 0.3:
            return {self._random.choice(NAMES): self.data(depth - 1) for _ in range(self._random.randrange(4))}
        if depth and pick < 0.6:
            return [self.data(depth - 1) for _ in range(self._random.randrange(5))]
        return self._random.choice([None, True, False, *NUMBERS, *TEXTS])

    def program(self, depth: int = 3) -> str:
        choose, pick = self._random.choice, self._random.random()
        if depth <= 0 or pick < 0.15:
            return self._leaf()
        one, two = self.program(depth - 1), self.program(depth - 1)
        if pick < 0.35:
            return f"{one} {choose(OPERATORS)} {two}"
        if pick < 0.5:
            return choose([f"{one} | {two}", f"{self._path()} | {two}", f"{one} as $x | {two}", f"({one}), {two}"])
        if pick < 0.75:
            return self._call(one)
        return choose(
            [
                f"[{one}]",
                f"({one})",
                f"({one})?",
                f"({one}){self._suffix()}",
                f"-({one})",
                f'{{a: ({one}), {choose(NAMES)}, (({two})|tostring): 1, $x, "k\\({one})": {self._leaf()}}}',
                f"{{{choose(NAMES)}: {one}, b: {two}}}",
                f"if {one} then {two} else {self._leaf()} end",
                f"if {one} then {two} elif {self._leaf()} then 1 end",
                f'"x\\({one})y\\({two})"',
                f".[{one}]",
                f".[{one}:{two}]",
                f"{self._path()} {choose(UPDATES)} {two}",
                f"del({self._path()})",
                f"del({self._path()}, {self._path()})",
            ]
        )

    def _call(self, argument: str) -> str:
        choose = self._random.choice
        return choose([choose(PLAIN), f"{choose(WITH_VALUE)}({argument})", f"{choose(WITH_CODE)}({argument})"])

    def _leaf(self) -> str:
        choose = self._random.choice
        text = msgspec.json.encode(choose(TEXTS)).decode()
        number = msgspec.json.encode(choose(NUMBERS)).decode()
        return choose([self._path(), self._path(), choose(PLAIN), "$x", "$y.a", text, number, "null", "true", "[]",
                       "{}", ".[]", ".[]?", ".a[]", "error", "."])  # fmt: skip

    def _path(self) -> str:
        first = self._random.choice([*(f".{name}" for name in NAMES), '."a"', ".[0]", ".[-1]", '.["b"]'])
        return first + "".join(self._suffix() for _ in range(self._random.randrange(3)))

    def _suffix(self) -> str:
        return self._random.choice([".a", ".b", ".key", "[0]", "[-1]", ".a?", "[0]?", ".value", '."b"', "[1:]", "[]"])


@lru_cache(maxsize=4096)
def _compiled(text: str, names: tuple[str, ...]) -> Any:
    return jq.compile(wrapped(text, names))


def by_jq(text: str, dot: Any, variables: Mapping[str, Any]) -> Any:
    """What jq gives. Raises ValueError when it does not compile, or fails."""
    names = tuple(sorted(variables))
    document = msgspec.json.encode([dot, *(variables[name] for name in names)]).decode()
    outputs = list(_compiled(text, names).input_text(document))
    values = msgspec.json.decode(f"[{','.join(outputs)}]")
    return values[0] if len(values) == 1 else values or None


def same(one: Any, other: Any) -> bool:
    """In kind, digits and order of members too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return repr(one) == repr(other)
