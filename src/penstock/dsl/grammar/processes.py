"""What a `run` runs: containers, scripts, shell commands, other workflows."""

from penstock.dsl.grammar.nodes import Flag, Member, Pattern, Record, Text
from penstock.dsl.grammar.resources import RESOURCE
from penstock.dsl.grammar.values import ANY, ARGUMENTS, DURATION, LABEL, SCALARS, SEMVER, VALUE, VALUES

_ENVIRONMENT = Member(SCALARS, "Its environment variables.")
_STDIN = Member(ANY, "What it reads from its standard input.")
_ARGUMENTS = Member(ARGUMENTS, "What it is called with.")
_VERSION = Pattern(f"latest|{SEMVER.regex}", "expected a semantic version such as 1.0.0, or latest")

_LIFETIME = Record(
    "containerLifetime",
    "When the container is removed.",
    {
        "cleanup": Member(Text(choices=("always", "never", "eventually")), "When; never by default.", required=True),
        "after": Member(DURATION, "How long after it ended, when cleanup is eventually."),
    },
    needs_when=(("cleanup", "eventually", "after"),),
    ignored_unless=(("after", "cleanup", "eventually"),),
)
CONTAINER = Record(
    "container",
    "A container.",
    {
        "image": Member(VALUE, "The image.", required=True),
        "name": Member(VALUE, "The container's name."),
        "command": Member(VALUE, "The command in it."),
        "ports": Member(VALUES, "Its ports, by the host's."),
        "volumes": Member(VALUES, "Its volumes, by the host's paths."),
        "environment": _ENVIRONMENT,
        "stdin": _STDIN,
        "arguments": _ARGUMENTS,
        "lifetime": Member(_LIFETIME, "When the container is removed."),
        "pullPolicy": Member(
            Text(choices=("ifNotPresent", "always", "never")), "When the image is pulled; ifNotPresent by default."
        ),
    },
    process="container",
)
SCRIPT = Record(
    "script",
    "A script.",
    {
        "language": Member(
            Text(choices=("js", "javascript", "python")), "Its language: python, or js (javascript).", required=True
        ),
        "code": Member(Text("whole"), "Its code."),
        "source": Member(RESOURCE, "Where its code is read from."),
        "stdin": _STDIN,
        "arguments": _ARGUMENTS,
        "environment": _ENVIRONMENT,
    },
    exactly_one=(("code", "source"),),
    process="script",
)
SHELL = Record(
    "shell",
    "A shell command.",
    {
        "command": Member(VALUE, "The command.", required=True),
        "stdin": _STDIN,
        "arguments": _ARGUMENTS,
        "environment": _ENVIRONMENT,
    },
    process="shell",
)
WORKFLOW = Record(
    "subflow",
    "Another workflow.",
    {
        "namespace": Member(Text(pattern=LABEL), "Its namespace; this one's by default."),
        "name": Member(Text(pattern=LABEL), "Its name.", required=True),
        "version": Member(Text(pattern=_VERSION), "Its version; latest by default."),
        "input": Member(ANY, "Its input."),
    },
)
RUN = Record(
    "run",
    "A process, or another workflow.",
    {
        "container": Member(CONTAINER, "A container."),
        "script": Member(SCRIPT, "A script."),
        "shell": Member(SHELL, "A shell command."),
        "workflow": Member(WORKFLOW, "Another workflow."),
        "await": Member(Flag(), "Whether to wait until it ends; so by default."),
        "return": Member(
            Text(choices=("stdout", "stderr", "code", "all", "none")), "What the task outputs; stdout by default."
        ),
    },
    exactly_one=(("container", "script", "shell", "workflow"),),
)
