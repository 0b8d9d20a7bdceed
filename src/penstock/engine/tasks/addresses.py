"""Addresses of HTTP, as workflows and services give them."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from yarl import URL

from penstock.engine.faults import validation

# Nothing that would have to be encoded, and no percent sign that encodes nothing.
_ENCODED = re.compile(r"(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+")


def exact(address: str) -> URL:
    """To the letter where it is encoded already, as it may be signed; else encoded. ValueError when it is none."""
    return URL(address, encoded=_ENCODED.fullmatch(address) is not None)


def is_http(url: URL) -> bool:
    return url.scheme in ("http", "https") and bool(url.host) and url.port is not None


def url_of(address: str) -> URL:
    try:
        url = exact(address.strip())
        usable = is_http(url)
    except ValueError:
        usable, url = False, URL()
    if not usable:
        # Not repeated whole: what stands before an `@` or behind a `?` may be a secret.
        begins = re.split(r"[?@#]", address)[0][:100]
        raise validation("Not an address", f"{begins!r} is not an address that begins with https:// or http://")
    return url


def endpoint_of(endpoint: Any) -> tuple[str, Mapping[str, Any] | None]:
    """An endpoint is its address, or an object with the address and how to prove who we are."""
    if isinstance(endpoint, Mapping):
        policy = endpoint.get("authentication")
        if policy is not None and not isinstance(policy, Mapping):
            raise validation("Endpoint not usable", "the endpoint's `authentication` must be an object")
        endpoint = endpoint.get("uri")
    else:
        policy = None
    if not isinstance(endpoint, str):
        raise validation("Endpoint not usable", "an endpoint is an address, or an object with a `uri`")
    return endpoint, policy


def with_query(url: URL, added: list[tuple[str, str]]) -> URL:
    """What the address says already stays as it is, but for its fragment, which is never sent."""
    if not added and not url.raw_fragment:
        return url
    parts = [part for part in (url.raw_query_string, urlencode(added, errors="replace")) if part]
    return URL.build(
        scheme=url.scheme, authority=url.raw_authority, path=url.raw_path, query_string="&".join(parts), encoded=True
    )


def without_user(url: URL) -> URL:
    return url if url.raw_user is None else url.with_user(None)


def shown(url: URL) -> str:
    """An address as people and logs may see it: a query or a name before the host may be a secret."""
    return f"{url.scheme}://{url.raw_authority.rpartition('@')[2]}{url.raw_path}"
