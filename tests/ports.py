"""Ports for servers that have to be told theirs before they start."""

import atexit
import socket


def free_port() -> int:
    """One that nobody else on this machine is given until our process ends, and at which nobody answers yet.

    We stay bound to it and do not listen. Who binds it by its number may (every server sets SO_REUSEADDR); the
    kernel gives it to nobody who asks for any port, nor to a connection that leaves from here.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    port: int = held.getsockname()[1]
    return port
