"""Every answer, whatever becomes of the request: its id, its shape, its headers, and what others may learn of it."""

import asyncio
import gc
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from litestar import Request
from prometheus_client.parser import text_string_to_metric_families

from penstock.accounts.hooks import Hooks
from penstock.http import metrics
from penstock.http.edge import Edge
from penstock.settings import load
from tests.conftest import Serve, client_of

pytestmark = pytest.mark.anyio
UUID = "0190163d-8694-739b-aea5-966c26f8ad91"
ACCOUNT = {"email": "ada@example.com", "password": "correct horse"}


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind is enough: nothing here depends on it."""
    return sqlite_url


def boom(*_: Any) -> None:
    raise RuntimeError("the reason, with s3cret")


@pytest.fixture
async def broken(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose hook fails at every sign-up."""
    async with serve(hooks=Hooks(on_auth_event=boom), max_body=2048) as client:
        yield client


async def chunks(total: int) -> AsyncIterator[bytes]:
    for _ in range(total // 512):
        yield b"x" * 512


FORM = {"content-type": "application/x-www-form-urlencoded"}
REQUESTS: dict[int, dict[str, Any]] = {
    200: {"method": "GET", "url": "/healthz"},
    400: {"method": "POST", "url": "/user/create", "data": {"email": "nobody"}},
    401: {"method": "GET", "url": "/user/get"},
    403: {"method": "GET", "url": "/user/signout", "headers": {"origin": "https://evil.example"}},
    404: {"method": "GET", "url": "/nowhere"},
    405: {"method": "DELETE", "url": "/user/create"},
    413: {"method": "POST", "url": "/user/create", "content": b"x" * 4096, "headers": FORM},
    415: {"method": "POST", "url": "/user/create", "content": b"x", "headers": {"content-type": "text/csv"}},
    500: {"method": "POST", "url": "/user/create", "data": ACCOUNT},
}


@pytest.mark.parametrize("status", REQUESTS)
async def test_every_answer_bears_the_request_id_that_its_problem_names(broken: httpx.AsyncClient, status: int) -> None:
    answer = await broken.request(**REQUESTS[status])
    assert answer.status_code == status
    assert str(uuid.UUID(answer.headers["x-request-id"])) == answer.headers["x-request-id"]
    assert answer.headers.get_list("x-request-id") == [answer.headers["x-request-id"]]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    if status >= 400:
        problem = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["cache-control"] == "no-store"
        assert problem["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"
        assert problem["status"] == status
        assert re.fullmatch(r"urn:penstock:problem:[a-z-]+", problem["type"])
        assert problem["title"]
        assert problem["detail"]
        assert set(problem) <= {"type", "title", "status", "detail", "instance", "errors"}


@pytest.mark.parametrize("status", REQUESTS)
async def test_the_message_is_repeated_in_a_header_for_document_1_only(broken: httpx.AsyncClient, status: int) -> None:
    answer = await broken.request(**REQUESTS[status])
    expected = answer.json()["detail"] if REQUESTS[status]["url"].startswith("/user/") else None
    assert answer.headers.get("status") == expected


@pytest.mark.parametrize("status", REQUESTS)
async def test_nothing_of_a_request_stays_in_memory(broken: httpx.AsyncClient, status: int) -> None:
    def kept() -> int:
        gc.collect()
        return sum(type(thing) is Request for thing in gc.get_objects())

    before = kept()
    for _ in range(3):
        await broken.request(**REQUESTS[status])
    async with asyncio.timeout(60):
        while kept() > before:
            await asyncio.sleep(0.01)


async def test_a_field_name_cannot_write_headers_or_break_the_answer(client: httpx.AsyncClient) -> None:
    answer = await client.post("/user/create", content=b"a%0D%0AX:%00%7F%C3%BC=1&a%0D%0AX:%00%7F%C3%BC=2", headers=FORM)
    assert answer.status_code == 400
    assert re.fullmatch(r"[ -~]+", answer.headers["status"])
    assert answer.json()["errors"] == [
        {"path": "/a\r\nX:\0\x7fü", "message": "contains a character that cannot be stored"}
    ]


@pytest.mark.parametrize("url", ["/healthz", "/nowhere", "/user/get"])
async def test_an_id_that_is_a_uuid_is_kept(client: httpx.AsyncClient, url: str) -> None:
    for mine in (str(uuid.uuid4()), str(uuid.uuid4()).upper()):
        assert (await client.get(url, headers={"x-request-id": mine})).headers["x-request-id"] == mine


@pytest.mark.parametrize("given", ["", "1", "x" * 36, f"{UUID} ", f"{UUID}\n", f"{{{UUID}}}"])
async def test_any_other_id_is_replaced(client: httpx.AsyncClient, given: str) -> None:
    answer = await client.get("/healthz", headers=[(b"x-request-id", given.encode())])
    assert answer.headers["x-request-id"] != given
    assert str(uuid.UUID(answer.headers["x-request-id"])) == answer.headers["x-request-id"]


async def test_two_requests_have_two_ids(client: httpx.AsyncClient) -> None:
    ids = {(await client.get("/healthz")).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


async def test_a_method_that_is_not_there_is_405_with_those_that_are(client: httpx.AsyncClient) -> None:
    answer = await client.delete("/user/auth")
    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].replace(" ", "").split(","))


async def test_head_is_answered_as_get_is_without_the_body(client: httpx.AsyncClient) -> None:
    for url in ("/healthz", "/readyz", "/openapi.json", "/project", "/nowhere", "/api/v1/companies"):
        whole, head = await client.get(url), await client.head(url)
        same = ("content-type", "content-length")
        assert (head.status_code, head.content) == (whole.status_code, b""), url
        assert [head.headers[name] for name in same] == [whole.headers[name] for name in same], url


async def test_head_of_a_stream_ends(client: httpx.AsyncClient) -> None:
    token = (await client.post("/api/v1/auth/register", json=ACCOUNT)).json()["access_token"]
    head = await client.head("/api/v1/events/stream", headers={"authorization": f"Bearer {token}"})
    assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("/project", "GET, HEAD, OPTIONS, POST"),
        ("/api/v1/companies/x", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("/user/auth", "GET, OPTIONS, POST"),
    ],
)
async def test_options_and_refusals_name_all_methods_of_an_address(
    client: httpx.AsyncClient, url: str, taken: str
) -> None:
    answer = await client.options(url)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (204, taken, b"")
    assert (await client.request("PATCH", url)).headers["allow"] == taken


@pytest.mark.parametrize("url", ["/user/auth", "/user/signout", "/api/v1/auth/oauth2/google/callback"])
async def test_who_only_looks_ahead_signs_nobody_in_or_out(client: httpx.AsyncClient, url: str) -> None:
    assert (await client.head(url)).status_code == 405


async def test_a_401_of_the_api_says_how_to_sign_in(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/auth/me")).headers["www-authenticate"] == "Bearer"
    assert "www-authenticate" not in (await client.get("/user/get")).headers


async def test_a_body_over_the_limit_is_refused_by_its_length_before_it_is_read(serve: Serve) -> None:
    async with serve(max_body=2048) as client:
        for length in ("2049", "9" * 5000):
            answer = await client.post("/user/create", content=b"", headers=FORM | {"content-length": length})
            assert answer.status_code == 413
            assert answer.json()["detail"] == "the body may have 2048 bytes at most"


async def test_a_body_sent_in_chunks_is_counted_as_it_comes(serve: Serve) -> None:
    async with serve(max_body=2048) as client:
        for url in ("/user/create", "/project"):
            for kind in (*FORM.values(), "application/json", "multipart/form-data; boundary=b"):
                answer = await client.post(url, content=chunks(4096), headers={"content-type": kind})
                assert answer.status_code in ({413, 415} if url == "/project" else {413}), (url, kind)
        answer = await client.post("/user/create", content=chunks(2048), headers=FORM)
        assert answer.status_code == 400


async def test_a_body_of_exactly_the_limit_is_read(serve: Serve) -> None:
    async with serve(max_body=2048) as client:
        body = b'{"name": "apollo", "description": "' + b"x" * 2048
        answer = await client.post(
            "/project", content=body[:2046] + b'"}', headers={"content-type": "application/json"}
        )
        assert answer.status_code == 201


ALLOWED = "https://app.example"
CORS = ("access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers")
PREFLIGHT = ("access-control-allow-methods", "access-control-allow-headers", "access-control-max-age")


@pytest.fixture
async def shared(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(cors_origins=[ALLOWED]) as client:
        yield client


@pytest.mark.parametrize("url", ["/healthz", "/nowhere", "/user/get"])
async def test_an_allowed_origin_gets_exact_headers_with_credentials(shared: httpx.AsyncClient, url: str) -> None:
    answer = await shared.get(url, headers={"origin": ALLOWED})
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
    assert answer.headers["vary"] == "Origin"


FOREIGN = [
    "https://evil.example",
    "http://app.example",
    "https://app.example.evil.example",
    "null",
    "https://app.example:8443",
]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_another_origin_gets_none(shared: httpx.AsyncClient, origin: str) -> None:
    answer = await shared.get("/healthz", headers={"origin": origin})
    assert not set(CORS) & set(answer.headers)
    assert answer.headers["vary"] == "Origin"


async def test_a_cache_is_told_even_when_no_origin_was_sent(shared: httpx.AsyncClient) -> None:
    assert (await shared.get("/healthz")).headers["vary"] == "Origin"


async def test_without_allowed_origins_nobody_gets_headers(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"origin": ALLOWED})
    assert not {*CORS, "vary"} & set(answer.headers)


async def test_a_preflight_of_an_allowed_origin_is_answered(shared: httpx.AsyncClient) -> None:
    answer = await shared.options("/user/auth", headers={"origin": ALLOWED, "access-control-request-method": "POST"})
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert "Content-Type" in answer.headers["access-control-allow-headers"]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_preflight_of_another_origin_is_told_nothing(shared: httpx.AsyncClient, origin: str) -> None:
    answer = await shared.options("/user/auth", headers={"origin": origin, "access-control-request-method": "POST"})
    assert not {*CORS, *PREFLIGHT} & set(answer.headers)


async def test_forwarded_addresses_count_from_trusted_proxies_only(serve: Serve) -> None:
    async with serve(limit_create=1) as client:
        app = client.app  # type: ignore[attr-defined]

        async def sign_up(number: int, peer: str) -> int:
            async with client_of(app, address=peer) as caller:
                headers = {"x-forwarded-for": f"198.51.100.{number}"}
                account = ACCOUNT | {"email": f"{peer}-{number}@example.com".replace(":", "")}
                return (await caller.post("/user/create", data=account, headers=headers)).status_code

        assert [await sign_up(number, "127.0.0.1") for number in range(3)] == [200, 200, 200]
        assert [await sign_up(number, "203.0.113.7") for number in range(2)] == [200, 429]


def samples() -> dict[tuple[str, ...], float]:
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            found[(sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items())))] = sample.value
    return found


async def test_metrics_are_counted_by_the_template_of_a_route(client: httpx.AsyncClient) -> None:
    await client.get("/user/oauth/login/provider_a")
    await client.get("/user/oauth/login/some-secret-id")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    routes = {
        sample.labels["route"]
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if "route" in sample.labels
    }
    assert any(route.startswith("/user/oauth/login/{") for route in routes)
    assert "some-secret-id" not in answer.text


async def test_strangers_cannot_make_the_metrics_grow(client: httpx.AsyncClient) -> None:
    async def call_around(salt: str) -> None:
        for number in range(3):
            await client.request(f"{salt}{number}", "/healthz")
            await client.request(f"{salt}{number}", f"/{salt}/{number}")
            await client.get(f"/{salt}/{number}")
            await client.post(f"/user/{salt}{number}")
            await client.get(f"/user/oauth/login/{salt}{number}")

    await call_around("first")
    before = set(samples())
    await call_around("second")
    assert set(samples()) == before
    assert ("penstock_http_requests_in_flight",) in before


async def test_requests_in_flight_are_counted_down_again(client: httpx.AsyncClient) -> None:
    before = samples()[("penstock_http_requests_in_flight",)]
    await client.get("/healthz")
    await client.get("/nowhere")
    assert samples()[("penstock_http_requests_in_flight",)] == before


async def test_an_application_that_fails_before_its_answer_is_answered_for() -> None:
    async def app(*_: Any) -> None:
        raise RuntimeError("s3cret")

    async with client_of(Edge(app, load(environ={}).settings)) as client:
        answer = await client.get("/user/get")
    assert answer.status_code == 500
    assert answer.json()["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"
    assert "s3cret" not in answer.text + str(answer.headers)


async def test_a_caller_who_leaves_in_the_middle_of_a_body_is_no_failure_of_ours(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: list[dict[str, Any]] = []
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": b"email=", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", FORM["content-type"].encode()), (b"host", b"localhost")]
    path = "/user/create"
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": headers, "client": ("203.0.113.7", 1), "scheme": "http", "root_path": ""}  # fmt: skip
    async with serve() as client:
        await client.app(scope, receive, send)  # type: ignore[attr-defined]
    assert sent[0]["status"] == 400
    assert "Traceback" not in capsys.readouterr().out
