"""A connection to a broker of Kafka: to an address that was checked, and on which no answer is endless."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any
from weakref import ReferenceType

from aiokafka.abc import AbstractTokenProvider
from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, ScramAuthenticator
from aiokafka.protocol.metadata import MetadataRequest

from penstock.egress import Egress
from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.event_stream import too_large

_MOST_ROUNDS = 100_000  # of SCRAM: the broker chooses, and we do the work


class Connection(AIOKafkaConnection):  # type: ignore[misc]
    _most = 0

    def guard(self, egress: Egress, most: int, lose: Callable[[faults.Fault], None]) -> None:
        self._egress = egress
        self._most = most
        self._lose = lose

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        if not 0 < self._port < 65_536:
            raise ValueError(f"{self._port} is no port")
        address = await reaching.reached(self._egress, self._host, self._port)
        self._closed_fut = loop.create_future()
        reader = asyncio.StreamReader()
        protocol = AIOKafkaProtocol(self._closed_fut, reader, loop=loop)
        named = self._host if self._ssl_context is not None else None
        transport, _ = await loop.create_connection(
            lambda: protocol, address, self._port, ssl=self._ssl_context, server_hostname=named
        )
        self._protocol, self._reader = protocol, reader
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        self._read_task = self._create_reader_task()
        try:
            await self._do_version_lookup()
            if self._security_protocol.startswith("SASL_"):
                await self._do_sasl_handshake()
        except BaseException:
            self.close()
            raise

    def send(self, request: Any, expect_response: bool = True) -> Any:
        if isinstance(request, MetadataRequest):
            request._allow_auto_topic_creation = False
        return super().send(request, expect_response)

    @staticmethod
    async def _read(self_ref: "ReferenceType[Connection]") -> None:
        """As the library does, but no answer is endless."""
        while (connection := self_ref()) is not None:
            reader, most, lose = connection._reader, connection._most, connection._lose
            whose = f"{connection._host}:{connection._port}"
            del connection
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            if size > most:
                lose(too_large(most, whose))
                raise EOFError
            answer = await reader.readexactly(size)
            if (connection := self_ref()) is not None:
                connection._handle_frame(answer)
            del connection

    def authenticator_scram(self) -> "_Scram":
        return _Scram(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )


class _Scram(ScramAuthenticator):  # type: ignore[misc]
    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        if iterations > _MOST_ROUNDS:
            raise ValueError(f"the broker asks for {iterations:,} rounds of SCRAM; {_MOST_ROUNDS:,} is the most")
        super().create_salted_password(salt, iterations)


class Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token
