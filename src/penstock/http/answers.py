"""From a value, or from anything that was raised, to a response. The only place that writes problem details."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    InternalServerException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)

from penstock.http.methods import with_head
from penstock.problems import (
    FieldError,
    Internal,
    Invalid,
    NotAllowed,
    NotFound,
    Overloaded,
    Problem,
    TooLarge,
    WrongType,
)
from penstock.storage import Busy, StorageError, Unavailable

if TYPE_CHECKING:
    from penstock.http.edge import Call

log = structlog.get_logger()
_UNPRINTABLE = re.compile(r"[^ -~]+")
_encode = msgspec.json.Encoder().encode


def call_of(request: Request[Any, Any, Any]) -> "Call":
    call: Call = request.scope["penstock"]  # type: ignore[typeddict-item]
    return call


class Answer:
    """A complete response. Litestar's own costs twice as much to send (measured), and these are all we need."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes, media_type: str, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = [(b"content-length", str(len(body)).encode())]
        if media_type:
            self.headers.append((b"content-type", media_type.encode()))
        for name, value in (headers or {}).items():
            self.headers.append((name.lower().encode(), value.encode("latin-1", "replace")))

    def with_cookies(self, cookies: Iterable[str]) -> "Answer":
        self.headers += [(b"set-cookie", cookie.encode()) for cookie in cookies]
        return self

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


# Answers for one person are nobody's to cache.
_PRIVATE = {"cache-control": "no-store"}


def json(value: Any, *, status: int = 200, cookies: Iterable[str] = ()) -> Answer:
    return Answer(status, _encode(value), "application/json", _PRIVATE).with_cookies(cookies)


def redirect(location: str, *, status: int = 302, cookies: Iterable[str] = ()) -> Answer:
    return Answer(status, b"", "", _PRIVATE | {"location": location}).with_cookies(cookies)


def problem_answer(problem: Problem, call: "Call", path: str) -> Answer:
    call.problem = problem
    headers = _PRIVATE | problem.headers
    if "allow" in headers:  # as Litestar writes it
        headers["allow"] = with_head(headers["allow"], path)
    if path.startswith("/user/"):
        # Document 1's clients read the message here. A header is one line of ASCII; the name of a field, which the
        # caller chose, may be part of it.
        headers["Status"] = _UNPRINTABLE.sub(" ", problem.detail.encode("ascii", "replace").decode()[:500])
    elif problem.status == 401 and path.startswith("/api/"):
        headers["WWW-Authenticate"] = "Bearer"  # RFC 9110, 15.5.2: a 401 says how to sign in
    return Answer(problem.status, _encode(problem.document(call.request_id)), "application/problem+json", headers)


def handle(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Litestar's exception handler, for every exception there is."""
    call = call_of(request)
    problem = as_problem(error)
    if isinstance(problem, Internal | Overloaded) and problem is not error:
        log.error("request failed", request_id=call.request_id, path=request.scope["path"][:500], exc_info=error)
    return _Ready(problem_answer(problem, call, request.scope["path"]))


def as_problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case Busy():
            return Overloaded("the database is busy; try again in a moment")
        case Unavailable():
            return Overloaded("the database cannot be reached or cannot write; try again in a moment")
        case StorageError():
            return Internal()
        case InternalServerException(detail="client disconnected prematurely"):
            # Nobody reads this answer; it must not look like a failure of ours in the log, at any stranger's will.
            return Invalid("the caller left before the body was whole")
        case NotFoundException():
            return NotFound("there is nothing at this address")
        case MethodNotAllowedException():
            return NotAllowed("this address does not take that method", headers=dict(error.headers or {}))
        case ValidationException():
            return Invalid(error.detail, errors=_field_errors(error.extra))
        case HTTPException(status_code=413):
            return TooLarge(error.detail)
        case HTTPException(status_code=415):
            return WrongType(error.detail)
        case HTTPException() if 400 <= error.status_code < 500:
            return Invalid(error.detail)
        case _:
            return Internal()


def _field_errors(extra: Any) -> list[FieldError]:
    found = extra if isinstance(extra, list) else []
    return [
        FieldError("/" + str(item.get("key", "")).replace(".", "/"), str(item.get("message", "")))
        for item in found
        if isinstance(item, dict)
    ]


class _Ready(Response[Any]):
    """An answer in the form that Litestar's exception handlers return."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(content=None)
        self._answer = answer

    def to_asgi_response(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer
