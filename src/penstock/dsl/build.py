"""Makes the interpreter's model of a definition that `check` found valid."""

from typing import Any

from penstock.dsl import model
from penstock.dsl.durations import microseconds
from penstock.dsl.expressions import Program
from penstock.dsl.parse import parse, pointer
from penstock.dsl.values import Constant, Members, Mode, Value, expression_of, value_of

Json = dict[str, Any]
_EMPTY = model.Document("default", "empty", "0.0.0")
_PROCESSES: tuple[model.Process, ...] = ("container", "script", "shell", "workflow")


class NotValid(Exception):
    """The definition is none that could run; `check` says why."""


def workflow_of(text: str) -> model.Workflow:
    """The model of a definition. An empty one is a workflow of no tasks."""
    parsed = parse(text)
    if parsed is None:
        return model.Workflow(_EMPTY, {}, ())
    try:
        return Builder(parsed.data).workflow()
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise NotValid("the definition is not valid; see what `penstock check` says of it") from error


def document_of(text: str) -> model.Document:
    """What a definition says of itself, without its tasks, which take much longer to be made ready."""
    parsed = parse(text)
    if parsed is None:
        return _EMPTY
    try:
        return Builder(parsed.data).document()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NotValid("the definition is not valid; see what `penstock check` says of it") from error


def task_of(data: Json, workflow: model.Workflow, name: str, reference: str) -> model.Task:
    """A task that was found elsewhere (a function of a catalog), to run in this workflow."""
    try:
        return Builder(workflow.definition).task(name, reference, data)
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise NotValid("what the catalog has is not a valid task") from error


class Builder:
    def __init__(self, definition: Json) -> None:
        self._definition = definition
        self._use: Json = definition.get("use") or {}
        evaluate = definition.get("evaluate") or {}
        self._mode: Mode = evaluate.get("mode", "strict")
        self._extends = True
        self._of_extension = False

    def workflow(self) -> model.Workflow:
        data = self._definition
        return model.Workflow(
            document=self.document(),
            definition=data,
            tasks=self._tasks("/do", data["do"]),
            input=self._shape(data.get("input"), "from"),
            output=self._shape(data.get("output"), "as"),
            timeout=self._timeout(data.get("timeout")),
            schedule=self._schedule(data.get("schedule") or {}),
            functions={
                name: self.task(name, _under("/use/functions", name), task)
                for name, task in (self._use.get("functions") or {}).items()
            },
            extensions=tuple(
                self._extension(index, *_only(item)) for index, item in enumerate(self._use.get("extensions") or [])
            ),
            authentications={
                name: self._value(item) for name, item in (self._use.get("authentications") or {}).items()
            },
            catalogs={name: self._value(item) for name, item in (self._use.get("catalogs") or {}).items()},
            secrets=tuple(self._use.get("secrets") or ()),
        )

    def _values(self, name: str) -> dict[str, Value]:
        return {key: self._value(item) for key, item in (self._use.get(name) or {}).items()}

    def document(self) -> model.Document:
        data = self._definition["document"]
        known = {"namespace", "name", "version", "dsl", "title"}
        return model.Document(
            **{name: str(data[name]) for name in known if name in data}, metadata=data.get("metadata") or {}
        )

    def _schedule(self, data: Json) -> model.Schedule:
        return model.Schedule(
            every=microseconds(data["every"]) if "every" in data else None,
            cron=data.get("cron"),
            after=microseconds(data["after"]) if "after" in data else None,
            on=self._consumption(data["on"]) if "on" in data else None,
        )

    def _extension(self, index: int, name: str, data: Json) -> model.Extension:
        at = _under(f"/use/extensions/{index}", name)
        # One that extends extensions is extended by nothing: it would go on for ever.
        self._of_extension, self._extends = True, data["extend"] != "extension"
        try:
            return model.Extension(
                name,
                data["extend"],
                self._expression(data.get("when")),
                self._tasks(f"{at}/before", data.get("before") or []),
                self._tasks(f"{at}/after", data.get("after") or []),
            )
        finally:
            self._of_extension, self._extends = False, True

    def _tasks(self, at: str, items: list[Json]) -> model.Tasks:
        return tuple(
            self.task(name, _under(f"{at}/{index}", name), task)
            for index, (name, task) in enumerate(_only(item) for item in items)
        )

    def task(self, name: str, at: str, data: Json) -> model.Task:
        shared: Json = {
            "name": name,
            "reference": at,
            "definition": data,
            "condition": self._expression(data.get("if")),
            "input": self._shape(data.get("input"), "from"),
            "output": self._shape(data.get("output"), "as"),
            "export": self._shape(data.get("export"), "as"),
            "timeout": self._timeout(data.get("timeout")),
            "then": data.get("then", "continue"),
            "extends": self._extends,
            "of_extension": self._of_extension,
        }
        # A loop has a `do` too, so `for` is looked for first.
        kind = next(kind for kind in _BUILDERS if kind in data)
        built: model.Task = _BUILDERS[kind](self, data, shared | {"kind": kind})
        return built

    def _set(self, data: Json, shared: Json) -> model.Task:
        return model.Set(data=self._value(data["set"]), **shared)

    def _do(self, data: Json, shared: Json) -> model.Task:
        return model.Do(tasks=self._tasks(f"{shared['reference']}/do", data["do"]), **shared)

    def _for(self, data: Json, shared: Json) -> model.Task:
        loop = data["for"]
        return model.For(
            each=loop.get("each", "item"),
            at=loop.get("at", "index"),
            items=expression_of(loop["in"]),
            condition_to_go_on=self._expression(data.get("while")),
            tasks=self._tasks(f"{shared['reference']}/do", data["do"]),
            **shared,
        )

    def _fork(self, data: Json, shared: Json) -> model.Task:
        fork = data["fork"]
        return model.Fork(
            branches=self._tasks(f"{shared['reference']}/fork/branches", fork["branches"]),
            compete=fork.get("compete", False),
            **shared,
        )

    def _switch(self, data: Json, shared: Json) -> model.Task:
        cases = tuple(
            model.Case(name, self._expression(case.get("when")), case.get("then", "continue"))
            for name, case in map(_only, data["switch"])
        )
        return model.Switch(cases=cases, **shared)

    def _try(self, data: Json, shared: Json) -> model.Task:
        at, catch = shared["reference"], data["catch"]
        errors = catch.get("errors") or {}
        handler = model.Catch(
            errors=self._value(errors["with"]) if errors.get("with") else None,
            name=catch.get("as", "error"),
            when=self._expression(catch.get("when")),
            except_when=self._expression(catch.get("exceptWhen")),
            retry=self._retry(catch.get("retry")),
            tasks=self._tasks(f"{at}/catch/do", catch["do"]) if "do" in catch else None,
        )
        return model.Try(tasks=self._tasks(f"{at}/try", data["try"]), catch=handler, **shared)

    def _retry(self, data: Any) -> model.Retry | None:
        if data is None:
            return None
        policy: Json = self._use["retries"][data] if isinstance(data, str) else data
        limit = policy.get("limit") or {}
        attempt, jitter = limit.get("attempt") or {}, policy.get("jitter")
        return model.Retry(
            when=self._expression(policy.get("when")),
            except_when=self._expression(policy.get("exceptWhen")),
            delay=self._optional(policy.get("delay")),
            backoff=next(iter(policy.get("backoff") or {"constant": {}})),
            jitter=(self._value(jitter["from"]), self._value(jitter["to"])) if jitter else None,
            most_attempts=attempt.get("count"),
            attempt_limit=self._optional(attempt.get("duration")),
            limit=self._optional(limit.get("duration")),
        )

    def _raise(self, data: Json, shared: Json) -> model.Task:
        error = data["raise"]["error"]
        return model.Raise(error=self._value(self._use["errors"][error] if isinstance(error, str) else error), **shared)

    def _wait(self, data: Json, shared: Json) -> model.Task:
        return model.Wait(duration=self._value(data["wait"]), **shared)

    def _emit(self, data: Json, shared: Json) -> model.Task:
        return model.Emit(event=self._value(data["emit"]["event"]["with"]), **shared)

    def _listen(self, data: Json, shared: Json) -> model.Task:
        listen = data["listen"]
        return model.Listen(
            to=self._consumption(listen["to"]),
            read=listen.get("read", "data"),
            foreach=self._foreach(f"{shared['reference']}/foreach", data.get("foreach") or listen.get("foreach")),
            **shared,
        )

    def _consumption(self, data: Json) -> model.Consumption:
        kind = next(kind for kind in ("one", "any", "all") if kind in data)
        given = data[kind]
        filters = tuple(self._filter(item) for item in ([given] if kind == "one" else given or []))
        until = data.get("until") if kind == "any" else None
        return model.Consumption(
            kind,
            filters,
            self._consumption(until) if isinstance(until, dict) else self._expression(until),
        )

    def _filter(self, data: Json) -> model.Filter:
        return model.Filter(
            tuple((name, self._value(value)) for name, value in (data.get("with") or {}).items()),
            tuple(
                model.Correlation(name, expression_of(item["from"]), self._optional(item.get("expect")))
                for name, item in (data.get("correlate") or {}).items()
            ),
        )

    def _foreach(self, at: str, data: Json | None) -> model.Foreach | None:
        if data is None:
            return None
        return model.Foreach(
            data.get("item", "item"),
            data.get("at", "index"),
            self._tasks(f"{at}/do", data.get("do") or []),
            self._shape(data.get("output"), "as"),
            self._shape(data.get("export"), "as"),
        )

    def _call(self, data: Json, shared: Json) -> model.Task:
        arguments = data.get("with")
        subscription = None
        if data["call"] == "asyncapi" and arguments is not None and "subscription" in arguments:
            at = f"{shared['reference']}/with/subscription"
            subscription = self._subscription(at, arguments["subscription"])
            # Its expressions are asked for each message, not once before the call.
            arguments = {name: value for name, value in arguments.items() if name != "subscription"}
        return model.Call(
            function=data["call"], arguments=self._optional(arguments), subscription=subscription, **shared
        )

    def _subscription(self, at: str, data: Json) -> model.Subscription:
        consume = data["consume"]
        return model.Subscription(
            filter=self._expression(data.get("filter")),
            amount=consume.get("amount"),
            duration=self._optional(consume.get("for")),
            condition_to_go_on=self._expression(consume.get("while")),
            condition_to_end=self._expression(consume.get("until")),
            foreach=self._foreach(f"{at}/foreach", data.get("foreach")),
        )

    def _run(self, data: Json, shared: Json) -> model.Task:
        run = data["run"]
        process = next(kind for kind in _PROCESSES if kind in run)
        return model.Run(
            process=process,
            arguments=self._process(process, run[process]),
            awaited=run.get("await", True),
            returned=run.get("return", "stdout"),
            **shared,
        )

    def _process(self, kind: str, data: Json) -> Value:
        """What a script's code holds is the script's own: `${name}` in JavaScript is none of ours."""
        if kind != "script" or "code" not in data:
            return self._value(data)
        rest = self._value({name: value for name, value in data.items() if name != "code"})
        code = self._value(data["code"]) if data["code"].strip().startswith("${") else Constant(data["code"])
        return _with_member(rest, "code", code)

    def _shape(self, data: Json | None, transform: str) -> model.Shape:
        if not data:
            return model.Shape()
        given = data.get(transform)
        return model.Shape(
            transform=None if given is None else expression_of(given) if isinstance(given, str) else self._value(given),
            schema=self._schema(data.get("schema")),
        )

    def _schema(self, data: Json | None) -> model.Schema | None:
        if not data:
            return None
        return model.Schema(data.get("document"), self._optional(data.get("resource")))

    def _timeout(self, data: Any) -> Value | None:
        if data is None:
            return None
        policy: Json = self._use["timeouts"][data] if isinstance(data, str) else data
        return self._value(policy["after"])

    def _expression(self, data: Any) -> Program | None:
        return None if data is None else expression_of(data if isinstance(data, str) else _literal(data))

    def _optional(self, data: Any) -> Value | None:
        return None if data is None else self._value(data)

    def _value(self, data: Any) -> Value:
        return value_of(data, self._mode)


def _literal(data: Any) -> str:
    """`when: true` is an expression, too."""
    return {True: "true", False: "false"}[data] if isinstance(data, bool) else str(data)


def _with_member(value: Value, name: str, member: Value) -> Value:
    if isinstance(value, Constant) and isinstance(member, Constant):
        return Constant({**value.data, name: member.data})
    items = value.items if isinstance(value, Members) else tuple((k, Constant(v)) for k, v in value.data.items())  # type: ignore[union-attr]
    return Members((*items, (name, member)))


def _only(item: Json) -> tuple[str, Any]:
    return next(iter(item.items()))


def _under(at: str, name: str) -> str:
    return at + pointer((name,))


_BUILDERS: dict[str, Any] = {
    "for": Builder._for,
    "try": Builder._try,
    "call": Builder._call,
    "emit": Builder._emit,
    "fork": Builder._fork,
    "listen": Builder._listen,
    "raise": Builder._raise,
    "run": Builder._run,
    "set": Builder._set,
    "switch": Builder._switch,
    "wait": Builder._wait,
    "do": Builder._do,
}
