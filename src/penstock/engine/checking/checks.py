"""The processes that check definitions, as the server asks them."""

import asyncio
import os
import sys

import msgspec

from penstock.dsl.expressions import ExpressionFailed
from penstock.engine.checking import worker
from penstock.engine.checking.examination import Asked, Examination, examined
from penstock.engine.jq.process import Limits
from penstock.engine.jq.processes import Processes

_LIMITS = Limits(seconds=30.0, megabytes=512, most_output=16 * 1024 * 1024)
_MOST = 2
# What is shorter than this, and has neither aliases nor schemas, takes less time than to hand it over.
_SHORT = 8 * 1024
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Examination).decode


class NotChecked(Exception):
    """It took too long, or too much memory."""


class Checks:
    """A process is started when one is needed, and ends when none is for a while."""

    def __init__(self) -> None:
        self._processes = Processes(_MOST, _LIMITS, _command, warm=False)

    async def start(self) -> None:
        await self._processes.start()

    async def stop(self) -> None:
        await self._processes.stop()

    async def examined(self, asked: Asked, text: str) -> Examination:
        """Raises NotChecked."""
        if is_small(text):
            return await asyncio.to_thread(examined, asked, text)
        try:
            return _decode(await self._processes.ask("checks", _encode(asked), text.encode()))
        except ExpressionFailed as error:
            raise NotChecked("the definition takes too long to check, or too much memory: make it smaller") from error


def is_small(text: str) -> bool:
    return len(text) <= _SHORT and "&" not in text and "schema" not in text


def _command(limits: Limits) -> list[str]:
    numbers = (limits.seconds, limits.megabytes, limits.most_output, os.getpid())
    return [sys.executable, "-I", worker.__file__, os.pathsep.join(filter(None, sys.path)), *map(str, numbers)]
