"""`python -m penstock …` as a process of its own, copied from one that has loaded it: loading is half of what a start
costs, and the tests start more than a hundred servers. What a start costs, and how it fails, is tested without this."""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

# What `serve` and `worker` load, also late.
_LOADED = (
    "penstock.cli.serve",
    "penstock.cli.worker",
    "penstock.engine.temporal.worker",
    "penstock.storage.scripts",
    "litestar.plugins.pydantic",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
)


class Process:
    """What tests use of `subprocess.Popen`."""

    def __init__(
        self, arguments: list[str], *, cwd: Path, env: Mapping[str, str], stderr: int, stdout: int = 1
    ) -> None:
        self._lock = threading.Lock()
        # Its id and how it ended are two messages, also when both are there before we look.
        self._told, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            what = {"arguments": arguments, "cwd": str(cwd), "env": dict(env)}
            _original().copy(what, stdout, stderr, theirs.fileno())
        pid = self._told.recv(32)
        assert pid, "the process that is copied has ended; why is in what it wrote"
        self.pid = int(pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("penstock", timeout or 0)
        return code

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and _readable(self._told, timeout):
            with self._lock:  # who waits does so in a thread
                if self.returncode is None:
                    self.returncode = int(self._told.recv(32))
        return self.returncode

    def send_signal(self, which: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, which)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        self._told.close()


Running = Process | subprocess.Popen[bytes]


def start(arguments: list[str], *, cwd: Path, env: Mapping[str, str], stderr: int) -> Running:
    """A folder may have a Penstock of its own, or something that Python begins with: what is loaded has neither."""
    if (cwd / "penstock").exists() or (cwd / "sitecustomize.py").exists():
        return subprocess.Popen([sys.executable, "-m", "penstock", *arguments], cwd=cwd, env=env, stderr=stderr)
    return Process(arguments, cwd=cwd, env=env, stderr=stderr)


def _readable(from_: socket.socket, timeout: float | None) -> bool:
    with selectors.PollSelector() as selector:  # select() ends at the thousandth open file
        selector.register(from_, selectors.EVENT_READ)
        return bool(selector.select(timeout))


class _Original:
    """The process that is copied. It ends, and its copies with it, when this process does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "tests.processes", str(theirs.fileno())]
            root = Path(__file__).parent.parent
            self._process = subprocess.Popen(
                command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )

    def copy(self, what: dict[str, Any], *files: int) -> None:
        body = json.dumps(what).encode()
        with self._lock:
            socket.send_fds(self._asked, [len(body).to_bytes(4)], files)
            self._asked.sendall(body)

    def end(self) -> None:
        self._asked.close()
        self._process.wait()


@functools.cache
def _original() -> _Original:
    original = _Original()
    atexit.register(original.end)
    return original


# The rest runs in the process that is copied.


def _copied(asked: socket.socket) -> dict[str, Any]:
    """Tells of every copy its id and later how it ended. Returns in a copy, with what that is to be."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    copies: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if woken in ready:
                woken.recv(4096)
                _tell_of_ended(copies)
            if asked in ready and (wanted := _copy(asked, copies)) is not None:
                break
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for opened in (asked, woken, wakes, *copies.values()):
        opened.close()
    return wanted


def _copy(asked: socket.socket, copies: dict[int, socket.socket]) -> dict[str, Any] | None:
    length, files, _, _ = socket.recv_fds(asked, 4, 3)
    if not length:
        _end(copies)
    wanted: dict[str, Any] = json.loads(asked.recv(int.from_bytes(length), socket.MSG_WAITALL))
    stdout, stderr, told = files
    if (pid := os.fork()) == 0:
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(told)
    else:
        copies[pid] = socket.socket(fileno=told)
        copies[pid].send(str(pid).encode())
    os.close(stdout)
    os.close(stderr)
    return wanted if pid == 0 else None


def _tell_of_ended(copies: dict[int, socket.socket]) -> None:
    while copies:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with copies.pop(pid) as told, suppress(BrokenPipeError):  # nobody waits for it
            told.send(str(os.waitstatus_to_exitcode(status)).encode())


def _end(copies: dict[int, socket.socket]) -> NoReturn:
    for pid in copies:
        os.kill(pid, signal.SIGKILL)
    sys.exit()


def _become(wanted: dict[str, Any]) -> None:
    """As if Python had been started so."""
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    path = wanted["env"].get("PYTHONPATH", "")
    sys.path[0:1] = [wanted["cwd"], *filter(None, path.split(os.pathsep))]
    sys.argv = ["penstock", *wanted["arguments"]]
    runpy.run_module("penstock", run_name="__main__", alter_sys=True)


def _main() -> None:
    gc.disable()
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()  # a copy need not look at it, and so has it without copying
    gc.enable()
    assert threading.active_count() == 1, "a copy has none of the threads"
    asked = socket.socket(fileno=int(sys.argv[1]))
    _become(_copied(asked))


if __name__ == "__main__":
    _main()
