"""The OpenAPI document at `/openapi.json`, and a page at `/docs` to read it."""

from typing import Any

import msgspec
from litestar import Request, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from penstock import __version__
from penstock.http.answers import Answer


def openapi_config() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Penstock",
        version=__version__,
        description="A self-hosted workflow platform with its own front door.",
        path="/docs",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
    )


@get("/openapi.json", include_in_schema=False)
async def openapi_json(request: Request[Any, Any, Any]) -> Answer:
    return Answer(200, msgspec.json.encode(request.app.openapi_schema.to_schema()), "application/json")


HANDLERS = [openapi_json]
