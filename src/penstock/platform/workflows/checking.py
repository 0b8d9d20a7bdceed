"""Checks definitions for a server: what may be started on its machine, and nobody waits while it is looked at."""

import asyncio
from collections import OrderedDict
from hashlib import sha256

from penstock.dsl.check import Finding
from penstock.dsl.check.expressions import Uncompiled
from penstock.dsl.expressions import NotAnExpression, require_expression
from penstock.dsl.outline import Outline
from penstock.engine.checking import Checks, NotChecked
from penstock.engine.checking.examination import Asked, Examination
from penstock.engine.jq import Jq

_MOST_REMEMBERED = 256


class Checker:
    """Remembers what it found: a definition is checked when it is written, deployed and tried."""

    def __init__(self, processes: frozenset[str], jq: Jq | None = None) -> None:
        self._processes = sorted(processes)
        self._jq = jq
        self._checks = Checks()
        self._known: OrderedDict[bytes, list[Finding]] = OrderedDict()

    async def start(self) -> None:
        await self._checks.start()

    async def stop(self) -> None:
        await self._checks.stop()

    async def findings(self, text: str) -> list[Finding]:
        key = sha256(text.encode()).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        return (await self._examined(text, key, outline=False))[0]

    async def examined(self, text: str) -> tuple[list[Finding], Outline | None]:
        """With what the definition is, when it is valid."""
        return await self._examined(text, sha256(text.encode()).digest(), outline=True)

    async def require(self, expression: str) -> None:
        """Raises NotAnExpression unless it is one that we would run."""
        if self._jq is None:
            await asyncio.to_thread(require_expression, expression)
        else:
            await self._jq.require(expression)

    async def _examined(self, text: str, key: bytes, *, outline: bool) -> tuple[list[Finding], Outline | None]:
        try:
            made = await self._asked(text, [] if self._jq is not None else None, outline=outline)
            failures = await self._failures(self._jq, made.uncompiled) if self._jq is not None else []
            if failures:
                made = await self._asked(text, failures, outline=outline)
        except NotChecked as error:
            return [Finding("", str(error), "too-many", 1, 1)], None
        # That something did not compile may have been the fault of the moment.
        if not failures:
            self._remember(key, made.findings)
        return made.findings, made.outline

    async def _asked(self, text: str, failures: list[tuple[Uncompiled, str]] | None, *, outline: bool) -> Examination:
        return await self._checks.examined(Asked(self._processes, failures, outline), text)

    def _remember(self, key: bytes, found: list[Finding]) -> None:
        self._known[key] = found
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)

    async def _failures(self, jq: Jq, uncompiled: list[Uncompiled]) -> list[tuple[Uncompiled, str]]:
        failures = []
        # One after another: the processes are there for executions first.
        for one in uncompiled:
            try:
                await jq.require(one.text, one.variables)
            except NotAnExpression as error:
                failures.append((one, str(error)))
        return failures
