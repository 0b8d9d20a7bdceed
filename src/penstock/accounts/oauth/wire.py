"""Asking a provider that may be slow, broken or hostile: bounded in time and size, no redirects, no cookies."""

import asyncio
import base64
import logging
import re
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import quote

import httpx
import msgspec

from penstock.accounts.oauth.errors import ProviderDown

SECONDS = 10.0
LARGEST_ANSWER = 1024 * 1024

_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_NONSENSE = "the provider's answer could not be understood; please try again later"


class Answer(msgspec.Struct, frozen=True):
    """A provider's answer. `body` is what its JSON said, None when an error came without JSON."""

    status: int
    body: object

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def members(self) -> dict[str, object]:
        if not isinstance(self.body, dict):
            raise ProviderDown(_NONSENSE)
        return self.body

    @property
    def error_code(self) -> str:
        """RFC 6749's `error`, in brackets, when it is a bare word: anything else could be made to mislead."""
        code = self.body.get("error") if isinstance(self.body, dict) else None
        return f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z_]{1,40}", code) else ""


class Wire:
    """One connection pool for all providers."""

    def __init__(self, http: httpx.AsyncClient | None) -> None:
        self._owned = http is None
        # one person's cookies at a provider must not travel with another person's request
        self._http = http or httpx.AsyncClient(cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])))
        logging.getLogger("httpx").addFilter(_hide_queries)

    async def aclose(self) -> None:
        if self._owned:
            await self._http.aclose()

    async def get(self, url: str, *, bearer: str = "", params: Mapping[str, str] | None = None) -> Answer:
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return await self._ask("GET", with_params(url, params), headers, None)

    async def post_form(self, url: str, form: Mapping[str, str], *, basic: tuple[str, str] | None) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded", **_basic(basic)}
        return await self._ask("POST", with_params(url), headers, str(httpx.QueryParams(form)).encode())

    async def post_json(self, url: str, body: object, *, basic: tuple[str, str]) -> Answer:
        headers = {"Content-Type": "application/json", **_basic(basic)}
        return await self._ask("POST", with_params(url), headers, msgspec.json.encode(body))

    async def _ask(self, method: str, url: httpx.URL, headers: dict[str, str], content: bytes | None) -> Answer:
        # compressed answers are not asked for: a small one could unfold to gigabytes
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "penstock", **headers}
        try:
            # httpx's timeouts are per read; a provider that sends a byte now and then would hold us for ever
            async with (
                asyncio.timeout(SECONDS),
                self._http.stream(
                    method, url, headers=headers, content=content, timeout=SECONDS, follow_redirects=False
                ) as response,
            ):
                status, body = response.status_code, await _bounded(response)
        except (httpx.HTTPError, TimeoutError) as error:
            raise ProviderDown("the provider could not be reached; please try again later") from error
        return _understood(status, body)


async def _bounded(response: httpx.Response) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProviderDown(_NONSENSE)
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise ProviderDown("the provider's answer was far too long; please try again later")
    return bytes(body)


def _understood(status: int, body: bytes) -> Answer:
    if status >= 500 or status == 429:
        raise ProviderDown("the provider is not able to answer now; please try again later")
    if 300 <= status < 400:
        raise ProviderDown(_NONSENSE)
    try:
        return Answer(status, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if status >= 400:
            return Answer(status, None)
        raise ProviderDown(_NONSENSE) from error


def with_params(url: str, params: Mapping[str, str] | None = None) -> httpx.URL:
    """`url` with `params` added to the query that it may have."""
    try:
        return httpx.URL(url).copy_merge_params(dict(params)) if params else httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ProviderDown(_NONSENSE) from error


def is_token(value: object) -> bool:
    """Whether `value` can stand in a header, and is not there to keep us busy."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _basic(credentials: tuple[str, str] | None) -> dict[str, str]:
    if credentials is None:
        return {}
    text = ":".join(quote(part, safe="") for part in credentials)  # RFC 6749, 2.3.1
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


class _HideQueries(logging.Filter):
    """httpx logs every address, and Facebook wants the token that it checks in the query."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                part.copy_with(query=None) if isinstance(part, httpx.URL) else part for part in record.args
            )
        return True


_hide_queries = _HideQueries()
