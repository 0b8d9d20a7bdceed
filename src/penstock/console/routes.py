"""`/`, its assets, and every address that nobody else answers: a browser gets the console, a program gets its 404."""

import secrets
from typing import Any

from litestar import HttpMethod, Request, get, route
from litestar.params import FromPath

from penstock.console import files
from penstock.http.answers import Answer, call_of
from penstock.problems import NotFound

Req = Request[Any, Any, Any]

# Script and style from our own files only: text that people stored never runs, and nothing is asked of another site.
# The nonce is for the one style element that the code editor makes.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
_NONCE = "__NONCE__"
# First segments that belong to the API: what is not there is a problem, for browsers too.
_NOT_OURS = {"api", "assets", "docs", "healthz", "metrics", "openapi.json", "project", "readyz", "user"}
_FOR_EVER = "public, max-age=31536000, immutable"

_NOT_BUILT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Penstock</title>
<h1>Penstock is running, without its console</h1>
<p>The console was not built. With Node 20 or newer (https://nodejs.org), <code>make run</code> or
<code>make console</code> builds it; then load this page again.</p>
<p>Everything else works: the API is described at <a href="/docs">/docs</a>.</p>
</html>
"""


@route("/", http_method=[HttpMethod.GET, HttpMethod.HEAD], include_in_schema=False)
async def home() -> Answer:
    return page()


@get("/assets/{name:str}", include_in_schema=False)
async def asset(request: Req, name: FromPath[str]) -> Answer:
    """Names of assets hold a hash of their content, so what was once loaded is never asked for again."""
    return _file(request, "assets", name, _FOR_EVER)


@route(
    "/{path:path}",
    http_method=[HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE],
    status_code=200,
    include_in_schema=False,
)
async def anywhere(request: Req, path: FromPath[str]) -> Answer:
    """A deep link. The console itself says when it has no such page: only it knows."""
    call, wanted = call_of(request), str(path).removeprefix("/")
    if call.method not in {"GET", "HEAD"} or wanted.partition("/")[0] in _NOT_OURS:
        raise _nothing_here()
    if "text/html" in call.header(b"accept"):
        return page()
    return _file(request, "", wanted, "no-cache")


def page() -> Answer:
    nonce = secrets.token_urlsafe(18)
    body = (files.index() or _NOT_BUILT).replace(_NONCE, nonce)
    headers = {
        "cache-control": "no-cache",
        "content-security-policy": _POLICY.format(nonce=nonce),
        "permissions-policy": _PERMISSIONS,
        "vary": "Accept",
    }
    return Answer(200, body.encode(), "text/html; charset=utf-8", headers)


def _file(request: Req, folder: str, name: str, caching: str) -> Answer:
    found = files.read(files.STATIC / folder, name, call_of(request).header(b"accept-encoding"))
    if found is None:
        raise _nothing_here()
    headers = {"cache-control": caching, "vary": "Accept-Encoding"}
    if found.encoding:
        headers["content-encoding"] = found.encoding
    return Answer(200, found.content, found.media_type, headers)


def _nothing_here() -> NotFound:
    return NotFound("there is nothing at this address")


HANDLERS = [home, asset, anywhere]
