"""A gRPC service, made with the code that gRPC's own tools generate from `reports.proto`."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import grpc

PROTO = Path(__file__).with_name("reports.proto")
happened: SimpleQueue[str] = SimpleQueue()


def service() -> tuple[Any, Any]:
    sys.path.insert(0, str(PROTO.parent))
    try:
        return grpc.protos_and_services(PROTO.name)
    finally:
        sys.path.remove(str(PROTO.parent))


@contextmanager
def reports(credentials: grpc.ServerCredentials | None = None) -> Iterator[int]:
    """The port on which it listens."""
    messages, services = service()

    class Reports(services.ReportsServicer):  # type: ignore[misc, name-defined]
        def Write(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
            match request.topic:
                case "missing":
                    context.abort(grpc.StatusCode.NOT_FOUND, "no report of that, s3cret-value")
                case "crash":
                    raise ValueError("a defect")
                case "never":
                    ended = Event()
                    happened.put("began")
                    if context.add_callback(ended.set):  # not if the caller has left already
                        ended.wait(120)
                    happened.put("ended")
                case "huge":
                    return messages.Report(text="x" * request.how_many)
            sent = {key: str(value) for key, value in context.invocation_metadata()}
            return messages.Report(text=f"of {request.topic} {request.since.seconds}", metadata=sent)

        def WriteMany(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
            for number in range(request.how_many):
                yield messages.Report(text=request.topic, page_count=number)

        def Count(self, requests: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
            return messages.Report(page_count=sum(each.how_many for each in requests))

        def Talk(self, requests: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
            for each in requests:
                yield messages.Report(text=f"re: {each.topic}")

    server = grpc.server(ThreadPoolExecutor(4))
    services.add_ReportsServicer_to_server(Reports(), server)
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
