"""What a grammar is made of: each kind of value that may stand somewhere in a definition, and what is asked of it.

Nothing here reads a definition. The checker walks these nodes beside the data; the JSON Schema is made of them.
"""

import re
from collections.abc import Mapping as Mapping_
from dataclasses import dataclass, field
from typing import Literal

# What a text may hold of a runtime expression: it never is one; it is one when all of it is written as ${ … }; so, or
# parts of it are; it always is one, with or without ${ }.
Evaluated = Literal["never", "whole", "marked", "always"]
# What a text names, that must exist elsewhere in the definition.
Names = Literal["retry", "timeout", "error", "authentication", "secret", "function", "task"]
# What is asked of a value beyond its shape; the checker knows how.
Rule = Literal[
    "cron",
    "duration",
    "positive-duration",
    "jitter",
    "uri-template",
    "schema-document",
    "timezone",
    "variable",
    "nothing-known",
]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a text must look like, as a regular expression that Python and JSON Schema read alike, and in words."""

    regex: str
    words: str
    code: Literal["pattern", "dsl-version", "duration", "uri"] = "pattern"

    def matches(self, text: str) -> bool:
        return re.fullmatch(self.regex, text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class Text:
    evaluated: Evaluated = "never"
    pattern: Pattern | None = None
    choices: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    shortest: int = 0
    longest: int | None = None
    names: Names | None = None
    rule: Rule | None = None
    instead_of: str = ""  # what it must be an expression for: as a text it means nothing


@dataclass(frozen=True, slots=True)
class Whole:
    """A number without a fraction."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """Text, a number, true, false or nothing."""

    evaluated: Evaluated = "marked"


@dataclass(frozen=True, slots=True)
class Free:
    """Any value. Where it is evaluated, so is every text in it."""

    evaluated: Evaluated = "marked"
    types: tuple[type, ...] = ()
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    of: "Node"
    fewest: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping of names, which the author chooses, to values of one kind."""

    of: "Node"
    fewest: int = 0


@dataclass(frozen=True, slots=True)
class Cases:
    """A list of mappings of one name each: tasks, extensions, the cases of a switch."""

    of: "Node"
    what: str
    fewest: int = 0
    are_tasks: bool = False
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    node: "Node"
    about: str
    required: bool = False
    # The arguments that expressions in it may use, where they are not those of what holds it.
    sees: frozenset[str] | None = None
    # Whether it may use what any loop or catch of the definition names: it is used from wherever it is named.
    sees_all_names: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable that the author names in one member, for use in others."""

    at: tuple[str, ...]
    default: str
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping whose members the language names."""

    name: str
    about: str
    members: Mapping_[str, Member]
    exactly_one: tuple[tuple[str, ...], ...] = ()
    at_least_one: tuple[tuple[str, ...], ...] = ()
    needs: Mapping_[str, str] = field(default_factory=dict)  # a member that makes sense only beside another
    needs_when: tuple[tuple[str, str, str], ...] = ()  # member, its value, and what is required then
    ignored_unless: tuple[tuple[str, str, str], ...] = ()  # member, another, and the value of it that gives it sense
    extra: "Node | None" = None  # of members that it does not name; none are allowed without
    fewest: int = 0
    bindings: tuple[Binding, ...] = ()
    process: str | None = None  # the process that it starts on the machine
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class ByMember:
    """One of several records, told by the member that is there."""

    name: str
    about: str
    options: Mapping_[str, "Record | ByValue"]
    otherwise: Record | None = None


@dataclass(frozen=True, slots=True)
class ByValue:
    """One of several records, told by the text of one member."""

    name: str
    about: str
    member: str
    options: Mapping_[str, Record]
    otherwise: Record


@dataclass(frozen=True, slots=True)
class Either:
    """One of several, told by the type of what is there."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Ref:
    """A named node that is described elsewhere: the language is recursive."""

    name: str


Node = Text | Whole | Flag | Scalar | Free | Items | Named | Cases | Record | ByMember | ByValue | Either | Ref


def types_of(node: Node, named: Mapping_[str, Node]) -> tuple[type, ...]:
    """The types of data that a node may take; none given means any."""
    match node:
        case Text():
            return (str,)
        case Whole():
            return (int,)
        case Flag():
            return (bool,)
        case Scalar():
            return str, int, float, bool, type(None)
        case Free(types=types):
            return types
        case Items() | Cases():
            return (list,)
        case Either(options=options):
            return tuple(type_ for option in options for type_ in types_of(option, named))
        case Ref(name=name):
            return types_of(named[name], named)
        case _:
            return (dict,)
