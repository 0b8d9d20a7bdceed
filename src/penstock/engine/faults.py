"""What can go wrong in a workflow, as the DSL describes it: an error with a type, a status and where it came from."""

from typing import Any

import msgspec

STANDARD = "https://serverlessworkflow.io/spec/1.0.0/errors/"
# An older spelling of the same, used by the specification's own examples.
_ALIAS = "https://serverlessworkflow.io/dsl/errors/types/"
_LONGEST_TEXT = 2_000


class Error(msgspec.Struct, frozen=True, omit_defaults=True):
    """RFC 9457, with `instance` as a JSON pointer to the task that raised it."""

    type: str
    status: int
    title: str | None = None
    detail: str | None = None
    instance: str | None = None

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}

    @property
    def message(self) -> str:
        said = ": ".join(part for part in (self.title, self.detail) if part)
        return said or f"error {self.status} of type {self.type}"


class Fault(Exception):
    """Ends a task, and all around it that does not catch it."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error

    def at(self, reference: str) -> "Fault":
        """The same, with the place that it came from, when it does not say one."""
        if self.error.instance is not None:
            return self
        return type(self)(msgspec.structs.replace(self.error, instance=reference))

    def elsewhere(self) -> "Fault":
        """The same, without its place: that is none of the definition that it comes to."""
        return Fault(msgspec.structs.replace(self.error, instance=None))


class Exhausted(Fault):
    """An execution has used up all that it may use. Nothing catches it: a handler would only use more."""


def exhausted(title: str, detail: str) -> Exhausted:
    return Exhausted(runtime(title, detail).error)


def same_type(one: str, other: str) -> bool:
    return _standard(one) == _standard(other)


def _standard(type_: str) -> str:
    return STANDARD + type_.removeprefix(_ALIAS) if type_.startswith(_ALIAS) else type_


def told(text: str) -> str:
    """As it can be stored and shown: not endless, and of characters only."""
    return text[:_LONGEST_TEXT].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _fault(kind: str, status: int, title: str, detail: str | None) -> Fault:
    return Fault(Error(STANDARD + kind, status, told(title), told(detail) if detail is not None else None))


def configuration(title: str, detail: str | None = None, status: int = 400) -> Fault:
    """Something the workflow or the machine lacks: a setting, a program, a package."""
    return _fault("configuration", status, title, detail)


def validation(title: str, detail: str | None = None, status: int = 400) -> Fault:
    return _fault("validation", status, title, detail)


def expression(title: str, detail: str | None = None, status: int = 400) -> Fault:
    return _fault("expression", status, title, detail)


def authentication(title: str, detail: str | None = None, status: int = 401) -> Fault:
    return _fault("authentication", status, title, detail)


def authorization(title: str, detail: str | None = None, status: int = 403) -> Fault:
    return _fault("authorization", status, title, detail)


def timeout(title: str, detail: str | None = None, status: int = 408) -> Fault:
    return _fault("timeout", status, title, detail)


def communication(title: str, detail: str | None = None, status: int = 500) -> Fault:
    """A service could not be reached, or its answer is an error; `status` is the answer's."""
    return _fault("communication", status, title, detail)


def runtime(title: str, detail: str | None = None, status: int = 500) -> Fault:
    return _fault("runtime", status, title, detail)
