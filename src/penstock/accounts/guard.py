"""Keeps other sites from acting with a visitor's cookie (CSRF): also on the GETs that change something."""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from penstock.http.edge import Call
from penstock.problems import Denied


def same_site(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Refuse what a foreign page sent. A browser always says where a POST comes from; programs need not."""
    call: Call = connection.scope["penstock"]  # type: ignore[typeddict-item]
    origin = call.header(b"origin")
    if origin:
        settings = connection.app.state.accounts.settings
        ours = {call.origin.base_url.lower(), _origin(settings.public_url), *settings.cors_origins}
        if origin.lower() not in ours:
            raise Denied("requests from another site are not allowed here")
    elif call.header(b"sec-fetch-site") == "cross-site":
        raise Denied("requests from another site are not allowed here")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
