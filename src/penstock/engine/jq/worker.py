"""One jq process: takes a program and a document, answers its outputs, and can reach nothing else.

JSON Schemas are held against data here, too: they are as untrusted, and a small one can take as long as it likes.

It is run by its path in a bare interpreter, so that it starts fast and stays small: no import of penstock here.
Its limits are its own; how much of the processor one evaluation may take is watched by who started it, too.
"""

import json
import os
import resource
import select
import socket
import struct
import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

REQUEST = struct.Struct("!II")  # lengths of the program and of the document; no document: only compile
ANSWER = struct.Struct("!cI")  # one of the letters below, and the length of what follows
READY, VALUES, FAILED, TOO_LARGE, NO_MEMORY, NOT_COMPILED = b"r", b"v", b"f", b"l", b"m", b"c"
SCHEMA = "\0schema\n"  # before the text of a schema; no program begins so
MOST_VIOLATIONS = 5
KEPT_PROGRAMS = 64
PAGE = resource.getpagesize()
MEGABYTE = 1024 * 1024


def main() -> None:
    packages, seconds, megabytes, most_output, parent = sys.argv[1:]
    sys.path.append(packages)
    import jq  # noqa: PLC0415 - found only now
    import jsonschema_rs  # noqa: PLC0415

    def compile_(text: str) -> Any:
        return _Schema(jsonschema_rs, text[len(SCHEMA) :]) if text.startswith(SCHEMA) else jq.compile(text)

    end_with(int(parent))
    sys.path.clear()
    serve(compile_, float(seconds), int(megabytes), int(most_output))


def serve(compile_: Any, seconds: float, megabytes: int, most_output: int, idle: float | None = None) -> None:
    """Answers what comes at standard input, until nobody is there; or nobody asked for so many seconds."""
    os.environ.clear()
    os.environ["TZ"] = "UTC"
    os.nice(5)
    _close_doors()
    peer = socket.socket(fileno=0)
    peer.sendall(ANSWER.pack(READY, 0))
    _Serving(peer, compile_, seconds, megabytes * MEGABYTE, most_output, idle).serve()


def end_with(parent: int) -> None:
    """End when the server does, however it ends and whatever runs here. Elsewhere than on Linux, the end of input
    and the limit of processor time do it.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only where it is used

        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    if os.getppid() != parent:
        sys.exit(0)


def _close_doors() -> None:
    for limit, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 8),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (most, most))


class _Schema:
    """As a program is: it takes `[data]` and answers what the schema does not allow, as JSON texts."""

    def __init__(self, library: Any, text: str) -> None:
        try:
            self._validator = library.validator_for(text, retriever=_no_other)
        except Exception as error:
            raise ValueError(next(iter(str(error).splitlines()), "it cannot be read")) from error

    def input_text(self, document: str) -> Iterator[str]:
        data = json.loads(document)[0]
        if self._validator.is_valid(data):
            return
        for error, _ in zip(self._validator.iter_errors(data), range(MOST_VIOLATIONS), strict=False):
            at = "/".join(str(part) for part in error.instance_path)
            yield json.dumps(f"{at or 'it'}: {error.message[:300]}")


def _no_other(uri: str) -> Any:
    """A schema reaches nothing but itself: it would be a way out past the egress policy."""
    raise ValueError(f"a schema must not refer to another document ({uri[:200]})")


class _Serving:
    def __init__(
        self, peer: socket.socket, compile_: Any, seconds: float, memory: int, most_output: int, idle: float | None
    ) -> None:
        self._peer = peer
        self._compile = compile_
        self._seconds = seconds
        self._memory = memory
        self._most_output = most_output
        self._idle = idle
        self._programs: OrderedDict[bytes, Any] = OrderedDict()
        self._sizes = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
        self._first_size = self._size()

    def serve(self) -> None:
        while self._is_asked() and (header := self._read(REQUEST.size)):
            lengths = REQUEST.unpack(header)
            text, document = self._read(lengths[0]), self._read(lengths[1])
            letter, payload = self._answered(text, document)
            self._peer.sendall(ANSWER.pack(letter, len(payload)) + payload)
            del text, document, payload
            if self._size() > self._first_size + self._memory:
                return  # What is not given back to the system would count against the next one.

    def _is_asked(self) -> bool:
        return self._idle is None or bool(select.select([self._peer], [], [], self._idle)[0])

    def _read(self, length: int) -> bytes:
        if not length:
            return b""
        got = self._peer.recv(length, socket.MSG_WAITALL)
        if len(got) < length:
            sys.exit(0)
        return got

    def _answered(self, text: bytes, document: bytes) -> tuple[bytes, bytes]:
        self._limit()
        try:
            program = self._programs.get(text) or self._compile(text.decode())
        except ValueError as error:
            return NOT_COMPILED, _said(error)
        self._programs[text] = program
        self._programs.move_to_end(text)
        if len(self._programs) > KEPT_PROGRAMS:
            self._programs.popitem(last=False)
        try:
            return self._run(program, document) if document else (VALUES, b"")
        except ValueError as error:
            return FAILED, _said(error)
        except (MemoryError, RecursionError):
            return NO_MEMORY, b""

    def _run(self, program: Any, document: bytes) -> tuple[bytes, bytes]:
        outputs, size = [], 0
        for output in program.input_text(document.decode()):
            encoded = output.encode("utf-8", "replace")
            size += len(encoded) + 1
            if size > self._most_output + 1:
                return TOO_LARGE, b""
            outputs.append(encoded)
        return VALUES, b",".join(outputs)

    def _limit(self) -> None:
        """Count from what is used already: a process that served many programs is as free as a new one."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        processor = int(used.ru_utime + used.ru_stime + self._seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (processor, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (self._size() + self._memory, resource.RLIM_INFINITY))

    def _size(self) -> int:
        return int(os.pread(self._sizes, 64, 0).split()[0]) * PAGE if self._sizes is not None else 256 * MEGABYTE


def _said(error: ValueError) -> bytes:
    return str(error)[:4096].encode("utf-8", "replace")


if __name__ == "__main__":
    main()
