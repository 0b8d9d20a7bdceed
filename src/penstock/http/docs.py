"""The OpenAPI document at `/openapi.json`, and a page at `/docs` to read it. Each is made once, when first asked."""

from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Request, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from penstock import __version__
from penstock.http.answers import Answer
from penstock.http.docs_page import STYLE, page
from penstock.http.openapi_document import complete

Call = Request[Any, Any, Any]
# Nothing but our own style sheet: should a text ever escape its escaping, no script would run, and no page frames ours.
_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {"cache-control": "no-cache", "content-security-policy": _POLICY}


class _NoRoutes(Router):
    """Litestar would add pages of its own, with other errors than ours; the handlers below are all there is."""

    def register(self, value: Any) -> list[Any]:
        return []


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Penstock",
        version=__version__,
        description="A self-hosted workflow platform with its own front door.",
        openapi_router=_NoRoutes("/docs", route_handlers=[]),
        render_plugins=[JsonRenderPlugin()],
    )


@get("/openapi.json", include_in_schema=False)
async def openapi_json(request: Call) -> Answer:
    return _once(request, "openapi", "application/json", lambda: msgspec.json.encode(_document(request)))


@get("/docs", include_in_schema=False)
async def docs(request: Call) -> Answer:
    return _once(request, "docs", "text/html; charset=utf-8", lambda: page(_document(request)).encode())


@get("/docs/style.css", include_in_schema=False)
async def style(request: Call) -> Answer:
    return _once(request, "style", "text/css; charset=utf-8", STYLE.encode)


def _document(request: Call) -> dict[str, Any]:
    return complete(request.app.openapi_schema.to_schema())


def _once(request: Call, name: str, media_type: str, make: Callable[[], bytes]) -> Answer:
    """The same bytes for as long as the server runs."""
    made: dict[str, bytes] = request.app.state.setdefault("documentation", {})
    if name not in made:
        made[name] = make()
    return Answer(200, made[name], media_type, _HEADERS)


HANDLERS = [openapi_json, docs, style]
