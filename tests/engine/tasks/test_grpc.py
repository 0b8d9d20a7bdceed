"""`call: grpc` against a service made with gRPC's own tools."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import grpc
import pytest

from penstock.engine.faults import Fault
from penstock.engine.tasks import grpc as calls
from penstock.engine.tasks.grpc.channels import Grpc
from penstock.engine.tasks.work import Authorization, Work
from tests.platform.iam.certificates import Authority

from . import grpc_peer
from .http_peer import LIMITS, said, working

pytestmark = pytest.mark.anyio
FILES = grpc_peer.PROTO.parent


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with grpc_peer.reports() as listening:
        yield listening


def call(port: int, method: str, arguments: Any = None, **service: Any) -> dict[str, Any]:
    return {
        "proto": {"endpoint": grpc_peer.PROTO.as_uri()},
        "service": {"name": "test.reports.Reports", "host": "127.0.0.1", "port": port} | service,
        "method": method,
        "arguments": arguments,
    }


async def fault_of(given: dict[str, Any], work: Work) -> Fault:
    with pytest.raises(Fault) as fault:
        await calls.perform(given, work)
    return fault.value


async def test_a_method_answers_as_json_with_its_defaults(port: int) -> None:
    async with working(files=FILES) as work:
        given = call(port, "Write", {"topic": "sales", "since": "1970-01-01T00:00:07Z"})
        output = (await calls.perform(given, work)).output
    assert output["text"] == "of sales 7"
    assert output["pageCount"] == "0"
    assert output["tags"] == []
    assert output["metadata"]["idempotency-key"] == "key-1"
    assert output["metadata"]["user-agent"].startswith("penstock/")
    assert said(work)[-1].startswith(f"info gRPC 127.0.0.1:{port} test.reports.Reports.Write → 1 ")


async def test_a_service_is_found_by_the_last_of_its_name_and_told_who_we_are(port: int) -> None:
    async with working(files=FILES, secrets={"key": "t0ken"}) as work:
        policy = {"bearer": {"use": "key"}}
        performed = await calls.perform(call(port, "Write", {}, name="Reports", authentication=policy), work)
    assert performed.output["metadata"]["authorization"] == "Bearer t0ken"
    assert performed.authorization == Authorization("Bearer", "t0ken")


async def test_streams_are_lists_in_both_directions(port: int) -> None:
    async with working(files=FILES) as work:

        async def asked(method: str, arguments: Any) -> Any:
            return (await calls.perform(call(port, method, arguments), work)).output

        many = await asked("WriteMany", {"topic": "x", "how_many": 3})
        assert [each["pageCount"] for each in many] == ["0", "1", "2"]
        assert await asked("WriteMany", {"topic": "x"}) == []
        assert (await asked("Count", [{"howMany": 2}, {"howMany": 3}]))["pageCount"] == "5"
        talked = await asked("Talk", [{"topic": "a"}, {"topic": "b"}])
        assert [each["text"] for each in talked] == ["re: a", "re: b"]


@pytest.mark.parametrize(
    ("topic", "status", "sentence"),
    [("missing", 404, "NOT_FOUND: no report of that, ********"), ("crash", 500, "UNKNOWN")],
)
async def test_a_status_of_grpc_is_an_error_with_that_of_http(
    port: int, topic: str, status: int, sentence: str
) -> None:
    async with working(files=FILES, secrets={"s": "s3cret-value"}) as work:
        fault = await fault_of(call(port, "Write", {"topic": topic}), work)
    assert fault.error.type.endswith("/communication")
    assert fault.error.status == status
    assert sentence in str(fault)


async def test_an_answer_over_the_limit_is_not_read(port: int) -> None:
    async with working(files=FILES, answer_bytes=100_000) as work:
        assert "more than 100,000 bytes" in str(
            await fault_of(call(port, "Write", {"topic": "huge", "howMany": 200_000}), work)
        )
        many = call(port, "WriteMany", {"topic": "x" * 1000, "howMany": 1_000_000})
        assert "more than 100,000 bytes" in str(await fault_of(many, work))


async def test_a_service_that_takes_too_long_is_left(port: int) -> None:
    for seconds in LIMITS:
        async with working(files=FILES, seconds=seconds) as work:
            fault = await fault_of(call(port, "Write", {"topic": "never"}), work)
        assert fault.error.status == 504
        with suppress(Empty):
            assert grpc_peer.happened.get(timeout=30) == "began"
            break
    assert grpc_peer.happened.get(timeout=30) == "ended"


async def test_a_cancelled_call_is_cancelled_there_too(port: int) -> None:
    async with working(files=FILES) as work:
        doing = asyncio.create_task(calls.perform(call(port, "Write", {"topic": "never"}), work))
        assert await asyncio.to_thread(grpc_peer.happened.get, timeout=30) == "began"
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
        assert await asyncio.to_thread(grpc_peer.happened.get, timeout=30) == "ended"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "Read"}, "has no method 'Read'; it has: Write, WriteMany, Count, Talk"),
        ({"service": {"name": "Nothing", "host": "127.0.0.1"}}, "it has: test.reports.Reports, test.reports.Other"),
        ({"arguments": {"title": "x"}}, "they make no test.reports.Request"),
        ({"arguments": {"howMany": "many"}}, "they make no test.reports.Request"),
        ({"arguments": ["x"]}, "they have to be an object"),
    ],
)
async def test_what_the_proto_does_not_describe_is_not_called(change: dict[str, Any], sentence: str) -> None:
    async with working(files=FILES) as work:
        assert sentence in str(await fault_of(call(9, "Write", {}) | change, work))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("service {", "line 1:9: Expected service name"),
        ('syntax = "proto3"; import "other.proto";', "other.proto: File not found"),
        ('syntax = "proto3"; import "../../etc/passwd";', "not allowed in the virtual path"),
        ('syntax = "proto3"; import "/etc/passwd";', "File not found"),
        ("x" * 1_100_000, "1,048,576 bytes at most"),
    ],
)
async def test_a_proto_that_is_broken_or_reaches_out_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "bad.proto"
    file.write_text(text)
    async with working(files=tmp_path) as work:
        fault = await fault_of(call(9, "Write", {}) | {"proto": {"endpoint": file.as_uri()}}, work)
    assert fault.error.type.endswith("/configuration")
    assert sentence in str(fault)


async def test_nobody_is_called_who_is_not_allowed_or_not_there(port: int) -> None:
    async with working(files=FILES, deny=("127.0.0.0/8",)) as work:
        fault = await fault_of(call(port, "Write", {}), work)
        assert (fault.error.title, fault.error.status) == ("Address not allowed", 403)
    async with working(files=FILES) as work:
        fault = await fault_of(call(9, "Write", {}), work)
        assert (fault.error.title, fault.error.status) == ("Not reachable", 503)
        assert "is the service running there?" in str(fault)
        fault = await fault_of(call(9, "Write", {}, host="nowhere.invalid"), work)
        assert fault.error.title == "Host not found"


async def test_a_certificate_is_checked_against_the_name_of_the_host(tmp_path: Path) -> None:
    authority = Authority()
    key, certificate = (file.read_bytes() for file in authority.certify(tmp_path, "localhost"))
    with grpc_peer.reports(grpc.ssl_server_credentials([(key, certificate)])) as port:
        async with working(files=FILES) as work:
            tools: Any = work.tools
            await tools.grpc.close()
            tools.grpc = Grpc(tools.egress, tools.limits, authorities=authority.pem.encode())
            given = call(port, "Write", {"topic": "x"}, host="https://localhost")
            assert (await calls.perform(given, work)).output["text"] == "of x 0"
            fault = await fault_of(call(port, "Write", {}, host="https://127.0.0.1"), work)
            assert fault.error.status == 503
