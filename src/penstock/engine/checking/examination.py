"""One look at a definition: everything but what only jq can say, or that too."""

import msgspec

from penstock.dsl.check import Check, Finding, errors
from penstock.dsl.check.checking import failures_of
from penstock.dsl.check.expressions import Uncompiled
from penstock.dsl.outline import Outline, outline_of


class Asked(msgspec.Struct, frozen=True):
    """`failures`: why some expressions do not compile, where somebody has tried; None when that is to be done here."""

    processes: list[str]
    failures: list[tuple[Uncompiled, str]] | None
    outline: bool


class Examination(msgspec.Struct, frozen=True):
    findings: list[Finding]
    uncompiled: list[Uncompiled]
    outline: Outline | None


def examined(asked: Asked, text: str) -> Examination:
    check = Check(text, frozenset(asked.processes))
    failures = failures_of(check.uncompiled) if asked.failures is None else dict(asked.failures)
    findings = check.findings(failures)
    outline = outline_of(text) if asked.outline and not errors(findings) else None
    return Examination(findings, check.uncompiled, outline)
