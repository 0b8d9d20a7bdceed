"""The small values of the language: names, versions, durations, addresses, and values that may be expressions."""

from penstock.dsl.grammar.nodes import Either, Flag, Free, Items, Member, Named, Pattern, Record, Scalar, Text, Whole

SEMVER = Pattern(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    "expected a semantic version such as 1.0.0",
)
LONGEST_VERSION = 255
LABEL = Pattern(
    r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?", "expected letters, digits and - (63 at most, no - at either end)"
)
DSL_VERSION = Pattern(
    r"1\.0\.(0|[1-9][0-9]*)(-[0-9a-zA-Z.-]+)?(\+[0-9a-zA-Z.-]+)?",
    "expected a version of the language that is known here: 1.0.x, for example 1.0.3",
    "dsl-version",
)
_HOST = Pattern(
    r"[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?", "expected a host name such as api.example.com, or an address"
)
_ISO_DURATION = Pattern(
    r"P([0-9]+(\.[0-9]+)?W|(?=[0-9T])([0-9]+(\.[0-9]+)?Y)?([0-9]+(\.[0-9]+)?M)?([0-9]+(\.[0-9]+)?D)?"
    r"(T(?=[0-9])([0-9]+(\.[0-9]+)?H)?([0-9]+(\.[0-9]+)?M)?([0-9]+(\.[0-9]+)?S)?)?)",
    "expected an ISO 8601 duration such as PT30S or P1DT12H",
    "duration",
)
_URI = Pattern(
    r"[A-Za-z][A-Za-z0-9+.-]*://[^ \t\r\n]*",
    "expected an address such as https://api.example.com/pets/{petId}, or an expression in ${ }",
    "uri",
)
_ERROR_TYPE = Pattern(
    r"[A-Za-z][A-Za-z0-9+.-]*:[^ \t\r\n]*",
    "expected a URI such as https://serverlessworkflow.io/spec/1.0.0/errors/timeout, or an expression in ${ }",
    "uri",
)
_EVENT_URI = Pattern(
    _ERROR_TYPE.regex,
    "expected a URI such as https://shop.example/orders or urn:shop:orders, or an expression in ${ }",
    "uri",
)
_INSTANCE = Pattern(r"(/[^ \t\r\n]*)?", "expected a JSON pointer such as /do/0/getPet, or an expression in ${ }")
_METHOD = Pattern(r"[A-Za-z]+", "expected an HTTP method such as get or post, or an expression in ${ }")
_MOMENT = Pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    "expected a time such as 2026-01-31T12:00:00Z, or an expression in ${ }",
)

LITERAL = Text()
EXPRESSION = Text("always")
CONDITION = Either((EXPRESSION, Flag()))
VALUE = Text("marked")
ANY = Free("marked")
METADATA = Free("never", (dict,))
# What stands for a mapping may also be an expression that makes one.
MADE = Text("whole", instead_of="a mapping")
VALUES = Either((Named(ANY), MADE))
SCALARS = Either((Named(Scalar()), MADE))
ARGUMENTS = Either((Items(Scalar()), Named(ANY), Text("whole", instead_of="a list or a mapping")))
TRANSFORMATION = Either((EXPRESSION, Free("marked", (dict,))))

NAME_OF_VARIABLE = Text(rule="variable")
METHOD = Text("marked", _METHOD)
HOST = Text("marked", _HOST)
PORT = Whole(0, 65535)
MOMENT = Text("marked", _MOMENT)
INSTANCE = Text("marked", _INSTANCE)
ERROR_TYPE = Text("marked", _ERROR_TYPE, rule="uri-template")
EVENT_URI = Text("marked", _EVENT_URI, rule="uri-template")
URI = Text("marked", _URI, rule="uri-template")
PATH = Text("marked", rule="uri-template")


def _duration(name: str, text: Text) -> Either:
    units = {"days": 10**9, "hours": 10**10, "minutes": 10**12, "seconds": 10**13, "milliseconds": 10**16}
    parts = {unit: Member(Whole(0, most), f"How many {unit}.") for unit, most in units.items()}
    record = Record(name, "A span of time, in parts that are added up.", parts, fewest=1, rule=text.rule)
    return Either((record, text))


DURATION = _duration("duration", Text("marked", _ISO_DURATION, rule="duration"))
# A schedule has no execution yet in which an expression could be evaluated.
INTERVAL = _duration("interval", Text("never", _ISO_DURATION, rule="positive-duration"))
