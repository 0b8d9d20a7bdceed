"""A Kafka cluster, as far as we may reach it.

The first broker names the others, and where they are: addresses that whoever runs it made up. Each is checked as if the
workflow had named it, and a connection goes to the address that was checked. aiokafka has no such door, so some of this
stands on what it calls its own: hence the narrow versions in pyproject.toml.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.conn import CloseReason
from aiokafka.errors import (
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.metadata import MetadataRequest

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.kafka_connection import Connection, Token
from penstock.engine.tasks.asyncapi.target import Target
from penstock.engine.tasks.work import Work

# What goes wrong is raised where it matters, and told to whom it matters.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
Given = TypeVar("Given")
REQUEST_MS = 30_000
_LEAVE_SECONDS = 2.0
PATIENCE = 30.0  # seconds without any broker: one that is started anew comes back sooner
_MOST_LOOKS = 10
_BETWEEN_LOOKS = 0.2
_FRAME_BESIDES = 1024 * 1024  # what an answer holds beside messages: names, and where everything is
_REFUSALS = (SaslAuthenticationFailed, UnsupportedSaslMechanismError, IncompatibleBrokerVersion)
_FINAL = (401, 403, 495)  # trying again mends nothing: not let in, not allowed, no good certificate


class Access(msgspec.Struct, frozen=True):
    """How one is let in: with a name and a password, or with a token."""

    mechanism: str | None = None
    user: str | None = None
    password: str | None = None


class Cluster(AIOKafkaClient):  # type: ignore[misc]
    def __init__(self, target: Target, access: Access, tls: ssl.SSLContext | None, work: Work) -> None:
        token = Token(access.password or "") if access.mechanism == "OAUTHBEARER" else None
        super().__init__(
            client_id="penstock",
            request_timeout_ms=REQUEST_MS,
            security_protocol=("SASL_" if access.mechanism else "") + ("SSL" if tls else "PLAINTEXT"),
            ssl_context=tls,
            sasl_mechanism=access.mechanism or "PLAIN",
            sasl_plain_username=access.user,
            sasl_plain_password=access.password,
            sasl_oauth_token_provider=token,
        )
        self._target = target
        self._egress = work.tools.egress
        self._most = work.tools.limits.answer_bytes
        self._lost: asyncio.Future[faults.Fault] = asyncio.get_running_loop().create_future()
        self._unreached_since: float | None = None
        self._left = False

    async def unless_lost(self, doing: Coroutine[Any, Any, Given]) -> Given:
        """aiokafka tries on in silence; what trying cannot mend ends here."""
        task = asyncio.ensure_future(doing)
        try:
            await asyncio.wait((task, self._lost), return_when=asyncio.FIRST_COMPLETED)
            if self._lost.done() and (task.cancelled() or not task.done()):
                raise self._lost.result()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def send(self, node_id: Any, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT) -> Any:
        try:
            return await super().send(node_id, request, group=group)
        except KafkaError:
            # The library goes on with this one when who asked for it has left: nobody would hear how it ended.
            if isinstance(request, OffsetCommitRequest) and (self._left or self._lost.done()):
                raise asyncio.CancelledError from None
            raise

    async def look_for(self, topic: str) -> None:
        """Topics belong to whoever runs the brokers: we make none. One that was just made is known a moment later."""
        self.add_topic(topic)
        looks = 0
        while True:
            looks += await self.unless_lost(_awaited(self.force_metadata_update()))
            if self.cluster.partitions_for_topic(topic) is not None:
                return
            if topic in self.cluster.unauthorized_topics:
                raise TopicAuthorizationFailedError(topic)
            if looks >= _MOST_LOOKS:
                raise UnknownTopicOrPartitionError(topic)
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def bootstrap(self) -> None:
        metadata = await self._first_answer()
        self.cluster.update_metadata(metadata)
        if not self.cluster.brokers():
            raise faults.communication("Kafka failed", f"{self._target} knows of no broker, not even itself")
        self._sync_task = asyncio.create_task(self._md_synchronizer())
        self._sync_task.add_done_callback(self._stopped)

    async def _first_answer(self) -> Any:
        places = [(self._target.host, self._target.port), *self._target.others]
        while True:
            try:
                return await self._metadata(*places.pop(0))
            except faults.Fault as fault:
                if not places or fault.error.status in _FINAL:
                    raise

    async def _metadata(self, host: str, port: int) -> Any:
        connection = await self._connection(host, port)
        try:
            return await connection.send(MetadataRequest([]))
        except (KafkaError, TimeoutError) as error:
            raise faults.communication("Kafka failed", f"{self._target}: {_silence(error)}", status=503) from error
        finally:
            connection.close()

    async def close(self) -> None:
        """At once: what is under way fails, and nothing is connected anew."""
        self._left = True
        for connection in self._conns.values():
            connection.close(reason=CloseReason.SHUTDOWN)
        await super().close()
        if self._md_update_fut is not None and not self._md_update_fut.done():
            self._md_update_fut.set_result(False)  # nobody else would, and some wait for it

    async def closed_after(self, stopping: Coroutine[Any, Any, None]) -> None:
        """In good order as long as that is quick. Then at once, which ends what the order was waiting for."""
        task = asyncio.ensure_future(stopping)
        try:
            await asyncio.wait({task}, timeout=_LEAVE_SECONDS)
        finally:
            await ended(self.close(), _LEAVE_SECONDS)
            await asyncio.wait({task}, timeout=_LEAVE_SECONDS)
            await ended(_awaited(task), 0)

    async def _get_conn(
        self, node_id: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> "Connection | None":
        place = (node_id, group)
        async with self._get_conn_lock:
            known: Connection | None = self._conns.get(place)
            if known is not None and known.connected():
                return known
            broker = self.cluster.broker_metadata(node_id)
            if broker is None or self._left:
                self.force_metadata_update()
                return None
            try:
                made = await self._connection(broker.host, broker.port, self._on_connection_closed)
            except faults.Fault as fault:
                self._unreached(fault)
                self.force_metadata_update()
                return None
            self._unreached_since = None
            self._conns[place] = made
            return made

    async def _connection(self, host: str, port: int, on_close: Callable[..., None] | None = None) -> "Connection":
        connection = Connection(
            host,
            port,
            client_id=self._client_id,
            request_timeout_ms=self._request_timeout_ms,
            ssl_context=self._ssl_context,
            security_protocol=self._security_protocol,
            on_close=on_close,
            sasl_mechanism=self._sasl_mechanism,
            sasl_plain_username=self._sasl_plain_username,
            sasl_plain_password=self._sasl_plain_password,
            sasl_oauth_token_provider=self._sasl_oauth_token_provider,
        )
        connection.guard(self._egress, 4 * self._most + _FRAME_BESIDES, self._lose)
        place = f"{self._target}" if on_close is None else f"{self._target}: its broker at {host[:253]}:{port}"
        try:
            async with asyncio.timeout(2 * reaching.CONNECT_SECONDS):
                await connection.connect()
        except faults.Fault as fault:
            if on_close is None:
                raise
            # The person who reads this has never named that broker.
            raise faults.communication(
                fault.error.title or "Not reachable",
                f"{self._target} names a broker that cannot be used: {fault.error.detail} (advertised.listeners)",
                status=fault.error.status,
            ) from fault
        except ssl.SSLError as error:
            raise faults.communication("TLS failed", f"{place}: {reason(error)}", status=495) from error
        except _REFUSALS as error:
            raise faults.communication("Not let in", f"{place}: {self._refusal(error)}", status=401) from error
        except (KafkaError, OSError, TimeoutError, ValueError, AssertionError) as error:
            if self._lost.done():
                raise self._lost.result() from None
            raise faults.communication("Kafka failed", f"{place}: {_silence(error)}", status=503) from error
        return connection

    def _refusal(self, error: Exception) -> str:
        if isinstance(error, SaslAuthenticationFailed):
            return f"the broker refused the authentication ({reason(error)})"
        if isinstance(error, UnsupportedSaslMechanismError):
            return f"the broker does not know {self._sasl_mechanism}; the document's `security` names what is used"
        return "the broker asks for no authentication: it knows no SASL"

    def _unreached(self, fault: faults.Fault) -> None:
        now = time.monotonic()
        if self._unreached_since is None or any(connection.connected() for connection in self._conns.values()):
            self._unreached_since = now
        if fault.error.status in _FINAL or now - self._unreached_since > PATIENCE:
            self._lose(fault)

    def _lose(self, fault: faults.Fault) -> None:
        if not self._lost.done():
            self._lost.set_result(fault)

    def _stopped(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._lose(faults.communication("Kafka failed", f"{self._target}: {reason(error)}"))


def reason(error: BaseException) -> str:
    """The library's own names of errors are told as words that a person can look up."""
    return str(error)[:200] or type(error).__name__


def _silence(error: BaseException) -> str:
    if isinstance(error, KafkaConnectionError | ConnectionError):
        return "the broker ended the connection; does it want TLS (kafka-secure), an authentication, or neither?"
    return "no answer in time" if isinstance(error, TimeoutError) else reason(error)


async def _awaited(future: "asyncio.Future[Given]") -> Given:
    return await future


async def ended(doing: Coroutine[Any, Any, None], seconds: float) -> bool:
    """Whether it came to a good end in time. In a task of its own: the library's own tasks, which it cancels as it
    closes, would else look as if ours had been."""
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
        await asyncio.wait({task})
    return not task.cancelled() and task.exception() is None
