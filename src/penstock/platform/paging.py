"""Lists: `page` and `page_size` in, `{"items", "total", "page", "page_size"}` out."""

from typing import Any

from litestar import Request

from penstock.http.answers import Answer, json
from penstock.http.bodies import Form, parse_query
from penstock.http.times import micros
from penstock.problems import FieldError, Invalid

_DEFAULT, _MOST = 50, 100
_LAST_PAGE = 1_000_000
END_OF_TIME = 2**62


class Page:
    """What part of a list is asked for, and the list's filters."""

    def __init__(self, request: Request[Any, Any, Any], *filters: str) -> None:
        self.query = query_of(request, "page", "page_size", *filters)
        self.number = self._number("page", 1, _LAST_PAGE)
        self.size = self._number("page_size", _DEFAULT, _MOST)

    @property
    def bounds(self) -> dict[str, int]:
        return {"limit": self.size, "offset": (self.number - 1) * self.size}

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        value = self.query.get(name)
        if value is not None and value not in allowed:
            raise _invalid(name, f"expected one of {', '.join(allowed)}")
        return value

    def answer(self, items: list[Any], total: int) -> Answer:
        return json({"items": items, "total": total, "page": self.number, "page_size": self.size})

    def _number(self, name: str, default: int, most: int) -> int:
        text = self.query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
            raise _invalid(name, f"expected a number from 1 to {most}")
        return int(text)


def query_of(request: Request[Any, Any, Any], *known: str) -> Form:
    """The query's parameters; one that is not known is said, as it was meant to do something."""
    query = parse_query(request.scope["query_string"])
    for name in query:
        if name not in known:
            raise _invalid(name, f"no such parameter; there are {', '.join(sorted(known))}")
    return query


def included(query: Form, *known: str) -> frozenset[str]:
    """What `include` asks for besides the members that are always there; several have commas between them."""
    asked = frozenset(query["include"].split(",")) if "include" in query else frozenset[str]()
    if not asked <= set(known):
        raise _invalid("include", f"there is {', '.join(known)}")
    return asked


def period(query: Form) -> dict[str, int]:
    """`since` (inclusive) and `until` (exclusive) as stored times; all of time where they are left out."""
    bounds = {"since": 0, "until": END_OF_TIME}
    for name in bounds.keys() & query.keys():
        try:
            bounds[name] = micros(query[name])
        except ValueError as error:
            raise _invalid(name, "expected a time such as 2026-01-31T12:00:00Z (RFC 3339)") from error
    return bounds


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(f"{name}: {message}", errors=[FieldError(f"/{name}", message)])
