"""The workflow as a whole: its document, what it uses again, its schedule."""

from penstock.dsl.grammar import arguments, data, resources, tasks
from penstock.dsl.grammar.data import ERROR, RETRY, STRATEGY, TIMEOUT, TIMEOUT_OR_NAME, inputs, outputs
from penstock.dsl.grammar.nodes import Cases, Free, Items, Member, Named, Node, Record, Ref, Scalar, Text, Whole
from penstock.dsl.grammar.resources import ENDPOINT, POLICY
from penstock.dsl.grammar.values import (
    CONDITION,
    DSL_VERSION,
    INTERVAL,
    LABEL,
    LITERAL,
    LONGEST_VERSION,
    SEMVER,
)

_METADATA = Record(
    "metadata",
    "Whatever its author wants to keep with the workflow, and what Penstock reads of it.",
    {
        "timezone": Member(
            Text(rule="timezone"), "The time zone of schedule.cron, such as Europe/Berlin; UTC without."
        ),
        "concurrency": Member(Whole(1, 2**31 - 1), "How many executions may run at the same time; no limit without."),
    },
    extra=Free("never"),
)
_DOCUMENT = Record(
    "document",
    "What the workflow is.",
    {
        "dsl": Member(
            Text(pattern=DSL_VERSION, longest=LONGEST_VERSION), "The version of the language: 1.0.x.", required=True
        ),
        "namespace": Member(Text(pattern=LABEL), "Where its name belongs.", required=True),
        "name": Member(Text(pattern=LABEL), "Its name.", required=True),
        "version": Member(
            Text(pattern=SEMVER, longest=LONGEST_VERSION), "Its semantic version, such as 1.0.0.", required=True
        ),
        "title": Member(LITERAL, "Its title."),
        "summary": Member(LITERAL, "What it is about, in Markdown."),
        "tags": Member(Named(Scalar("never")), "Tags: names and values."),
        "metadata": Member(_METADATA, "Whatever its author wants to keep with it."),
    },
)
# fmt: off
_EXTENDED = (
    "call", "composite", "emit", "extension", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all",
)
# fmt: on
_EXTENSION = Record(
    "extension",
    "Tasks that are done around others.",
    {
        "extend": Member(Text(choices=_EXTENDED), "The kind of task that it is done around.", required=True),
        "when": Member(CONDITION, "Only when this is true.", sees_all_names=True),
        "before": Member(Ref("tasks"), "What is done before.", sees_all_names=True),
        "after": Member(Ref("tasks"), "What is done after.", sees_all_names=True),
    },
)
_CATALOG = Record("catalog", "Functions at an address.", {"endpoint": Member(ENDPOINT, "The address.", required=True)})
_USE = Record(
    "use",
    "What the workflow uses by name.",
    {
        "authentications": Member(Named(POLICY), "Authentication policies.", sees_all_names=True),
        "catalogs": Member(Named(_CATALOG), "Catalogs of functions."),
        "errors": Member(Named(ERROR), "Errors to raise.", sees_all_names=True),
        "extensions": Member(Cases(_EXTENSION, "extension"), "Tasks that are done around others."),
        "functions": Member(Named(Ref("task")), "Tasks to call."),
        "retries": Member(Named(RETRY), "Retry policies.", sees_all_names=True),
        "secrets": Member(Items(Text(shortest=1)), "The names of the secrets that it may read."),
        "timeouts": Member(Named(TIMEOUT), "Timeouts.", sees_all_names=True),
    },
)
_SCHEDULE = Record(
    "schedule",
    "When the workflow starts by itself.",
    {
        "every": Member(INTERVAL, "Each time so much time has passed."),
        "cron": Member(Text(rule="cron"), "At the times that a cron expression says, such as 0 9 * * MON-FRI."),
        "after": Member(INTERVAL, "So long after it last ended."),
        "on": Member(STRATEGY, "When these events come."),
    },
    exactly_one=(("every", "cron", "after", "on"),),
)
_EVALUATE = Record(
    "evaluate",
    "How runtime expressions are read.",
    {
        "language": Member(Text(choices=("jq",)), "Their language: jq."),
        "mode": Member(
            Text(choices=("strict", "loose")),
            "strict: only what is in ${ } is one (the default). loose: any text may be.",
        ),
    },
)

WORKFLOW = Record(
    "workflow",
    "A workflow: Serverless Workflow DSL 1.0.",
    {
        "document": Member(_DOCUMENT, "What the workflow is.", required=True),
        "input": Member(inputs("workflowInput", arguments.WORKFLOW_INPUT), "What comes in."),
        "use": Member(_USE, "What the workflow uses by name."),
        "do": Member(Ref("tasks"), "The tasks, done one after another.", required=True),
        "timeout": Member(
            TIMEOUT_OR_NAME,
            "How long it may take, or the name of a timeout in use.timeouts.",
            sees=arguments.WORKFLOW,
        ),
        "output": Member(outputs("workflowOutput", arguments.WORKFLOW_OUTPUT), "What goes out."),
        "schedule": Member(_SCHEDULE, "When it starts by itself.", sees=arguments.SCHEDULE),
        "evaluate": Member(_EVALUATE, "How runtime expressions are read."),
    },
)
NAMED: dict[str, Node] = data.NAMED | resources.NAMED | tasks.NAMED
