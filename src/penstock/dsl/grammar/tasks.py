"""Tasks: what all of them have, and what each kind has."""

from penstock.dsl.grammar import arguments
from penstock.dsl.grammar.calls import ARGUMENTS, FUNCTION, ITERATOR
from penstock.dsl.grammar.data import (
    EMITTED,
    ERROR,
    ERROR_FILTER,
    EXPORT,
    RETRY,
    STRATEGY,
    TIMEOUT_OR_NAME,
    inputs,
    outputs,
)
from penstock.dsl.grammar.nodes import (
    Binding,
    ByMember,
    ByValue,
    Cases,
    Either,
    Flag,
    Member,
    Named,
    Node,
    Record,
    Ref,
    Text,
)
from penstock.dsl.grammar.processes import RUN
from penstock.dsl.grammar.values import ANY, CONDITION, DURATION, EXPRESSION, METADATA, NAME_OF_VARIABLE, VALUE

_THEN = Text(shortest=1, names="task")
_TASKS = Ref("tasks")
_BASE: dict[str, Member] = {
    "if": Member(CONDITION, "Do it only when this is true.", sees=arguments.BEFORE_TASK),
    "input": Member(inputs("taskInput", arguments.BEFORE_TASK), "What comes in."),
    "output": Member(outputs("taskOutput", arguments.TASK), "What goes out."),
    "export": Member(EXPORT, "What becomes of the workflow's context."),
    "timeout": Member(TIMEOUT_OR_NAME, "How long it may take, or the name of a timeout in use.timeouts."),
    "then": Member(_THEN, "What comes next: continue (the default), exit, end, or the name of a task of this list."),
    "metadata": Member(METADATA, "Whatever its author wants to keep with it."),
}


def _task(name: str, about: str, *bindings: Binding, **members: Member) -> Record:
    own = {member.rstrip("_"): description for member, description in members.items()}
    return Record(name, about, own | _BASE, bindings=bindings)


def _call(name: str) -> Record:
    return _task(
        f"{name}Call",
        f"Call: {ARGUMENTS[name].about}",
        call=Member(Text(choices=(name,)), "What is called.", required=True),
        with_=Member(ARGUMENTS[name], "What it is called with.", required=True),
    )


_CALL = ByValue(
    "callTask",
    "Calls a service or a function.",
    "call",
    {name: _call(name) for name in ARGUMENTS},
    _task(
        "functionCall",
        "Calls a function: of use.functions, of a catalog (name:version@catalog), or at an address.",
        call=Member(Text(excluded=tuple(ARGUMENTS), shortest=1, names="function"), "What is called.", required=True),
        with_=Member(FUNCTION, "What it is called with."),
    ),
)
_EMIT = Record(
    "emit",
    "What is emitted.",
    {
        "event": Member(
            Record("event", "The event.", {"with": Member(EMITTED, "Its attributes.", required=True)}),
            "The event.",
            required=True,
        )
    },
)
_FOR = Record(
    "for",
    "What is gone through.",
    {
        "each": Member(NAME_OF_VARIABLE, "The variable that holds the item; item by default."),
        "in": Member(EXPRESSION, "An expression that gives the items.", required=True),
        "at": Member(NAME_OF_VARIABLE, "The variable that holds the item's number, from 0; index by default."),
    },
)
_FORK = Record(
    "fork",
    "What is done at the same time.",
    {
        "branches": Member(Ref("branches"), "The tasks that are done at the same time.", required=True),
        "compete": Member(Flag(), "Whether the first to end wins, and the others are given up."),
    },
)
_LISTEN = Record(
    "listen",
    "What is waited for.",
    {
        "to": Member(STRATEGY, "The events.", required=True),
        "read": Member(Text(choices=("data", "envelope", "raw")), "What is taken of an event; data by default."),
    },
)
_RAISE = Record(
    "raise",
    "What is raised.",
    {
        "error": Member(
            Either((ERROR, Text(shortest=1, names="error"))),
            "The error, or the name of one in use.errors.",
            required=True,
        )
    },
)
_CASE = Record(
    "switchCase",
    "A way to go.",
    {
        "when": Member(CONDITION, "Go it when this is true; the one case without is the default."),
        "then": Member(_THEN, "Where it leads.", required=True),
    },
)
_CATCH = Record(
    "catch",
    "Which errors are caught, and what is done then.",
    {
        "errors": Member(
            Record("catchErrors", "Which errors.", {"with": Member(ERROR_FILTER, "What they must be.")}),
            "Which errors; all by default.",
        ),
        "as": Member(NAME_OF_VARIABLE, "The variable that holds the error; error by default."),
        "when": Member(CONDITION, "Catch it only when this is true."),
        "exceptWhen": Member(CONDITION, "Do not catch it when this is true."),
        "retry": Member(
            Either((RETRY, Text(shortest=1, names="retry"))),
            "How to try again, or the name of a policy in use.retries.",
        ),
        "do": Member(_TASKS, "What is done when it is caught."),
    },
    bindings=(Binding(("as",), "error", ("when", "exceptWhen", "retry", "do")),),
)

_KINDS: dict[str, Record | ByValue] = {
    "call": _CALL,
    "do": _task("doTask", "Does tasks one after another.", do=Member(_TASKS, "The tasks.", required=True)),
    "emit": _task("emitTask", "Emits an event.", emit=Member(_EMIT, "The event.", required=True)),
    "for": _task(
        "forTask",
        "Does tasks for each item.",
        Binding(("for", "each"), "item", ("while", "do")),
        Binding(("for", "at"), "index", ("while", "do")),
        for_=Member(_FOR, "What is gone through.", required=True),
        while_=Member(CONDITION, "Go on only as long as this is true."),
        do=Member(_TASKS, "What is done for each item.", required=True),
    ),
    "fork": _task("forkTask", "Does tasks at the same time.", fork=Member(_FORK, "The branches.", required=True)),
    "listen": _task(
        "listenTask",
        "Waits for events.",
        listen=Member(_LISTEN, "The events.", required=True),
        foreach=Member(ITERATOR, "What is done with each event."),
    ),
    "raise": _task("raiseTask", "Raises an error.", raise_=Member(_RAISE, "The error.", required=True)),
    "run": _task("runTask", "Runs a process, or another workflow.", run=Member(RUN, "What is run.", required=True)),
    "set": _task("setTask", "Sets data.", set=Member(Either((Named(ANY), VALUE)), "The data.", required=True)),
    "switch": _task(
        "switchTask",
        "Goes one of several ways.",
        switch=Member(Cases(_CASE, "case", fewest=1), "The ways to go, tried in order.", required=True),
    ),
    "try": _task(
        "tryTask",
        "Does tasks, and catches their errors.",
        try_=Member(_TASKS, "The tasks.", required=True),
        catch=Member(_CATCH, "Which errors are caught, and what is done then.", required=True),
    ),
    "wait": _task("waitTask", "Waits.", wait=Member(DURATION, "How long.", required=True)),
}
TASK = ByMember("task", "One thing to do.", _KINDS)
NAMED: dict[str, Node] = {
    "task": TASK,
    "tasks": Cases(Ref("task"), "task", are_tasks=True),
    "branches": Cases(Ref("task"), "task", are_tasks=True, concurrent=True),
}
