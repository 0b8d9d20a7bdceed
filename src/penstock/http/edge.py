"""The outermost layer of every application: each request gets an id, an origin, a bounded body, CORS headers,
a line in the log and a place in the metrics. It knows no routes and no accounts."""

import re
import time
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from penstock.http import logs, methods, metrics
from penstock.http.answers import problem_answer
from penstock.http.origin import Origin, find
from penstock.ids import uuid4
from penstock.problems import Internal, Problem, TooLarge
from penstock.settings import Settings

Scope = Any
Receive = Callable[[], Any]
Send = Callable[[Any], Any]
App = Callable[[Scope, Receive, Send], Any]

log = structlog.get_logger()
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SLOW = 1.0

_SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Call(msgspec.Struct):
    """What the edge knows of a request; routes find it in `scope["penstock"]`.

    Garbage collected, unlike our other structs: its problem's traceback leads back to it.
    """

    request_id: str
    origin: Origin
    method: str
    prefix: str = ""
    """Where in another application we are mounted; part of every address that we hand out."""
    problem: Problem | None = None
    headers: dict[bytes, bytes] = {}
    cookies: dict[str, str] | None = None

    def header(self, name: bytes) -> str:
        value = self.headers.get(name)
        return "" if value is None else value.decode("latin-1")

    def cookie(self, name: str) -> str:
        if self.cookies is None:
            self.cookies = _cookies(self.header(b"cookie"))
        return self.cookies.get(name, "")

    @property
    def base_url(self) -> str:
        return self.origin.base_url + self.prefix

    @property
    def secure(self) -> bool:
        return self.origin.scheme == "https"


class Edge:
    def __init__(self, app: Any, settings: Settings, *, mount: str = "") -> None:
        """`mount` is the first path segment that this application owns (`/user`), when it is mounted alone."""
        self.app = app
        self._trusted = settings.trusted_proxies
        self._most = settings.max_body
        self._allowed = frozenset(origin.encode() for origin in settings.cors_origins)
        self._mount = mount

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        call = self._call(scope)
        scope["penstock"] = call
        allowed = call.headers.get(b"origin") in self._allowed
        extra = [(b"x-request-id", call.request_id.encode()), *_SAFE_HEADERS, *self._cors(call, allowed)]
        status = 0

        async def send_with_headers(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        metrics.in_flight.inc()
        try:
            if call.method == "OPTIONS" and b"access-control-request-method" in call.headers:
                await _preflight(send_with_headers, allowed=allowed)
            elif _length(call.headers.get(b"content-length", b"")) > self._most:
                raise TooLarge(f"the body may have {self._most} bytes at most")
            else:
                await self._answer(call, scope, receive, send_with_headers)
        except Exception as error:
            # Whatever the application did not answer by itself. Once an answer has begun, it can only be cut off.
            if status:
                log.error("request failed midway", request_id=call.request_id, exc_info=error)
                raise
            problem = error if isinstance(error, Problem) else Internal()
            if not isinstance(error, Problem):
                log.error("request failed", request_id=call.request_id, exc_info=error)
            await problem_answer(problem, call, scope["path"])(scope, receive, send_with_headers)
        finally:
            metrics.in_flight.dec()
            seconds = time.perf_counter() - started
            metrics.observe(call.method, scope.get("path_template", "unmatched"), status, seconds)
            _log(call, scope["path"], status, seconds)

    def _call(self, scope: Scope) -> Call:
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        client = scope["client"][0] if scope.get("client") else ""
        call = Call(
            request_id=given if given and _UUID.fullmatch(given) else uuid4(),
            origin=find(client, scope["scheme"], scope["headers"], self._trusted),
            method=scope["method"],
            headers=headers,
        )
        if prefix := scope.get("root_path"):
            self._unmount(scope, call, prefix)
        return call

    def _unmount(self, scope: Scope, call: Call, prefix: str) -> None:
        """Mounted at `/user` or at `/site`, our routes are still called `/user/…`."""
        path = scope["path"].removeprefix(prefix)
        scope["root_path"] = ""
        if path.startswith(self._mount + "/"):
            scope["path"], call.prefix = path, prefix
        else:
            scope["path"], call.prefix = self._mount + path, prefix.removesuffix(self._mount)

    def _cors(self, call: Call, allowed: bool) -> list[tuple[bytes, bytes]]:
        if not self._allowed:
            return []
        if not allowed:
            # Said to everyone: a cache must not show one origin's answer to another.
            return [(b"vary", b"Origin")]
        return [
            (b"access-control-allow-origin", call.headers[b"origin"]),
            (b"access-control-allow-credentials", b"true"),
            (b"access-control-expose-headers", b"X-Request-ID, Status, Location, ETag, Retry-After"),
            (b"vary", b"Origin"),
        ]

    async def _answer(self, call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        if call.method == "HEAD" and methods.takes_head(scope["path"]):
            await methods.head(self.app, scope, send)
        elif call.method == "OPTIONS":
            await methods.options(self.app, scope, send)
            call.problem = None
        else:
            await self.app(scope, self._bounded(receive), send)

    def _bounded(self, receive: Receive) -> Receive:
        """A body sent in chunks has no length beforehand, so it is counted as it comes."""
        received = 0

        async def bounded() -> Any:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                if received > self._most:
                    raise TooLarge(f"the body may have {self._most} bytes at most")
            return message

        return bounded


async def _preflight(send: Send, *, allowed: bool) -> None:
    answer = []
    if allowed:
        answer = [
            (b"access-control-allow-methods", b"GET, POST, PUT, DELETE, OPTIONS"),
            (
                b"access-control-allow-headers",
                b"Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Request-ID",
            ),
            (b"access-control-max-age", b"600"),
        ]
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b""})


def _length(value: bytes) -> int:
    # Twenty digits are too many bytes in any case, and thousands would be too many to read as a number.
    return int(value[:20]) if value.isdigit() else 0


def _cookies(header: str) -> dict[str, str]:
    """The first of each name: a cookie that an attacker planted for a parent path or domain comes later."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, separator, value = part.strip().partition("=")
        if separator:
            found.setdefault(name, value.strip('"'))
    return found


def _log(call: Call, path: str, status: int, seconds: float) -> None:
    """Reads that went well are for debugging; all else is worth a line. Never the query: it may hold a password."""
    quiet = status < 400 and call.method in {"GET", "HEAD", "OPTIONS"} and seconds < _SLOW
    if not logs.wanted("debug" if quiet else "error" if status >= 500 else "info"):
        return
    write = log.debug if quiet else log.error if status >= 500 else log.info
    write(
        "request",
        request_id=call.request_id,
        method=call.method,
        path=path[:500],
        status=status,
        ms=round(seconds * 1000, 1),
        client=call.origin.client,
        detail=call.problem.detail if call.problem is not None else None,
    )
