"""Structured logs on standard error: for people on a terminal, one JSON object a line elsewhere.

Nothing secret is ever handed to a logger; query strings are left out of access logs for the same reason.
"""

import logging
import sys
from contextlib import suppress
from typing import Any

import msgspec
import structlog
from structlog.tracebacks import ExceptionDictTransformer

from penstock.settings import Settings

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


_least = 0


def wanted(level: str) -> bool:
    """Whether lines of this level are. (Asking a logger costs a twentieth of the quickest request.)"""
    return _LEVELS[level] >= _least


def configure(settings: Settings) -> None:
    global _least  # noqa: PLW0603 - as global as the configuration of the logs itself
    _least = _LEVELS[settings.log_level]
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    # Tracebacks never show local variables: a password is one of them.
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if console:
        shared.append(structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback))
    else:
        shared += [
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(serializer=_json),
        ]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[settings.log_level]),
        logger_factory=structlog.PrintLoggerFactory(_StandardError()),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    # Libraries log too; what they say goes the same way, from warnings on.
    logging.basicConfig(handlers=[_ToStructlog()], level=logging.WARNING, force=True)


class _StandardError:
    """A line that cannot be written (a full disk, a closed pipe) is lost; what it tells of must not be."""

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def _json(value: Any, **_: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


class _ToStructlog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        log.log(max(record.levelno, 10), record.getMessage(), logger=record.name, exc_info=record.exc_info)
