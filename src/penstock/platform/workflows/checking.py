"""Checks definitions for a server: what may be started on its machine, and nobody waits while it is looked at."""

import asyncio
from collections import OrderedDict
from hashlib import sha256

from penstock.dsl.check import Check, Finding, errors
from penstock.dsl.check.checking import failures_of
from penstock.dsl.check.expressions import Uncompiled
from penstock.dsl.expressions import NotAnExpression, require_expression
from penstock.dsl.outline import Outline, outline_of
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
        under_way = await asyncio.to_thread(Check, text, self._processes)
        failures = await self._failures(under_way.uncompiled)
        found = under_way.findings(failures)
        # That something did not compile may have been the fault of the moment.
        if not failures:
            self._remember(key, found)
        return found

    async def examined(self, text: str) -> tuple[list[Finding], Outline | None]:
        """With what the definition is, when it is valid."""
        found = await self.findings(text)
        return found, None if errors(found) else await asyncio.to_thread(outline_of, text)

    async def require(self, expression: str) -> None:
        """Raises NotAnExpression unless it is one that we would run."""
        if self._jq is None:
            await asyncio.to_thread(require_expression, expression)
        else:
            await self._jq.require(expression)

    def _remember(self, key: bytes, found: list[Finding]) -> None:
        self._known[key] = found
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)

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
