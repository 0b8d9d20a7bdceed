"""`call: http`: a request, as the workflow describes it."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from multidict import CIMultiDict
from yarl import URL

from penstock.engine.faults import validation
from penstock.engine.tasks.addresses import endpoint_of, url_of, with_query, without_user
from penstock.engine.tasks.body import ACCEPTED
from penstock.engine.tasks.content import encoded, pairs, plain
from penstock.engine.tasks.exchange import Call, exchange, output_of
from penstock.engine.tasks.pool import USER_AGENT
from penstock.engine.tasks.work import Performed, Work

_METHOD = re.compile(r"[A-Za-z][A-Za-z-]{0,30}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_NO_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
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
        url=without_user(url),
        headers=_with_user(headers, url),
        body=body,
        policy=policy,
        output=output_of(arguments),
        redirect=arguments.get("redirect") is True,
    )
    return await exchange(call, work)


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
    if url.raw_user is not None and "Authorization" not in headers:
        pair = f"{url.user}:{url.password or ''}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    return headers
