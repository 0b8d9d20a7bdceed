"""`call: http` against a real server, a friendly one and a hostile one."""

import asyncio
import base64
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.engine.behalf import on_behalf_of
from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.tasks import http
from penstock.engine.tasks.body import Body
from penstock.engine.tasks.pool import USER_AGENT
from penstock.engine.tasks.work import Work
from tests.ports import free_port

from .http_peer import app, bomb_of_zeros, rounds, said, served, slow, working

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def peer() -> Iterator[str]:
    with served(app) as url:
        yield url


async def called(work: Work, endpoint: Any, method: str = "get", **arguments: Any) -> Any:
    return (await http.perform({"method": method, "endpoint": endpoint, **arguments}, work)).output


async def fault(work: Work, endpoint: Any, method: str = "get", **arguments: Any) -> Error:
    with pytest.raises(Fault) as raised:
        await called(work, endpoint, method, **arguments)
    return raised.value.error


async def test_a_request_is_what_the_workflow_describes(peer: str) -> None:
    async with working() as work:
        sent = await called(
            work,
            {"uri": f"{peer}/pets/a%2Fb?signed=%7E%20x#part"},
            "patch",
            query={"tag": ["a b", "c&d"], "limit": 10, "deep": True, "none": None},
            headers={"X-Count": 3, "Accept": "text/x"},
            body={"name": "Mílou"},
        )
    assert sent["method"] == "PATCH"
    assert (sent["path"], sent["query"]) == ("/pets/a%2Fb", "signed=%7E%20x&tag=a+b&tag=c%26d&limit=10&deep=true")
    assert sent["body"].encode("latin-1").decode() == '{"name":"Mílou"}'
    headers = sent["headers"]
    assert (headers["x-count"], headers["accept"], headers["content-type"]) == ("3", "text/x", "application/json")
    assert (headers["idempotency-key"], headers["user-agent"]) == ("key-1", USER_AGENT)


async def test_a_workflow_may_set_its_own_idempotency_key_but_not_what_frames_the_message(peer: str) -> None:
    async with working() as work:
        headers = {"idempotency-key": "mine", "Content-Length": "1", "Transfer-Encoding": "chunked", "Connection": "x"}
        sent = await called(work, f"{peer}/x", "post", headers=headers, body="hello")
    assert sent["headers"]["idempotency-key"] == "mine"
    assert sent["headers"]["content-length"] == "5"
    assert "transfer-encoding" not in sent["headers"]


@pytest.mark.parametrize(
    ("body", "content_type", "arrives", "as_type"),
    [
        ("text as it is", None, "text as it is", "text/plain; charset=utf-8"),
        ('{"a": 1}', "application/vnd.x+json", '{"a": 1}', "application/vnd.x+json"),
        ("é", "text/plain; charset=iso-8859-1", "é", "text/plain; charset=iso-8859-1"),
        ({"a": [1, "b c"], "d": None}, "application/x-www-form-urlencoded", "a=1&a=b+c", None),
        ([1, 2], None, "[1,2]", "application/json"),
        (False, None, "false", "application/json"),
    ],
)
async def test_a_body_is_written_by_its_content_type(
    peer: str, body: Any, content_type: str | None, arrives: str, as_type: str | None
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    async with working() as work:
        sent = await called(work, f"{peer}/x", "post", headers=headers, body=body)
    assert sent["body"] == arrives
    assert sent["headers"]["content-type"] == (as_type or content_type)


@pytest.mark.parametrize(
    ("content_type", "body", "content"),
    [
        ("application/json", b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ("application/problem+json; charset=utf-8", b'{"title":"x"}', {"title": "x"}),
        ("application/json; charset=iso-8859-1", b'"\xe9"', "é"),
        ("text/html; charset=windows-1252", b"\x80", "€"),
        ("text/plain; charset=nonsense", "é".encode(), "é"),
        ("text/plain; charset=punycode", b"a-b", "a-b"),
        ("text/plain", b"\xff!", "\N{REPLACEMENT CHARACTER}!"),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/png", b"\x89PNG", base64.b64encode(b"\x89PNG").decode()),
        ("application/json", b"", None),
    ],
)
async def test_content_is_read_by_its_type(peer: str, content_type: str, body: bytes, content: Any) -> None:
    query = {"type": content_type, "hex": body.hex()}
    async with working() as work:
        assert await called(work, f"{peer}/typed", query=query) == content
        raw = await called(work, f"{peer}/typed", query=query, output="raw")
    assert raw == (base64.b64encode(body).decode() if body else None)


async def test_json_that_is_none_is_a_fault_that_says_how_to_take_it(peer: str) -> None:
    query = {"type": "application/json", "hex": b"<html>".hex()}
    async with working() as work:
        error = await fault(work, f"{peer}/typed", query=query)
        deep = await fault(work, f"{peer}/typed", query={**query, "hex": (b"[" * 20_000).hex()})
    assert error.type == deep.type == STANDARD + "communication"
    assert error.detail is not None
    assert "output: raw" in error.detail


async def test_a_response_has_the_request_without_its_credentials(peer: str) -> None:
    async with working() as work:
        endpoint = {"uri": f"{peer}/x?a=1", "authentication": {"bearer": {"token": "tok-123"}}}
        output = await called(work, endpoint, output="response", headers={"cookie": "a=b"})
    assert output["statusCode"] == 200
    assert output["headers"]["Content-Type"] == "application/json"
    assert output["content"]["headers"]["authorization"] == "Bearer tok-123"
    assert (output["request"]["method"], output["request"]["uri"]) == ("get", f"{peer}/x?a=1")
    assert output["request"]["headers"]["Authorization"] == output["request"]["headers"]["Cookie"] == "********"


async def test_a_name_and_password_in_the_address_are_used_and_shown_nowhere(peer: str) -> None:
    address = peer.replace("http://", "http://ann:s3cret%21@")
    async with working() as work:
        sent = await called(work, f"{address}/x")
        error = await fault(work, f"{address}/status/500")
        assert "s3cret" not in str(said(work))
    assert sent["headers"]["authorization"] == "Basic " + base64.b64encode(b"ann:s3cret!").decode()
    assert "s3cret" not in str(error)


async def test_a_status_that_is_an_error_says_what_the_service_said(peer: str) -> None:
    async with working(secrets={"key": "hush-hush"}) as work:
        error = await fault(work, f"{peer}/status/503?said={'hush-hush ' * 200}", "post")
        assert said(work) == [f"warn POST {peer}/status/503 → 503 {{'status': 503, 'ms': {_ms(work)}}}"]
    assert (error.type, error.status, error.title) == (STANDARD + "communication", 503, "Service Unavailable")
    assert error.detail is not None
    assert error.detail.startswith(f"POST {peer}/status/503 answered 503: ******** ")
    assert len(error.detail) < 700


def _ms(work: Work) -> str:
    return str(said(work)).partition("'ms': ")[2].partition("}")[0]


async def test_a_redirect_is_an_error_unless_the_workflow_follows_it(peer: str) -> None:
    address = f"{peer}/redirect?to=/x%3Fa=1"
    async with working() as work:
        error = await fault(work, address)
        elsewhere = await fault(work, f"{peer}/redirect?to=http://u:hush@h.example/p%3Fhush")
        output = await called(work, address, redirect=True, output="response")
    assert error.status == 302
    assert str(error.detail).endswith("answered 302 and redirects to /x; `redirect: true` would follow it")
    assert "redirects to http://h.example/p;" in str(elsewhere.detail)
    assert (output["statusCode"], output["request"]["uri"]) == (200, f"{peer}/x?a=1")


@pytest.mark.parametrize(
    ("status", "method", "becomes", "body"),
    [
        (302, "post", "GET", ""),
        (303, "put", "GET", ""),
        (301, "put", "PUT", '{"a":1}'),
        (307, "post", "POST", '{"a":1}'),
        (308, "post", "POST", '{"a":1}'),
    ],
)
async def test_a_redirect_keeps_the_method_where_it_must(
    peer: str, status: int, method: str, becomes: str, body: str
) -> None:
    async with working() as work:
        sent = await called(work, f"{peer}/redirect?to=/x&status={status}", method, body={"a": 1}, redirect=True)
    assert (sent["method"], sent["body"]) == (becomes, body)
    assert ("content-type" in sent["headers"]) == bool(body)


async def test_credentials_stay_with_the_host_that_they_were_given_for(peer: str) -> None:
    other = peer.replace("127.0.0.1", "localhost")
    async with working() as work:
        endpoint = {"uri": f"{peer}/redirect?to={other}/x", "authentication": {"bearer": {"token": "t"}}}
        performed = await http.perform(
            {"method": "get", "endpoint": endpoint, "redirect": True, "headers": {"Cookie": "a=b", "X-Own": "kept"}},
            work,
        )
        at_home = {**endpoint, "uri": f"{peer}/redirect?to=/x"}
        kept = await called(work, at_home, redirect=True)
    sent = performed.output["headers"]
    assert "authorization" not in sent
    assert "cookie" not in sent
    assert sent["x-own"] == "kept"
    assert performed.authorization is not None
    assert performed.authorization.parameter == "t"
    assert kept["headers"]["authorization"] == "Bearer t"


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/", "file:///etc/passwd"]
)
async def test_a_redirect_leads_nowhere_that_is_denied(peer: str, to: str) -> None:
    async with working(deny=("169.254.0.0/16",)) as work:
        error = await fault(work, f"{peer}/redirect?to={to}", redirect=True)
    assert (error.status, error.title) in [(403, "Address not allowed"), (500, "Redirect not usable")]


async def test_redirects_in_a_circle_come_to_an_end(peer: str) -> None:
    rounds.clear()
    async with working() as work:
        error = await fault(work, f"{peer}/around", redirect=True)
    assert error.title == "Too many redirects"
    assert len(rounds) == 11


@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/", "http://metadata.google.internal/", "http://[::ffff:a9fe:a9fe]/"]
)
async def test_denied_addresses_are_refused(address: str) -> None:
    async with working(deny=("169.254.0.0/16",)) as work:
        error = await fault(work, address)
    assert (error.type, error.status, error.title) == (STANDARD + "communication", 403, "Address not allowed")


async def test_what_the_network_did_is_said_in_words(peer: str) -> None:
    async with working() as work:
        refused = await fault(work, f"http://127.0.0.1:{free_port()}/?token=hush")
        unknown = await fault(work, "http://no-such-host.invalid/")
        no_tls = await fault(work, peer.replace("http:", "https:"))
        nonsense = [await fault(work, address) for address in ("ftp://x/", "x", "http://", "http://x:99999/", "")]
    assert (refused.status, refused.title) == (500, "Not reachable")
    assert refused.detail is not None
    assert "refused" in refused.detail
    assert "hush" not in refused.detail
    assert unknown.title == "Host not found"
    assert no_tls.title == "No secure connection"
    assert {error.title for error in nonsense} == {"Not an address"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "get\r\nx"},
        {"method": "connect"},
        {"headers": {"a\r\nb": "c"}},
        {"headers": {"a": "b\r\nc: d"}},
        {"headers": {"a": "\ud800"}},
        {"body": {"a": "\ud800"}},
        {"headers": "no"},
        {"query": "no"},
        {"body": {"a": 1}, "headers": {"content-type": "application/xml"}},
        {"body": "€", "headers": {"content-type": "text/plain; charset=ascii"}},
        {"output": "everything"},
        {"endpoint": {"authentication": {}}},
    ],
)
async def test_arguments_that_cannot_be_sent_are_refused_before_anything_is(peer: str, arguments: Any) -> None:
    async with working() as work:
        with pytest.raises(Fault) as raised:
            await http.perform({"method": "post", "endpoint": peer, **arguments}, work)
        assert said(work) == []
    assert raised.value.error.type == STANDARD + "validation"


@pytest.mark.parametrize("path", ["/endless", "/bomb"])
async def test_an_answer_without_end_is_cut_off(peer: str, path: str) -> None:
    async with working(answer_bytes=1_000_000) as work:
        error = await fault(work, f"{peer}{path}")
    assert error.title == "Answer too large"


def test_a_bomb_is_not_unpacked_beyond_the_limit() -> None:
    body, bomb = Body("gzip", 1_000_000), bomb_of_zeros()
    tracemalloc.start()
    try:
        with pytest.raises(Fault):
            body.add(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


async def test_packed_answers_are_unpacked_and_broken_ones_are_told(peer: str) -> None:
    async with working() as work:
        assert await called(work, f"{peer}/packed") == {"packed": True}
        cut = await fault(work, f"{peer}/packed?cut=20")
        unasked = await fault(work, f"{peer}/packed?as=br")
        assert await called(work, f"{peer}/packed?cut=0") is None
    assert (cut.title, unasked.title) == ("Answer incomplete", "Answer not understood")


async def test_ten_thousand_headers_are_no_answer(peer: str) -> None:
    async with working() as work:
        error = await fault(work, f"{peer}/many-headers")
    assert error.title == "Answer not understood"


async def test_an_answer_that_takes_too_long_is_given_up(peer: str) -> None:
    async with working(seconds=0.2) as work:
        error = await fault(work, f"{peer}/slow")
    assert (error.title, error.status) == ("No answer in time", 500)


async def test_a_cancelled_call_lets_go_of_the_service(peer: str) -> None:
    slow.begun.clear()
    slow.gone.clear()
    async with working() as work:
        task = asyncio.create_task(called(work, f"{peer}/slow"))
        assert await asyncio.to_thread(slow.begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(slow.gone.wait, 60)


async def test_a_server_that_speaks_no_http_is_told() -> None:
    answers = [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"]

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, working() as work:
        titles = [(await fault(work, address, "post")).title for _ in range(3)]
    assert titles == ["Connection lost", "Answer not understood", "Answer incomplete"]


async def test_more_calls_than_connections_all_get_their_answer(peer: str) -> None:
    async with working(connections=40) as work:
        outputs = await asyncio.gather(*(called(work, f"{peer}/x", query={"n": n}) for n in range(200)))
    assert [output["query"] for output in outputs] == [f"n={n}" for n in range(200)]


async def test_services_that_never_answer_one_project_hold_up_no_other(peer: str) -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def call_for(project: str, work: Work, address: str) -> Any:
        on_behalf_of.set(project)
        return await called(work, address)

    one, other = [await asyncio.start_server(never, "127.0.0.1", 0) for _ in range(2)]
    silent = [f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/" for server in (one, other)]
    async with one, other, working(connections=10) as work:
        theirs = [asyncio.create_task(call_for("theirs", work, address)) for address in silent * 20]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            assert await asyncio.create_task(call_for("ours", work, f"{peer}/x"))
        for task in theirs:
            task.cancel()
        await asyncio.gather(*theirs, return_exceptions=True)
