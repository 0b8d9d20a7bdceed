"""Values in a definition that runtime expressions may stand in, made ready once: what is constant stays as it is."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from penstock.dsl.expressions import NotAnExpression, Program, Text, embedded, program, require_expression

Mode = Literal["strict", "loose"]
Evaluate = Callable[[Program, Any, Mapping[str, Any]], Any]


class Constant(msgspec.Struct, frozen=True, gc=False):
    data: Any


class Expression(msgspec.Struct, frozen=True, gc=False):
    program: Program


class Joined(msgspec.Struct, frozen=True, gc=False):
    """Text with expressions in it."""

    parts: tuple[str | Program, ...]


class Loose(msgspec.Struct, frozen=True, gc=False):
    """Loose mode: the value of the text as an expression, or the text itself when it is none."""

    text: str
    program: Program


class Members(msgspec.Struct, frozen=True, gc=False):
    items: tuple[tuple[str, "Value"], ...]


class Items(msgspec.Struct, frozen=True, gc=False):
    items: tuple["Value", ...]


Value = Constant | Expression | Joined | Loose | Members | Items


def value_of(data: Any, mode: Mode = "strict") -> Value:
    """A value in which whole strings `${ … }`, or parts of strings, may be expressions."""
    match data:
        case str():
            return _text(data, mode)
        case dict():
            members = tuple((key, value_of(item, mode)) for key, item in data.items())
            return Constant(data) if all(isinstance(item, Constant) for _, item in members) else Members(members)
        case list():
            items = tuple(value_of(item, mode) for item in data)
            return Constant(data) if all(isinstance(item, Constant) for item in items) else Items(items)
        case _:
            return Constant(data)


def _text(text: str, mode: Mode) -> Value:
    found = embedded(text)
    match found:
        case Program():
            return Expression(found)
        case Text(parts):
            return Joined(parts)
        case _ if mode == "loose" and _compiles(text):
            return Loose(text, program(text))
        case _:
            return Constant(text)


def _compiles(text: str) -> bool:
    try:
        require_expression(text)
    except NotAnExpression:
        return False
    return True


def expression_of(text: str) -> Program:
    """A member that is an expression by its nature, with or without `${ }`."""
    found = embedded(text)
    return found if isinstance(found, Program) else program(text)


def variables_of(value: Value) -> frozenset[str]:
    """The variables that evaluating it reads."""
    match value:
        case Expression(of) | Loose(_, of):
            return of.variables
        case Joined(parts):
            return frozenset().union(*(part.variables for part in parts if isinstance(part, Program)))
        case Members(items):
            return frozenset().union(*(variables_of(item) for _, item in items))
        case Items(items):
            return frozenset().union(*(variables_of(item) for item in items))
        case _:
            return frozenset()


def joined(parts: list[Any]) -> str:
    """What embedded expressions make of a text: text as it is, nothing for null, JSON for the rest."""
    return "".join(
        part if isinstance(part, str) else "" if part is None else msgspec.json.encode(part).decode() for part in parts
    )
