"""Checks definitions for a server: what may be started on its machine, and nobody waits while it is looked at."""

import asyncio
from collections import OrderedDict
from hashlib import sha256

from penstock.dsl.check import Check, Finding
from penstock.dsl.check.checking import failures_of
from penstock.dsl.check.expressions import Uncompiled
from penstock.dsl.expressions import NotAnExpression
from penstock.engine.jq import Jq

_MOST_REMEMBERED = 256


class Checker:
    """Remembers what it found: a definition is checked when it is written, deployed and tried."""

    def __init__(self, processes: frozenset[str], jq: Jq | None = None) -> None:
        self._processes = processes
        self._jq = jq
        self._known: OrderedDict[bytes, list[Finding]] = OrderedDict()

    async def findings(self, text: str) -> list[Finding]:
        key = sha256(text.encode()).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        found = await self._check(text)
        self._known[key] = found
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        return found

    async def _check(self, text: str) -> list[Finding]:
        under_way = await asyncio.to_thread(Check, text, self._processes)
        return under_way.findings(await self._failures(under_way.uncompiled))

    async def _failures(self, uncompiled: list[Uncompiled]) -> dict[Uncompiled, str]:
        if self._jq is None:
            return await asyncio.to_thread(failures_of, uncompiled)
        failures = {}
        # One after another: the processes are there for executions first.
        for one in uncompiled:
            try:
                await self._jq.require(one.text, one.variables)
            except NotAnExpression as error:
                failures[one] = str(error)
        return failures
