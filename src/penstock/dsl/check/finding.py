"""What a check finds, and the list that findings are gathered in."""

from typing import Literal

from penstock.dsl.check.codes import Code
from penstock.dsl.parse import Parsed, Path, pointer
from penstock.problems import FieldError

MOST_FINDINGS = 100
Severity = Literal["error", "warning"]
# What is said of a member and not of its value: it is shown at its name.
_OF_NAMES: frozenset[Code] = frozenset({"unknown", "ignored", "task-name", "unreachable"})


class Finding(FieldError, frozen=True, omit_defaults=True):
    """One thing to know: where (a JSON pointer, a line and a column from 1), what, and a word for programs.

    With an error the definition is not valid; a warning is only said.
    """

    code: str
    line: int
    column: int
    severity: Severity = "error"


class Findings:
    """Gathers findings up to a bound: after a hundred, nobody reads on."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._found: dict[tuple[str, str, str], Finding] = {}

    @property
    def full(self) -> bool:
        return len(self._found) >= MOST_FINDINGS

    def add(self, path: Path, message: str, code: Code, severity: Severity = "error") -> None:
        if not self.full:
            at = pointer(path)
            message = "".join(
                one if one.isprintable() else "·" for one in message
            )  # jq and others repeat what they read
            # What an alias repeats is found again at each of its places, and said at each of them once.
            position = self._parsed.position(path, of_name=code in _OF_NAMES)
            self._found.setdefault((at, code, message), Finding(at, message, code, *position, severity))

    def by_line(self) -> list[Finding]:
        return sorted(self._found.values(), key=lambda finding: (finding.line, finding.column))


def kind(value: object) -> str:
    """What a value is, in a sentence that says what it should not be."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def shown(text: str) -> str:
    """A text of the author's in a sentence of ours: bounded, and on one line."""
    return repr(text if len(text) <= 80 else text[:77] + "…")
