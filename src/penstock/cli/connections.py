"""What the operating system grants a server that thousands are connected to, and how long it waits for dead ones."""

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_PATIENCE = 60_000  # milliseconds in which nothing that was sent arrives


def allow_many() -> int:
    """As many open files as we may have: the soft limit is often 1,024, and each listener is one. How many, then."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # no such limit here
        return 0
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Where "no limit" may be asked for but is not granted, it stays as it is.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def forget_the_deaf(listening: Iterable[Any]) -> None:
    """Whoever connects and does not read keeps nothing: a connection that is closed with something left to send would
    else be kept for as long as its other end says that it is there."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    for one in listening:
        with suppress(OSError), socket.socket(fileno=os.dup(one.fileno())) as own:
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _PATIENCE)
