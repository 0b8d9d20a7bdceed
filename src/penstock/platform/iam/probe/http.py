"""Asking a provider over HTTP, and saying in a sentence what went wrong: unreachable, refused, wrong certificate …"""

import asyncio
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx
import msgspec

from penstock.egress import Unresolved, denial
from penstock.platform.iam.probe import ProbeFailed

SECONDS = 8.0
_LARGEST = 1024 * 1024


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    host: str

    def require_success(self, what: str) -> None:
        if 300 <= self.status < 400:
            raise ProbeFailed(f"{self.host} answered with a redirect, which is not followed; configure where it leads")
        if self.status in {401, 403}:
            raise ProbeFailed(f"{self.host} did not accept the credentials (status {self.status})")
        if self.status != 200:
            raise ProbeFailed(f"{self.host} has no {what} there (status {self.status})")

    def json(self, what: str) -> dict[str, object]:
        try:
            return msgspec.json.decode(self.body, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProbeFailed(f"what {self.host} sent is no {what}") from error


async def ask(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    host = host_of(url)
    # Compressed answers are not asked for: a small one could unfold to gigabytes.
    sent = {"Accept-Encoding": "identity", "User-Agent": "penstock", **(headers or {})}
    try:
        async with (
            asyncio.timeout(SECONDS),
            client.stream(method, url, headers=sent, content=content, timeout=SECONDS) as response,
        ):
            return Answer(response.status_code, await _bounded(response, host), host)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise ProbeFailed(explain(error, host)) from error


async def _bounded(response: httpx.Response, host: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > _LARGEST:
            raise ProbeFailed(f"the answer of {host} was far too long")
    return bytes(body)


def host_of(url: str) -> str:
    return urlsplit(url).netloc


def explain(error: BaseException, host: str) -> str:
    """Why a connection failed."""
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"the certificate of {host} was not accepted: {cause.verify_message}"
            case ssl.SSLError():
                return f"{host} does not speak TLS as we do"
            case ConnectionRefusedError():
                return f"{host} refused the connection"
            case Unresolved():
                return str(cause)
            case TimeoutError() | httpx.TimeoutException():
                return f"{host} did not answer in time"
            case _:
                if (refusal := denial(cause)) is not None:
                    return str(refusal)
    return f"{host} could not be reached, or broke off"


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or one in found:
            continue
        found.append(one)
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)
        waiting.extend((one.__cause__, one.__context__))
    return found
