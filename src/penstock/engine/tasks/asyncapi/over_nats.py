"""AsyncAPI over NATS. The idempotency key is its message id, by which its streams know a repetition."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from nats.aio.client import Client
from nats.errors import Error, ProtocolError, SlowConsumerError
from nats.protocol.parser import Parser

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target, telling_once
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work

_MOST_WAITING = 10_000
_BESIDES = 64 * 1024  # what is read at once


async def publish(target: Target, message: Outbound, work: Work) -> None:
    async with _connected(target, work) as client:
        await client.publish(target.address, message.payload, headers={"Nats-Msg-Id": work.key, **message.headers})
        # The broker has it when it has answered what came after it.
        await client.flush(timeout=int(reaching.CONNECT_SECONDS))


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    most = work.tools.limits.answer_bytes
    async with _connected(target, work) as client:
        queue = target.bindings.get("queue")
        subscription = await client.subscribe(
            target.address,
            queue=queue if isinstance(queue, str) else "",
            pending_msgs_limit=_MOST_WAITING,
            pending_bytes_limit=4 * most,
        )
        await client.flush(timeout=int(reaching.CONNECT_SECONDS))
        async for message in subscription.messages:
            if len(message.data) > most:
                raise too_large(most, str(target))
            yield Inbound(message.data, {str(name): str(value) for name, value in (message.headers or {}).items()})
        raise faults.communication("Connection lost", f"{target} ended the connection")


@asynccontextmanager
async def _connected(target: Target, work: Work) -> AsyncIterator[Client]:
    user, password = await credentials(target.policy, work)
    address = await reaching.reached(work.tools.egress, target.host, target.port)
    place = f"[{address}]" if ":" in address else address
    tls = await secured(target, work)
    client = _Secure() if target.tls else Client()
    client._ps = _Bounded(client, 4 * work.tools.limits.answer_bytes + _BESIDES)
    try:
        await client.connect(
            f"nats://{place}:{target.port}",
            connect_timeout=int(reaching.CONNECT_SECONDS),
            # Servers tell of others of their cluster: addresses that nobody checked.
            allow_reconnect=False,
            error_cb=_telling(target, work),
            user=user,
            password=password if user is not None else None,
            token=password if user is None else None,
            tls=tls,
            tls_hostname=target.host if target.tls else None,
        )
        yield client
    except (Error, OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise faults.communication("NATS failed", f"{target}: {str(error)[:200] or type(error).__name__}") from error
    finally:
        # Also when it was left while it connected.
        with suppress(Error, OSError, TimeoutError):
            async with asyncio.timeout(2):
                await client.close()


class _Bounded(Parser):
    """No message is endless: the library would wait for as much as the server says that there is."""

    def __init__(self, client: Client, most: int) -> None:
        super().__init__(client)
        self._most = most

    async def parse(self, data: bytes = b"") -> None:
        if len(self.buf) + len(data) > self._most:
            raise ProtocolError
        await super().parse(data)


class _Secure(Client):
    """In TLS or not at all: the library would go on in the clear with a server that does not ask for TLS."""

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise Error("the server does not ask for TLS")
        return super()._connect_command()


def _telling(target: Target, work: Work) -> Callable[[Exception], Awaitable[None]]:
    lost = telling_once(target, work)

    async def told(error: Exception) -> None:
        """What else goes wrong is raised where it matters."""
        if isinstance(error, SlowConsumerError):
            lost()

    return told
