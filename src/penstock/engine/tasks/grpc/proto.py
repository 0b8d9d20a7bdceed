"""What a proto file describes: compiled in a process of its own, then messages to and from JSON.

JSON is that of protobuf: names in lowerCamelCase (those of the proto file are understood too), 64-bit integers as text,
bytes as base64. Members that have no value of their own are there with their default.
"""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine import faults
from penstock.engine.tasks.grpc import compiler

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
    from google.protobuf.message import Message

LARGEST = 1024 * 1024
_SECONDS = 30
_SHOWN_CHARACTERS = 500
_LISTED = 20


class Proto:
    """Made in a thread: compiling and loading take their time."""

    def __init__(self, text: bytes) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory  # noqa: PLC0415

        self._json, self._factory = json_format, message_factory
        self.size = len(text)
        self._pool = descriptor_pool.DescriptorPool()
        described = descriptor_pb2.FileDescriptorSet.FromString(_compiled(text))
        for file in described.file:
            self._pool.Add(file)
        # The last one is the file itself, after all that it imports.
        file = described.file[-1]
        prefix = f"{file.package}." if file.package else ""
        self._services = [prefix + service.name for service in file.service]

    def method(self, service: str, method: str) -> "MethodDescriptor":
        found: ServiceDescriptor = self._pool.FindServiceByName(self._service(service))
        if method not in found.methods_by_name:
            raise _missing("method", method, list(found.methods_by_name), f"the service {found.full_name}")
        return found.methods_by_name[method]

    def _service(self, name: str) -> str:
        """By its whole name, or by the last of it where that says which one."""
        matching = [each for each in self._services if each == name or each.endswith(f".{name}")]
        if name in matching:
            return name
        if len(matching) != 1:
            raise _missing("service", name, self._services, "the proto file")
        return matching[0]

    def encoded(self, data: Any, kind: "Descriptor") -> bytes:
        message = self._factory.GetMessageClass(kind)()
        try:
            self._json.ParseDict(data, message, descriptor_pool=self._pool)
            return message.SerializeToString()
        except (self._json.ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
            said = str(error)[:_SHOWN_CHARACTERS]
            raise faults.validation("Not the method's arguments", f"they make no {kind.full_name}: {said}") from error

    def decoded(self, data: bytes, kind: "Descriptor") -> Any:
        from google.protobuf.message import DecodeError  # noqa: PLC0415

        try:
            message: Message = self._factory.GetMessageClass(kind).FromString(data)
            return self._json.MessageToDict(
                message, always_print_fields_with_no_presence=True, descriptor_pool=self._pool
            )
        except (DecodeError, self._json.Error, ValueError, TypeError, RecursionError) as error:
            raise faults.communication("Answer not understood", f"the answer is no {kind.full_name}") from error


def key_of(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _compiled(text: bytes) -> bytes:
    if len(text) > LARGEST:
        raise faults.configuration("Proto file too large", f"a proto file may have {LARGEST:,} bytes at most")
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as place:
        folder = Path(place)
        (folder / "workflow.proto").write_bytes(text)
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "-I", compiler.__file__],
                cwd=folder,
                env={},
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise faults.configuration("Proto file not compiled", "compiling it takes too long") from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").replace("workflow.proto:", "line ").strip()
            raise faults.configuration("Proto file not compiled", said[:_SHOWN_CHARACTERS] or "it cannot be compiled")
        return (folder / "workflow.pb").read_bytes()


def _missing(what: str, name: str, there: list[str], where: str) -> faults.Fault:
    listed = ", ".join(there[:_LISTED]) or "none"
    return faults.configuration(f"Unknown {what}", f"{where} has no {what} {name[:200]!r}; it has: {listed}")


def request_data(arguments: Any, *, streams: bool) -> list[Any]:
    """A method that takes a stream takes a list of messages; one message alone is a list of one."""
    if arguments is None:
        return [{}]
    if streams and isinstance(arguments, list):
        return arguments
    if not isinstance(arguments, Mapping):
        raise faults.validation("Not the method's arguments", "they have to be an object")
    return [arguments]
