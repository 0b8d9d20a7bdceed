"""`penstock serve`: the server, until it is told to stop."""

import gc
import ipaddress
import os
from pathlib import Path
from typing import Annotated

import structlog
import uvicorn
from cyclopts import Parameter

from penstock.app import create_app
from penstock.http import logs
from penstock.http.edge import App
from penstock.settings import PREFIX, Settings, SettingsError, load
from penstock.storage.opening import check_address, sqlite_path

log = structlog.get_logger()


def serve(
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port to listen on; 0 takes a free one.")] = None,
    database: Annotated[str | None, Parameter(help="sqlite:///file.db or postgresql://user@host/name.")] = None,
    workers: Annotated[int, Parameter(help="Server processes; more than one needs PostgreSQL.")] = 1,
    config: Annotated[Path | None, Parameter(help="Settings file; default: penstock.toml, when there is one.")] = None,
) -> None:
    """Serve Penstock. Tables are created and migrated first; Ctrl-C or SIGTERM lets requests in flight finish."""
    settings = load(config, overrides={"host": host, "port": port, "database": database}).settings
    logs.configure(settings)
    check_address(settings.database.reveal())
    warn_if_open(settings)
    if workers == 1:
        _run(create_app(settings), settings, 1)
        return
    if sqlite_path(settings.database.reveal()) is not None:
        raise SettingsError("--workers: more than one process needs PostgreSQL (SQLite has one writer)")
    # Each process builds its own application; what the command line said reaches it as environment.
    for name, value in (("HOST", host), ("PORT", port), ("DATABASE", database), ("CONFIG", config)):
        if value is not None:
            os.environ[PREFIX + name] = str(value)
    if not settings.redis_url:
        log.warning("each of the workers counts rate limits by itself; set redis_url to share them")
    _run("penstock.cli.serve:application", settings, workers)


def application() -> App:
    """What each worker process serves."""
    settings = load().settings
    logs.configure(settings)
    return create_app(settings)


def _run(app: App | str, settings: Settings, workers: int) -> None:
    # What start-up made stays for good: the collector need not look at it again at every turn.
    gc.collect()
    gc.freeze()
    uvicorn.run(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=settings.port,
        workers=workers,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_config=None,
        # Forwarding headers are judged at our own edge, against the trusted proxies.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.shutdown_grace),
        lifespan="on",
    )


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
