"""The keeper of one process: a program of its own, between the server and what a workflow starts.

It ends the process, with everything that came of it, when the server says so and when the server is gone: a process
whose server was killed would go on otherwise, and so would its children. It starts for every process, so it imports
little. The server speaks to it over a socket: an `order`, and its closing means "end it". The answers are a dot when
the process has been started, or not, and in the end what became of it.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence

GRACE = 2.0
"""Seconds between asking (TERM) and ending (KILL)."""
FOLDER = "penstock-"
"""How the names of working directories begin."""
_LAST_SECONDS = 10.0  # of the last command
_GIVE_UP = 5.0  # a process that the kernel does not let go of is left to it
_ROUND = 0.05  # a killed parent's children come to us a moment later
_NICENESS = 5
_LENGTH = 8  # bytes of an order's length
_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36

Bounds = tuple[int, int]
"""Of a process, and of each of its children: bytes of memory, seconds of processor time. 0 is no bound."""


def order(
    folder: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    last: Sequence[str],
    bounds: Bounds,
    *,
    adopts: bool,
) -> bytes:
    """What the server asks for: its length, then texts with NUL between them, which no process can be given."""
    parts = [folder, "1" if adopts else "0", *map(str, bounds)]
    parts += [str(len(arguments)), *arguments, str(len(last)), *last]
    parts += [f"{name}={value}" for name, value in environment.items()]
    text = "\0".join(parts).encode()
    return len(text).to_bytes(_LENGTH, "big") + text


class _Order:
    def __init__(self, text: bytes) -> None:
        parts = text.split(b"\0")
        self.folder, self.adopts = parts[0], parts[1] == b"1"
        self.bounds = int(parts[2]), int(parts[3])
        count = 5 + int(parts[4])
        self.arguments = parts[5:count]
        end = count + 1 + int(parts[count])
        self.last = parts[count + 1 : end]
        pairs = (part.partition(b"=") for part in parts[end:])
        self.environment = {name: value for name, _, value in pairs}


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(arguments: list[bytes], environment: dict[bytes, bytes], bounds: Bounds) -> int:
    """In a session of its own; raises OSError when there is no such program."""
    told, telling = os.pipe()
    pid = os.fork()
    if pid:
        os.close(telling)
        failure = os.read(told, 16)
        os.close(told)
        if failure:
            raise OSError(int(failure), os.strerror(int(failure)))
        return pid
    try:
        os.setsid()
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        for ours in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(ours, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _bind(bounds)
        os.execvpe(arguments[0], arguments, environment)  # noqa: S606 - the list comes from the server, no shell reads it
    except OSError as error:
        os.write(telling, str(error.errno).encode())
    finally:
        os._exit(127)


def _bind(bounds: Bounds) -> None:
    memory, seconds = bounds
    if memory:
        # Not of addresses (RLIMIT_AS): Node reserves far more of them than it uses.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    if seconds:
        # First a signal that says why, and a moment later the end.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


class _Keeper:
    def __init__(self, control: int, order_: _Order, wake: int) -> None:
        self._control = control
        self._order = order_
        self._wake = wake
        self._code: int | None = None
        self._alone = False
        self.told_to_end = False
        self._pid = _start(order_.arguments, order_.environment, order_.bounds)

    def keep(self) -> int | None:
        """Until nothing is left of it. Its exit code; none when it did not end by itself."""
        while self._code is None and not self.told_to_end:
            self._look(None)
        code = self._code
        if not self._alone:
            self._end()
        return code

    def _look(self, seconds: float | None) -> None:
        watched = [self._wake] if self.told_to_end else [self._wake, self._control]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._control in ready and not _read(self._control, 1):
            self.told_to_end = True
        if self._wake in ready and signal.SIGTERM in os.read(self._wake, 1024):
            self.told_to_end = True
        self._reap()

    def _reap(self) -> None:
        """Whatever ended; orphans too, since they are ours now."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._code = code if code >= 0 else 128 - code
        except ChildProcessError:
            self._alone = True

    def _end(self) -> None:
        self._signal_group(signal.SIGTERM)
        if self.told_to_end and self._order.last:
            self._finish_with(self._order.last)
        asked: set[int] = {self._pid}
        until = time.monotonic() + GRACE
        while not self._alone and (left := until - time.monotonic()) > 0:
            # Those in sessions of their own come to us as their parents end.
            asked |= self._signal(_children() - asked, signal.SIGTERM)
            self._look(left)
        until = time.monotonic() + _GIVE_UP
        while not self._alone and time.monotonic() < until:
            self._signal_group(signal.SIGKILL)
            self._signal(_children(), signal.SIGKILL)
            self._look(_ROUND)

    def _finish_with(self, last: list[bytes]) -> None:
        try:
            pid = _start(last, self._order.environment, (0, 0))
        except OSError:
            return
        until = time.monotonic() + _LAST_SECONDS
        while time.monotonic() < until and not self._alone:
            if pid not in _children():
                return
            self._look(_ROUND)

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _signal(self, pids: set[int], number: signal.Signals) -> set[int]:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return pids


def _children() -> set[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


def _read(control: int, most: int) -> bytes:
    try:
        return os.read(control, most)
    except ConnectionError:
        # A server that was killed before it had read what we wrote.
        return b""


def _received(control: int, length: int) -> bytes:
    text = b""
    while len(text) < length:
        chunk = _read(control, min(1 << 16, length - len(text)))
        if not chunk:
            # The server is gone already. We stand in the folder that it made for the process.
            if os.path.basename(here := os.getcwd()).startswith(FOLDER):  # noqa: PTH109, PTH119 - pathlib is slow to import
                _remove(here.encode())
            sys.exit(0)
        text += chunk
    return text


def _signals() -> int:
    """Where a byte arrives for each signal."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return woken


def _let_go() -> None:
    """Of standard input and output: they end when the process's own do."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def _remove(folder: bytes) -> None:
    import shutil  # noqa: PLC0415 - costs more than all else, and is rarely needed

    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    wake = _signals()
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    order_ = _Order(_received(control, int.from_bytes(_received(control, _LENGTH), "big")))
    if order_.adopts:
        _prctl(_SET_CHILD_SUBREAPER, 1)
    try:
        keeper = _Keeper(control, order_, wake)
    except OSError as error:
        os.write(control, f".error {error.errno}".encode())
        return
    _let_go()
    with contextlib.suppress(BrokenPipeError, ConnectionError):
        os.write(control, b".")
    code = keeper.keep()
    with contextlib.suppress(BrokenPipeError, ConnectionError):
        os.write(control, f"code {code}".encode() if code is not None else b"ended")
    if keeper.told_to_end:
        _remove(order_.folder)


if __name__ == "__main__":
    main()
