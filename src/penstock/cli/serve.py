"""`penstock serve`: the server, until it is told to stop."""

import asyncio
import gc
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import structlog
import uvicorn
from cyclopts import Parameter

from penstock.app import create_app
from penstock.cli.connections import allow_many, forget_the_deaf
from penstock.cli.options import ConfigFile, DatabaseAddress
from penstock.cli.shown import address
from penstock.http import logs
from penstock.http.edge import App, Receive, Scope, Send
from penstock.settings import PREFIX, Settings, SettingsError, load
from penstock.storage import migrate
from penstock.storage.opening import check_address, sqlite_path

log = structlog.get_logger()
# Seconds in which a process has to say that it is there. One that starts on a busy machine, or stood still with all the
# others, is not to be ended for that.
_SILENCE = 30
_LOOK_EVERY = 0.05


def serve(
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port to listen on; 0 takes a free one.")] = None,
    database: DatabaseAddress = None,
    workers: Annotated[int, Parameter(help="Server processes; more than one needs PostgreSQL.")] = 1,
    engine: Annotated[Literal["embedded", "temporal", "none"] | None, Parameter(help="What runs workflows.")] = None,
    config: ConfigFile = None,
) -> None:
    """Serve until told to stop."""
    given = {"host": host, "port": port, "database": database, "engine": engine}
    settings = load(config, overrides=given).settings
    logs.configure(settings)
    check_address(settings.database.reveal())
    warn_if_open(settings)
    if workers == 1:
        _run_here(settings)
        return
    if sqlite_path(settings.database.reveal()) is not None:
        raise SettingsError("--workers: more than one process needs PostgreSQL (SQLite has one writer)")
    # Each process builds its own application; what the command line said reaches it as environment.
    for name, value in [*given.items(), ("config", config)]:
        if value is not None:
            os.environ[PREFIX + name.upper()] = str(value)
    if not settings.redis_url:
        log.warning("each of the workers counts rate limits by itself; set redis_url to share them")
    # A database out of reach is said once, here, and not by every worker at every restart.
    asyncio.run(migrate.upgrade(settings.database.reveal(), None))
    announce(settings, settings.port)
    uvicorn.run("penstock.cli.serve:application", factory=True, workers=workers, **_options(settings))


def application() -> App:
    """What each worker process serves."""
    settings = load().settings
    logs.configure(settings)
    prepare_process()
    return create_app(settings)


def prepare_process() -> None:
    allow_many()
    # How long a thread that computes (a definition being checked) may keep requests waiting at each of their turns:
    # with the default of 5 ms, an answer that takes a dozen turns took 160 ms beside it. And how long the thread that
    # writes waits for a loop that computes.
    sys.setswitchinterval(0.000_05)
    # A hundred requests at once make thousands of objects that live for a moment: looking at each of them takes a
    # twelfth of the time (measured). Much more, and what is looked at is not in the processor's cache any more.
    gc.set_threshold(5_000)


def _run_here(settings: Settings) -> None:
    prepare_process()
    edge = create_app(settings)
    app = _Watched(edge)
    # What start-up made stays for good: the collector need not look at it again at every turn.
    gc.collect()
    gc.freeze()
    server = _Server(uvicorn.Config(app, **_options(settings)), settings, edge)
    _require_free(settings)
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    # uvicorn ends the process when the start failed; why, we know better.
    with suppress(KeyboardInterrupt, SystemExit):
        server.run()
    if app.failure is not None:
        raise app.failure
    if not server.started:
        sys.exit(1)


def _is_news(record: logging.LogRecord) -> bool:
    """Not that the start failed (we say why), nor that a stream ended whose client no longer reads."""
    message = record.getMessage()
    return "startup failed" not in message and "without completing response" not in message


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "loop": "uvloop",
        "http": "httptools",
        "access_log": False,
        "log_config": None,
        # Forwarding headers are judged at our own edge, against the trusted proxies.
        "proxy_headers": False,
        "server_header": False,
        "timeout_graceful_shutdown": int(settings.shutdown_grace),
        "timeout_worker_healthcheck": _SILENCE,
        "lifespan": "on",
    }


def _require_free(settings: Settings) -> None:
    """Find out beforehand, to say it in a sentence: uvicorn would only log the error, and after the whole start."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        raise SettingsError(
            f"port: cannot listen on {settings.host}:{settings.port} ({error.strerror}); choose another with --port"
        ) from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, settings: Settings, app: Any) -> None:
        super().__init__(config)
        self._settings = settings
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            # uvicorn would now let the signal end the process, and a stop that was asked for would count as a failure.
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            for server in self.servers:
                forget_the_deaf(server.sockets)
            announce(self._settings, self.servers[0].sockets[0].getsockname()[1])
            self._telling = asyncio.create_task(_tell_of_engine(self._settings, self._app.app.state.platform.engine))


class _Watched:
    """Keeps what stopped the start, so that it is shown as a sentence like every other error of a command."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            await self._app(scope, receive, _without_traceback(send))
        except Exception as error:
            self.failure = _alone(error)
            raise


def _alone(error: Exception) -> Exception:
    """An error out of the group that a task group wraps around it."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _without_traceback(send: Send) -> Send:
    async def quiet(message: Any) -> None:
        await send(message | {"message": ""} if message["type"] == "lifespan.startup.failed" else message)

    return quiet


def announce(settings: Settings, port: int) -> None:
    """Where to find what was just started: for a person a line to click on, for a log an event."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = settings.public_url.rstrip("/") or f"http://{'127.0.0.1' if host in {'0.0.0.0', '[::]'} else host}:{port}"  # noqa: S104
    database = address(settings.database.reveal())
    if _at_terminal(settings):
        message = f"Penstock is at {url} (documentation: {url}/docs, database: {database}). Ctrl-C stops it."
        print(message, file=sys.stderr)
    else:
        log.info("serving", url=url, docs=f"{url}/docs", listen=f"{host}:{port}", database=database)


async def _tell_of_engine(settings: Settings, engine: Any) -> None:
    """For a person at a terminal: whether what they trigger will run. A log has it in events of its own."""
    if not _at_terminal(settings):
        return
    if engine is None:
        print("It has no engine (setting `engine`): executions that are triggered wait.", file=sys.stderr)
        return
    if settings.engine == "temporal":
        at = f"Temporal at {settings.temporal_address}"
        print(f"Its executions run on {at}; start workers for them with `penstock worker`.", file=sys.stderr)
        return
    while engine.taken_up is None and not engine.waits:  # noqa: ASYNC110 - for a line at the start, no event is kept
        await asyncio.sleep(_LOOK_EVERY)
    print(_engine_line(engine.taken_up), file=sys.stderr)


def _engine_line(taken_up: int | None) -> str:
    if taken_up is None:
        return "Its engine waits: another server runs the workflows of this database, and this one takes over from it."
    if taken_up == 0:
        return "Its engine runs; no execution was left unended."
    left = "one execution that was" if taken_up == 1 else f"{taken_up:,} executions that were"
    return f"Its engine runs, and goes on with {left} left unended."


def _at_terminal(settings: Settings) -> bool:
    return sys.stderr.isatty() and settings.log_format != "json"


def warn_if_open(settings: Settings) -> None:
    if not is_loopback(settings.host):
        if settings.project_auth == "none":
            log.warning("anyone who reaches this address may read and write /project; set project_auth = 'session'")
        if not settings.public_url:
            log.warning("set public_url to where people reach this server: mails and SAML need it")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
