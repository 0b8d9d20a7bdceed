"""Opening a stream of events or logs: from where, of what, and for how long one may listen."""

import base64
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from penstock.http.answers import call_of
from penstock.http.bodies import parse_query
from penstock.platform.access import access_of, resolve
from penstock.platform.events import queries
from penstock.platform.events.filters import Filters, filters_from
from penstock.platform.parts import Parts, parts_of
from penstock.platform.texts import invalid
from penstock.problems import Invalid, NotSignedIn
from penstock.streams import Entry, EventStream, Kind, Several
from penstock.streams.reading import Place

_HIGHEST = 2**63 - 1
_Needs = tuple[Literal["workflow", "project"], str]


class _Claims(msgspec.Struct):
    exp: int


def open_stream(request: Any, kind: Kind, known: tuple[str, ...]) -> EventStream:
    workflow_id = str(access_of(request).workflow_id)
    return _opened(request, kind, known, lambda _: workflow_id, ("workflow", workflow_id))


def open_stream_of_project(request: Any, known: tuple[str, ...]) -> EventStream:
    project_id = str(access_of(request).project_id)

    def place(values: dict[str, Any]) -> Several:
        params = (("project_id", project_id), ("beginning", _beginning(values)))
        return Several(f"project {project_id}", queries.STREAM_OF_PROJECT, params)

    return _opened(request, "event", known, place, ("project", project_id))


def open_stream_of_all(request: Any, known: tuple[str, ...]) -> EventStream:
    """Of all workflows that the caller can see: a role that comes or goes counts from the next entry on."""
    user_id = access_of(request).caller.id

    def place(values: dict[str, Any]) -> Several:
        params = (("user_id", user_id), ("beginning", _beginning(values)))
        return Several(f"user {user_id}", queries.STREAM_OF_ALL, params)

    return _opened(request, "event", known, place, None)


def _beginning(values: dict[str, Any]) -> str:
    return str(values.get("type", "")).removesuffix("*")


def _opened(
    request: Any, kind: Kind, known: tuple[str, ...], place: Callable[[dict[str, Any]], Place], needs: _Needs | None
) -> EventStream:
    parts, call = parts_of(request), call_of(request)
    query = parse_query(request.scope["query_string"])
    for name in query:
        if name not in {"after", *known}:
            raise invalid(name, f"no such parameter; there are {', '.join(sorted({'after', *known}))}")
    authorization, values = call.header(b"authorization"), filters_from(query, known).values

    async def permit() -> str | None:
        return await _why_not(parts, authorization, needs)

    return EventStream(
        parts.streams,
        kind,
        place(values),
        matches=_matching(frozenset(values.items())),
        permit=permit,
        permit_key=(authorization, needs),
        after=_resume_after(call.headers.get(b"last-event-id"), query.get("after")),
        expires_at=_expiry(authorization),
    )


@lru_cache(maxsize=1024)
def _matching(values: frozenset[tuple[str, Any]]) -> Callable[[Entry], bool]:
    """The same for all who ask for the same, so that it is found out once for all of them."""
    return Filters(dict(values)).matches


def _resume_after(header: bytes | None, parameter: str | None) -> int | None:
    """A browser that reconnects sends the header, with the address that it first used: the header is the newer."""
    if header:
        return _entry_id(header.decode("latin-1"), "Last-Event-ID")
    return None if parameter is None else _entry_id(parameter, "after")


def _entry_id(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _HIGHEST):
        raise Invalid(f"{name}: expected the id of an entry, a whole number")
    return int(text)


async def _why_not(parts: Parts, authorization: str, needs: _Needs | None) -> str | None:
    try:
        caller = await parts.tokens.caller(parts.database, authorization)
    except NotSignedIn as error:
        return error.detail
    if caller is None:
        return "not signed in"
    if needs is None:
        return None
    access = await resolve(parts.database, caller, *needs)
    if access is None:
        return f"the {needs[0]} was deleted"
    return "you have no role here any more" if access.role is None else None


def _expiry(authorization: str) -> float:
    """When the token ends that the guard has just verified."""
    payload = authorization.split(".")[1]
    decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    return float(msgspec.json.decode(decoded, type=_Claims).exp)
