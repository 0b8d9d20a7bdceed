"""Definitions with one thing changed, the same ones every time: what is done to them is drawn from a seed."""

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.dsl.parse import parse

DEFINITIONS = sorted((Path(__file__).parent / "definitions").glob("*.yaml"))
_WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, "", " ", "text", "${ . }", "${ (", "PT1S", "https://a.example", [], {}, [1],
    {"a": 1}, [{}], {"": None}, "\x1b[31m", "a/b~c", "x" * 300, {"use": "x"}, {"set": {}}, [{"a": {"set": {}}}],
)  # fmt: skip
_NAMES = ("", "use", "do", "then", "when", "with", "x-y", "end", "200", "for", "$ref", "té", "call")


def data_of(path: Path) -> Any:
    parsed = parse(path.read_text("utf-8"))
    assert parsed is not None
    return parsed.data


def mutations(definitions: list[Any], seed: int, count: int) -> Iterator[Any]:
    for mutated, _ in mutations_with_place(definitions, seed, count):
        yield mutated


def mutations_with_place(definitions: list[Any], seed: int, count: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    rnd = random.Random(seed)
    places = [list(_places(definition)) for definition in definitions]
    for _ in range(count):
        chosen = rnd.randrange(len(definitions))
        mutated, place = copy.deepcopy(definitions[chosen]), rnd.choice(places[chosen])
        _mutate(rnd, mutated, place)
        yield mutated, place


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _mutate(rnd: random.Random, value: Any, path: tuple[Any, ...]) -> None:
    for key in path[:-1]:
        value = value[key]
    key = path[-1]
    match rnd.randrange(5):
        case 0:
            del value[key]
        case 1 if isinstance(value, dict):
            value[rnd.choice(_NAMES)] = value.pop(key)
        case 2 if isinstance(value, dict):
            value[rnd.choice(_NAMES)] = copy.deepcopy(rnd.choice(_WRONG))
        case 3 if isinstance(value, list):
            value.append(copy.deepcopy(value[key]))
        case _:
            value[key] = copy.deepcopy(rnd.choice(_WRONG))
