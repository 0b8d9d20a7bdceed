"""`call: http`: a request, as the workflow describes it."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from multidict import CIMultiDict
from yarl import URL

from penstock.engine.faults import validation
from penstock.engine.tasks.body import ACCEPTED
from penstock.engine.tasks.content import encoded, pairs, plain
from penstock.engine.tasks.exchange import Call, exchange, output_of
from penstock.engine.tasks.pool import USER_AGENT
from penstock.engine.tasks.work import Performed, Work

_METHOD = re.compile(r"[A-Za-z][A-Za-z-]{0,30}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_NO_VALUE = re.compile(r"[\r\n\0]")
# What frames a message is ours to say. A wrong length would leave half a request in a connection that the next
# workflow uses.
_OURS = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"}
    | {"upgrade"}
)


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    address, policy = endpoint_of(arguments.get("endpoint"))
    query = arguments.get("query") or {}
    if not isinstance(query, Mapping):
        raise validation("Query not usable", "`query` must be an object of names and values")
    added = [pair for name, value in query.items() for pair in pairs(str(name), value)]
    headers, body = request_of(arguments.get("headers"), arguments.get("body"), work)
    url = with_query(url_of(address), added)
    call = Call(
        method=method_of(arguments.get("method")),
        url=url.with_user(None),
        headers=_with_user(headers, url),
        body=body,
        policy=policy,
        output=output_of(arguments),
        redirect=arguments.get("redirect") is True,
    )
    return await exchange(call, work)


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


def url_of(address: str) -> URL:
    try:
        url = URL(address.strip()).with_fragment(None)
        usable = url.scheme in ("http", "https") and bool(url.host) and url.port is not None
    except ValueError:
        usable, url = False, URL()
    if not usable:
        # Not repeated whole: what stands before an `@` or behind a `?` may be a secret.
        begins = re.split(r"[?@#]", address)[0][:100]
        raise validation("Not an address", f"{begins!r} is not an address that begins with https:// or http://")
    return url


def with_query(url: URL, added: Iterable[tuple[str, str]]) -> URL:
    """What the address says already stays, to the letter: it may be signed."""
    parts = [part for part in (url.raw_query_string, urlencode(list(added))) if part]
    return URL.build(
        scheme=url.scheme, authority=url.raw_authority, path=url.raw_path, query_string="&".join(parts), encoded=True
    )


def method_of(method: Any) -> str:
    if not isinstance(method, str) or not _METHOD.fullmatch(method) or method.upper() == "CONNECT":
        raise validation("Method not usable", "`method` must be one of HTTP's, such as get, post, put or delete")
    return method


def request_of(given: Any, body: Any, work: Work) -> tuple[CIMultiDict[str], bytes | None]:
    """The headers that the workflow gives, with ours where it gives none, and the body's bytes."""
    headers = CIMultiDict(
        {
            "User-Agent": USER_AGENT,
            "Accept": "application/json, */*;q=0.5",
            "Accept-Encoding": ACCEPTED,
            "Idempotency-Key": work.key,
        }
    )
    headers.update(headers_of(given, work))
    if body is None:
        return headers, None
    content, headers["Content-Type"] = encoded(body, headers.get("Content-Type"))
    return headers, content


def headers_of(given: Any, work: Work) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise validation("Headers not usable", "`headers` must be an object of names and values")
    headers = {}
    for name, value in given.items():
        if value is None:
            continue
        text = ", ".join(map(plain, value)) if isinstance(value, list) else plain(value)
        if not isinstance(name, str) or not _HEADER.fullmatch(name) or _NO_VALUE.search(text):
            raise validation(
                "Headers not usable", f"{str(name)[:100]!r} cannot be sent as a header: see its characters"
            )
        if name.lower() in _OURS:
            work.says("warn", f"the header {name} is left out: it is set by the one who sends")
            continue
        headers[name] = text
    return headers


def _with_user(headers: CIMultiDict[str], url: URL) -> CIMultiDict[str]:
    if url.user is not None and "Authorization" not in headers:
        pair = f"{url.user}:{url.password or ''}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return headers
