"""Scenarios of the specification's conformance kit: read from its feature files, and held against what came of a run.

The kit's public hosts are the stand-in's; the files stay in the specification's own checkout.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.dsl.parse import parse
from tests.conformance.case import Case, Outcome

HOSTS = {"https://petstore.swagger.io/v2": "http://stand-in", "https://httpbin.org": "http://stand-in"}
_SCENARIO = re.compile(r"^\s*Scenario: (.+?)\s*$", re.MULTILINE)
_STEP = re.compile(r'^\s*(?:Given|When|Then|And) (.+?)\s*$(?:\n\s*"""yaml\n(.*?)^\s*""")?', re.MULTILINE | re.DOTALL)


class Scenario(msgspec.Struct, frozen=True):
    name: str
    case: Case
    promises: list[tuple[str, Any]]


def scenarios(folder: Path) -> list[Scenario]:
    return [scenario for file in sorted(folder.glob("*.feature")) for scenario in _scenarios_in(file)]


def _scenarios_in(file: Path) -> list[Scenario]:
    parts = _SCENARIO.split(file.read_text("utf-8"))[1:]
    return [_scenario(file.stem, name, body) for name, body in zip(parts[::2], parts[1::2], strict=True)]


def _scenario(feature: str, name: str, body: str) -> Scenario:
    definition, data, promises = {}, {}, []
    for match in _STEP.finditer(body):
        said, argument = match[1], _data(match[2])
        match said:
            case "a workflow with definition:":
                definition = argument
            case "given the workflow input is:":
                data = argument
            case "the workflow is executed":
                pass
            case _:
                promises.append((said, argument))
    title = f"{feature}: {name}"
    return Scenario(title, Case(name=title, definition=definition, input=data), promises)


def _data(text: str | None) -> Any:
    if text is None:
        return None
    for host, stand_in in HOSTS.items():
        text = text.replace(host, stand_in)
    lines = text.splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    parsed = parse("\n".join(line[indent:] for line in lines))
    return parsed.data if parsed is not None else None


def hold(said: str, argument: Any, outcome: Outcome) -> None:
    for pattern, promise in _PROMISES.items():
        if (match := re.fullmatch(pattern, said)) is not None:
            promise(outcome, argument, *match.groups())
            return
    raise AssertionError(f"nobody knows how to hold: {said}")


def _completes(outcome: Outcome, _: Any) -> None:
    assert outcome.fault is None, outcome.fault


def _completes_with(outcome: Outcome, output: Any) -> None:
    assert outcome.fault is None, outcome.fault
    assert outcome.output == output


def _faults(outcome: Outcome, _: Any) -> None:
    assert outcome.fault is not None


def _faults_with(outcome: Outcome, error: Any) -> None:
    assert outcome.fault is not None
    assert {name: outcome.fault.get(name) for name in error} == error


def _has(outcome: Outcome, _: Any, names: str) -> None:
    for name in re.findall(r"'([^']+)'", names):
        _member(outcome.output, name)


def _has_value(outcome: Outcome, value: Any, name: str) -> None:
    assert _member(outcome.output, name) == value


def _has_items(outcome: Outcome, _: Any, name: str, count: str) -> None:
    assert len(_member(outcome.output, name)) == int(count)


def _runs_first(outcome: Outcome, _: Any, name: str) -> None:
    assert _names(outcome)[0] == name


def _runs_last(outcome: Outcome, _: Any, name: str) -> None:
    assert _names(outcome)[-1] == name


def _runs_after(outcome: Outcome, _: Any, name: str, before: str) -> None:
    names = _names(outcome)
    assert names.index(name) == names.index(before) + 1


def _names(outcome: Outcome) -> list[str]:
    return [line.split()[0] for line in outcome.steps]


def _member(data: Any, path: str) -> Any:
    for name in path.split("."):
        assert name in data, f"there is no {path} in {data}"
        data = data[name]
    return data


_PROMISES: dict[str, Callable[..., None]] = {
    r"the workflow should complete": _completes,
    r"the workflow should complete with output:": _completes_with,
    r"the workflow should fault": _faults,
    r"the workflow should fault with error:": _faults_with,
    r"the workflow output should have properties (.+)": _has,
    r"the workflow output should have a '(.+)' property with value:": _has_value,
    r"the workflow output should have a '(.+)' property containing (\d+) items": _has_items,
    r"(\w+) should run first": _runs_first,
    r"(\w+) should run last": _runs_last,
    r"(\w+) should run after (\w+)": _runs_after,
}
