"""`call: grpc`: one method of a service that a proto file describes. A stream that comes is a list."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.engine import faults
from penstock.engine.tasks import authentication, resources
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.grpc.channels import Place, place_of
from penstock.engine.tasks.grpc.proto import Proto, key_of, request_data
from penstock.engine.tasks.work import Performed, Work

if TYPE_CHECKING:
    import grpc.aio
    from google.protobuf.descriptor import MethodDescriptor

_KEPT_SECONDS = 3600.0
_MOST_MESSAGES = 10_000
_SHOWN_CHARACTERS = 500
_LONG = 64 * 1024

# As HTTP would say it; the mapping that gateways of gRPC use.
_STATUSES = {
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "UNAUTHENTICATED": 401,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    service = arguments["service"]
    proto = await _proto(arguments["proto"], work)
    method = proto.method(str(service["name"]), str(arguments["method"]))
    given = request_data(arguments.get("arguments"), streams=method.client_streaming)
    requests = [proto.encoded(data, method.input_type) for data in given]
    headers, authorization = await authentication.headers(service.get("authentication"), work)
    place = place_of(str(service["host"]), service.get("port"))
    metadata = [("idempotency-key", work.key), *((name.lower(), value) for name, value in headers.items())]
    began = time.perf_counter()
    messages = await _called(place, method, requests, metadata, work)
    work.says(
        "info", f"gRPC {place} {method.full_name} → {len(messages)}", ms=round((time.perf_counter() - began) * 1000)
    )
    answers = [await _decoded(proto, data, method) for data in messages]
    return Performed(answers if method.server_streaming else answers[0], authorization)


async def _proto(resource: Any, work: Work) -> Proto:
    text = (await resources.read(resource, work)).content

    async def compiled(_: Proto | None) -> tuple[Proto, float]:
        return await asyncio.to_thread(Proto, text), _KEPT_SECONDS

    return await work.tools.grpc.protos.get(key_of(text), compiled)


async def _decoded(proto: Proto, data: bytes, method: "MethodDescriptor") -> Any:
    if len(data) > _LONG:
        return await asyncio.to_thread(proto.decoded, data, method.output_type)
    return proto.decoded(data, method.output_type)


async def _called(
    place: Place, method: "MethodDescriptor", requests: list[bytes], metadata: list[tuple[str, str]], work: Work
) -> list[bytes]:
    async with work.tools.grpc.channel(place) as channel:
        import grpc.aio  # noqa: PLC0415 - there is a channel, so it has been imported

        call = _begun(channel, method, requests, metadata, work.seconds)
        try:
            if method.server_streaming:
                return await _received(call, place, work.tools.limits.answer_bytes)
            return [await call]
        except grpc.aio.AioRpcError as error:
            raise _told(error, place, work) from None
        except UnicodeError:
            raise faults.configuration("Not a header", f"what proves who we are to {place} is no ASCII text") from None
        finally:
            call.cancel()


def _begun(
    channel: "grpc.aio.Channel",
    method: "MethodDescriptor",
    requests: list[bytes],
    metadata: list[tuple[str, str]],
    seconds: float,
) -> Any:
    kinds: dict[tuple[bool, bool], Any] = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }
    kind = kinds[bool(method.client_streaming), bool(method.server_streaming)]
    service = method.containing_service.full_name
    stub = kind(f"/{service}/{method.name}", request_serializer=None, response_deserializer=None)
    request = _each(requests) if method.client_streaming else requests[0]
    return stub(request, timeout=seconds, metadata=metadata)


async def _each(requests: list[bytes]) -> AsyncIterator[bytes]:
    for request in requests:
        yield request


async def _received(call: Any, place: Place, most: int) -> list[bytes]:
    messages: list[bytes] = []
    total = 0
    async for data in call:
        total += len(data)
        if total > most:
            raise too_large(most, str(place))
        messages.append(data)
        if len(messages) > _MOST_MESSAGES:
            raise faults.communication("Too many messages", f"{place} sent more than {_MOST_MESSAGES:,} messages")
    return messages


def _told(error: "grpc.aio.AioRpcError", place: Place, work: Work) -> faults.Fault:
    name = error.code().name
    details = work.secrets.mask_text((error.details() or "")[:_SHOWN_CHARACTERS])
    if name == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        return too_large(work.tools.limits.answer_bytes, str(place))
    title = name.replace("_", " ").capitalize()
    said = f"{place} answered {name}" + (f": {details}" if details else "")
    return faults.communication(title, said, status=_STATUSES.get(name, 500))
