"""A case of the conformance suite: what is run, with what, and what must come of it.

`cases/*.yaml` hold them by name. `definition` may leave its `document` out; `http://stand-in` in it is the address of
the stand-in services (`peers.py` has more of them). A step is written `name status`, with the attempt behind it when it
is not the first. Exactly one of `output`, `holds` (jq expressions that must be true of the output) and `fault` (members
of the error) is given.

`a-moment` is a duration in which what should happen before has happened, and `more-than-a-moment` is longer. No machine
keeps to that always: a case that has such a moment and does not hold is tried again with a longer one.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import jq
import msgspec
from msgspec import UNSET, UnsetType

from penstock.dsl.parse import parse
from tests.conformance.peers import Address

CASES = Path(__file__).parent / "cases"
PLACEHOLDER = "http://stand-in"
PATIENCE = 180  # seconds for one case; most take milliseconds, on a machine that has nothing else to do
MOMENTS = (0.25, 2.5, 25.0)  # seconds
Json = dict[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    definition: Json
    input: Any = msgspec.field(default_factory=dict)
    secrets: dict[str, str] = {}
    events: list[Json] = []
    """Sent before the workflow runs: they are kept until it listens."""
    others: list[Json] = []
    """Definitions that it runs."""
    output: Any = UNSET
    holds: list[str] = []
    fault: Json | UnsetType = UNSET
    steps: list[str] | UnsetType = UNSET
    unordered: bool = False
    """The order of steps is left to chance: they run side by side."""
    moment: float = MOMENTS[0]

    def text(self, address: Address) -> str:
        return self._text(self.definition, address)

    def other_texts(self, address: Address) -> list[str]:
        return [self._text(definition, address) for definition in self.others]

    def _text(self, definition: Json, address: Address) -> str:
        document = {"dsl": "1.0.3", "namespace": "conformance", "name": slug(self.name), "version": "1.0.0"}
        text = json.dumps({"document": document, **definition}).replace(PLACEHOLDER, address)
        text = text.replace("more-than-a-moment", f"PT{1.2 * self.moment:g}S")
        text = text.replace("a-moment", f"PT{self.moment:g}S")
        return address.peers.named_in(text)


class Outcome(msgspec.Struct, frozen=True):
    """What came of it. `fault` is the error's data when it faulted."""

    output: Any
    fault: Json | None
    steps: list[str]


class Runner(Protocol):
    """A host under test. `address` is where the stand-in services are, for this run alone."""

    async def run(self, case: Case, address: Address) -> Outcome: ...


def cases() -> list[Case]:
    return [case for file in sorted(CASES.glob("*.yaml")) for case in _cases_in(file)]


def _cases_in(file: Path) -> list[Case]:
    parsed = parse(file.read_text("utf-8"))
    assert parsed is not None, file
    found = [msgspec.convert({"name": name, **data}, Case) for name, data in parsed.data.items()]
    for case in found:
        given = [case.output is not UNSET, bool(case.holds), case.fault is not UNSET]
        assert sum(given) == 1, f"{file.name}: {case.name}: one of output, holds and fault"
    return found


def slug(name: str) -> str:
    return "-".join("".join(one if one.isalnum() else " " for one in name.lower()).split())[:60].strip("-")


def step_line(name: str, status: str, attempt: int) -> str:
    return f"{name} {status}" if attempt == 1 else f"{name} {status} {attempt}"


def expect(case: Case, outcome: Outcome) -> None:
    if case.fault is not UNSET:
        assert outcome.fault is not None, f"it should have faulted, but gave {outcome.output!r}"
        assert {name: outcome.fault.get(name) for name in case.fault} == case.fault
    else:
        assert outcome.fault is None, outcome.fault
        if case.output is not UNSET:
            assert outcome.output == case.output
        for condition in case.holds:
            assert jq.compile(condition).input_value(outcome.output).first() is True, (condition, outcome.output)
    if case.steps is not UNSET:
        got, wanted = outcome.steps, case.steps
        assert (sorted(got) if case.unordered else got) == (sorted(wanted) if case.unordered else wanted)


def tried(case: Case, holds: Callable[[Case], None], moments: Sequence[float] = MOMENTS) -> None:
    """Once; or until it holds, with ever longer moments."""
    for moment in moments if "a-moment" in str(case.definition) else moments[-1:]:
        try:
            holds(msgspec.structs.replace(case, moment=moment))
        except AssertionError:
            if moment == moments[-1]:
                raise
        else:
            return
