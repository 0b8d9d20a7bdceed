"""What happens to data on its way: schemas, input, output and export, errors, retries, events."""

from penstock.dsl.grammar import arguments
from penstock.dsl.grammar.nodes import (
    Either,
    Flag,
    Free,
    Items,
    Member,
    Named,
    Node,
    Pattern,
    Record,
    Ref,
    Scalar,
    Text,
    Whole,
)
from penstock.dsl.grammar.resources import RESOURCE
from penstock.dsl.grammar.values import (
    ANY,
    CONDITION,
    DURATION,
    ERROR_TYPE,
    EVENT_URI,
    EXPRESSION,
    INSTANCE,
    LITERAL,
    MOMENT,
    TRANSFORMATION,
    VALUE,
)

_FORMAT = Pattern(r"json(:[^ \t\r\n]+)?", "expected json: JSON Schema is the only format that is known here")
SCHEMA = Record(
    "schema",
    "A schema that data must meet.",
    {
        "format": Member(Text(pattern=_FORMAT), "The schema's format: json, which is the default."),
        "document": Member(Free("never", (dict, bool), rule="schema-document"), "The schema itself."),
        "resource": Member(RESOURCE, "Where the schema is read from."),
    },
    exactly_one=(("document", "resource"),),
)


def inputs(name: str, sees: frozenset[str]) -> Record:
    return Record(
        name,
        "What comes in.",
        {
            "schema": Member(SCHEMA, "What the raw input must look like.", sees=sees),
            "from": Member(TRANSFORMATION, "An expression that makes the input of what came in.", sees=sees),
        },
    )


def outputs(name: str, sees: frozenset[str] | None) -> Record:
    return Record(
        name,
        "What goes out.",
        {
            "schema": Member(SCHEMA, "What the transformed output must look like.", sees=sees),
            "as": Member(TRANSFORMATION, "An expression that makes the output of the raw one.", sees=sees),
        },
    )


EXPORT = Record(
    "export",
    "What becomes of the workflow's context.",
    {
        "schema": Member(SCHEMA, "What the context must look like.", sees=arguments.AFTER_TASK),
        "as": Member(
            TRANSFORMATION, "An expression that makes the new context of the task's output.", sees=arguments.AFTER_TASK
        ),
    },
)
TIMEOUT = Record(
    "timeout",
    "How long something may take.",
    {"after": Member(DURATION, "The time after which it is given up.", required=True)},
)
TIMEOUT_OR_NAME = Either((TIMEOUT, Text(shortest=1, names="timeout")))

ERROR = Record(
    "error",
    "An error, as RFC 7807 describes problems.",
    {
        "type": Member(ERROR_TYPE, "A URI that says what kind of error it is.", required=True),
        "status": Member(Whole(), "Its status code.", required=True),
        "instance": Member(INSTANCE, "A JSON pointer to what raised it; set when it is raised."),
        "title": Member(VALUE, "A short summary."),
        "detail": Member(VALUE, "What happened this time."),
    },
)
ERROR_FILTER = Record(
    "errorFilter",
    "What an error must be to be caught; members that are left out do not matter.",
    {
        "type": Member(LITERAL, "Its type."),
        "status": Member(Whole(), "Its status code."),
        "instance": Member(LITERAL, "The JSON pointer to what raised it."),
        "title": Member(LITERAL, "Its title."),
        "detail": Member(LITERAL, "Its detail."),
        "details": Member(LITERAL, "Its detail: the specification's schema spells it so."),
    },
    fewest=1,
)

_BACKOFF = Free("never", (dict,), rule="nothing-known")
RETRY = Record(
    "retryPolicy",
    "Whether and when what failed is tried again.",
    {
        "when": Member(CONDITION, "Try again only when this is true."),
        "exceptWhen": Member(CONDITION, "Do not try again when this is true."),
        "delay": Member(DURATION, "The time between attempts."),
        "backoff": Member(
            Record(
                "backoff",
                "How the delay grows.",
                {
                    "constant": Member(_BACKOFF, "It stays as it is."),
                    "linear": Member(_BACKOFF, "It grows by itself each time."),
                    "exponential": Member(_BACKOFF, "It doubles each time."),
                },
                exactly_one=(("constant", "linear", "exponential"),),
            ),
            "How the delay grows.",
        ),
        "limit": Member(
            Record(
                "retryLimit",
                "When trying again ends.",
                {
                    "attempt": Member(
                        Record(
                            "attemptLimit",
                            "What holds for attempts.",
                            {
                                "count": Member(Whole(0), "How many attempts there may be."),
                                "duration": Member(DURATION, "How long one attempt may take."),
                            },
                        ),
                        "What holds for attempts.",
                    ),
                    "duration": Member(DURATION, "How long all attempts together may take."),
                },
            ),
            "When trying again ends.",
        ),
        "jitter": Member(
            Record(
                "jitter",
                "A random time that is added to the delay.",
                {
                    "from": Member(DURATION, "The least.", required=True),
                    "to": Member(DURATION, "The most.", required=True),
                },
                rule="jitter",
            ),
            "A random time that is added to the delay.",
        ),
    },
)


def _event(name: str, about: str, *, emitted: bool) -> Record:
    source = EVENT_URI if emitted else VALUE
    members = {
        "id": Member(VALUE, "What tells it from others of its source."),
        "source": Member(source, "Where it comes from: a URI.", required=emitted),
        "type": Member(VALUE, "What kind of event it is.", required=emitted),
        "time": Member(MOMENT if emitted else VALUE, "When it happened."),
        "subject": Member(VALUE, "What it is about."),
        "datacontenttype": Member(VALUE, "The media type of its data."),
        "dataschema": Member(source, "The schema of its data: a URI."),
        "data": Member(ANY, "What it says."),
    }
    return Record(name, about, members, extra=ANY, fewest=0 if emitted else 1)


EMITTED = _event("emittedEvent", "The CloudEvent that is emitted; further attributes may be given.", emitted=True)
_WANTED = _event("wantedEvent", "What an event's attributes must be: values, patterns or expressions.", emitted=False)
_CORRELATION = Record(
    "correlation",
    "A value by which events belong together.",
    {
        "from": Member(EXPRESSION, "An expression that takes the value from the event.", required=True),
        "expect": Member(Scalar(), "What the value must be; without it, the first event's value counts."),
    },
)
FILTER = Record(
    "eventFilter",
    "Which events are meant.",
    {
        "with": Member(_WANTED, "What their attributes must be.", required=True),
        "correlate": Member(Named(_CORRELATION), "Values by which events belong together."),
    },
)


def _strategy(name: str, *, ends: bool) -> Record:
    members = {
        "all": Member(Items(FILTER), "Each of these events must come."),
        "any": Member(Items(FILTER), "Any of these events; an empty list means every event."),
        "one": Member(FILTER, "This one event."),
    }
    if ends:
        until = Either((EXPRESSION, Flag(), Ref("untilStrategy")))
        members["until"] = Member(until, "Go on until this is true, or until these events came. Only beside any.")
    needs = {"until": "any"} if ends else {}
    return Record(name, "Which events are waited for.", members, exactly_one=(("all", "any", "one"),), needs=needs)


STRATEGY = _strategy("eventConsumptionStrategy", ends=True)
NAMED: dict[str, Node] = {"untilStrategy": _strategy("untilStrategy", ends=False)}
