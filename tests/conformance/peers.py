"""What cannot be had over plain HTTP, for workflows to call: gRPC, MCP and A2A services made with others' tools, Kafka,
and a `docker` that is none. Each is started when a case first names it.

A definition names them by words that stand nowhere else: a port is no text, and has to be put in before it is checked.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from tests.engine.tasks import grpc_peer, http_peer
from tests.engine.tasks.kafka import Kafka, kafka

# There is no Docker where the suite runs. This one runs what follows the image on the machine itself, so that what goes
# in and what comes out are real, and nothing else is.
_DOCKER = """#!/bin/sh
case "$1" in
  image) exit 0 ;;
  run)
    while [ "$1" != stand-in-image ]; do
      case "$1" in --entrypoint=*) entry="${1#*=}" ;; esac
      shift
    done
    shift
    exec $entry "$@" ;;
esac
"""


class Peers:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()

    def named_in(self, text: str) -> str:
        """The text of a definition with the peers that it names in it."""
        named: dict[str, Callable[[], str]] = {
            '"port of gRPC"': lambda: str(self._grpc),
            "http://mcp-peer": lambda: self._mcp,
            "http://a2a-peer": lambda: self._a2a,
            "kafka-peer": lambda: f"{self._kafka.host}&topic={self._kafka.topic(f'told-{uuid4()}')}",
            "python-of-tests": lambda: sys.executable,
            "mcp-program": lambda: str(Path(grpc_peer.__file__).with_name("mcp_peer.py")),
        }
        for word, peer in named.items():
            if word in text:
                text = text.replace(word, peer())
        if "stand-in-image" in text:
            self._put_docker()
        return text

    @cached_property
    def _grpc(self) -> int:
        return self._running.enter_context(grpc_peer.reports())

    @cached_property
    def _mcp(self) -> str:
        # Their SDKs take a second each to be imported.
        from tests.engine.tasks import mcp_peer

        return self._running.enter_context(http_peer.served(mcp_peer.peer.streamable_http_app()))

    @cached_property
    def _a2a(self) -> str:
        from tests.engine.tasks import a2a_peer

        url = self._running.enter_context(http_peer.served(a2a_peer.application))
        a2a_peer.card.supported_interfaces[0].url = f"{url}/a2a"
        return url

    @cached_property
    def _kafka(self) -> Kafka:
        return self._running.enter_context(kafka())

    def _put_docker(self) -> None:
        program = self._folder / "docker"
        if not program.exists():
            program.write_text(_DOCKER)
            program.chmod(0o755)
            before = os.environ["PATH"]
            self._running.callback(os.environ.__setitem__, "PATH", before)
            os.environ["PATH"] = f"{self._folder}{os.pathsep}{before}"

    def close(self) -> None:
        self._running.close()


class Address(str):
    """Where the stand-in services are for one run; and the peers, wherever they are."""

    __slots__ = ("peers",)
    peers: Peers

    @classmethod
    def of(cls, url: str, peers: Peers) -> "Address":
        made = cls(url)
        made.peers = peers
        return made
