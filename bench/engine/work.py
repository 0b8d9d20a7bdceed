"""The work that everybody does, the figures that come of it, and a server to call."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SETS, CALLS = "3 set", "3 call http"
THREE_SETS = """
document: {dsl: '1.0.3', namespace: bench, name: sets, version: '0.1.0'}
do:
  - a: {set: {x: 1}}
  - b: {set: {y: '${ .x + 1 }'}}
  - c: {set: {z: '${ .y * 2 }'}}
"""
THREE_CALLS = """
document: {dsl: '1.0.3', namespace: bench, name: calls, version: '0.1.0'}
do:
  - a: {call: http, with: {method: get, endpoint: '%(url)s'}}
  - b: {call: http, with: {method: get, endpoint: '%(url)s'}}
  - c: {call: http, with: {method: get, endpoint: '%(url)s'}}
"""
ASLEEP = """
document: {dsl: '1.0.3', namespace: bench, name: sleeps, version: '0.1.0'}
do:
  - a: {set: {x: 1}}
  - b: {wait: {hours: 1}}
"""
_ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}'


@dataclass(frozen=True)
class Figures:
    """Times are milliseconds; `cpu` is processor time of all that serves (not of who asks) for one execution; and
    `resident` is what all of it has in memory in the end, in megabytes, its processes for expressions included."""

    who: str
    work: str
    at_once: int
    rate: float
    p50: float
    p99: float
    cpu: float
    note: str = ""
    resident: float | None = None


def figures(
    who: str,
    work: str,
    at_once: int,
    seconds: float,
    cpu_seconds: float,
    times: Sequence[float],
    note: str = "",
    resident: float | None = None,
) -> Figures:
    ordered, count = sorted(times), len(times)
    p50, p99 = ordered[count // 2] * 1e3, ordered[min(count - 1, int(count * 0.99))] * 1e3
    return Figures(who, work, at_once, count / seconds, p50, p99, cpu_seconds / count * 1e3, note, resident)


def megabytes(*processes: int) -> float:
    return memory(*processes) / 1e6


def cpu_seconds(*processes: int) -> float:
    """Of these processes and all below them, so far; those that have ended meanwhile do not count."""
    return sum(_cpu_of(process) for process in {each for root in processes for each in _family(root)})


def memory(*processes: int) -> int:
    """Resident bytes of these processes and all below them."""
    pages = 0
    for process in {each for root in processes for each in _family(root)}:
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def _family(root: int) -> Iterator[int]:
    yield root
    try:
        below = Path(f"/proc/{root}/task/{root}/children").read_text().split()
    except OSError:
        return
    for child in below:
        yield from _family(int(child))


def _cpu_of(process: int) -> float:
    try:
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class _Answering(asyncio.Protocol):
    """Answers each request the same; requests have no body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert isinstance(self._transport, asyncio.Transport)
        self._transport.write(_ANSWER * data.count(b"\r\n\r\n"))


async def _answer() -> None:
    server = await asyncio.get_running_loop().create_server(_Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def answering() -> Iterator[str]:
    """The address of a server, in a process of its own, that answers `{"ok": true}`."""
    process = subprocess.Popen([sys.executable, "-m", "bench.engine.work"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    asyncio.run(_answer())
