"""A compiled piece of an expression: how to run it, and what is known of it beforehand."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from penstock.dsl.expressions.fast.scope import Scope

One = Callable[[Any, Scope], Any]
Many = Callable[[Any, Scope], Iterable[Any]]
ENDLESS = float("inf")


class Growth(NamedTuple):
    """How many times a result can hold all of `.`, and all of the variables. Sharing makes that cheap to build
    here, however large it is once written.
    """

    dot: float = 0
    variables: float = 0

    def __add__(self, other: tuple[float, ...]) -> "Growth":  # type: ignore[override]
        return Growth(self.dot + other[0], self.variables + other[1])

    def times(self, factor: float) -> "Growth":
        return Growth(_times(self.dot, factor), _times(self.variables, factor))

    def then(self, following: "Growth", *, many: bool) -> "Growth":
        """Of what this gives, once or for each of many outputs."""
        fresh = ENDLESS if many and following.variables else following.variables
        return Growth(_times(self.dot, following.dot), _times(self.variables, following.dot) + fresh)


def _times(one: float, other: float) -> float:
    return one * other if one and other else 0


NOTHING = Growth()
ALL = Growth(dot=1)


class Code:
    """`one` is there when it gives exactly one output (or fails); `many` always is. `weight` is the cost of running
    it once, what iterates aside. `path` is there when it is `.` followed by fixed keys,
    `value` when it is a constant.
    """

    __slots__ = ("free", "growth", "many", "one", "path", "value", "weight")

    def __init__(
        self,
        *parts: "Code",
        one: One | None = None,
        many: Many | None = None,
        growth: Growth = NOTHING,
        path: tuple[str | int, ...] | None = None,
        free: Iterable[str] | None = None,
        value: Any = None,
    ) -> None:
        self.one = one
        self.many = many or _once(one)
        self.growth = growth
        self.path = path
        self.value = value
        self.weight: int = 1 + sum(part.weight for part in parts)
        self.free: frozenset[str] = (
            frozenset().union(*(part.free for part in parts)) if free is None else frozenset(free)
        )


def _once(one: One | None) -> Many:
    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        assert one is not None  # noqa: S101 - a piece has one or the other
        yield one(dot, scope)

    return many


def repeats(*codes: Code) -> float:
    """How often what stands beside them can be repeated."""
    return 1 if all(code.one is not None for code in codes) else ENDLESS
