"""The example workflows: valid, explained, and run as `penstock run` runs them, by the cases in a file of their name.

A case has an input, the answers that services give (`routes`), events, and what must come of it: the requests, the
last body sent to each route, and the output or the fault. `$SERVER` is where the stand-in for all services is.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.run import FAULTED, run
from penstock.dsl.check import check
from tests.examples.standing_in import StandIn, standing_in

EXAMPLES = Path(__file__).parents[2] / "examples"
WORKFLOWS = sorted(EXAMPLES.glob("*.yaml"))
FILES = sorted(Path(__file__).parent.glob("*.json"))
CASES = [
    pytest.param(file.stem, case, id=f"{file.stem}: {case['name']}")
    for file in FILES
    for case in json.loads(file.read_text("utf-8"))
]


@pytest.fixture(scope="module")
def services() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, with minutes where they give a service seconds: a busy machine is no service that dawdles."""
    folder = tmp_path_factory.mktemp("examples")
    for path in WORKFLOWS:
        text = re.sub(r"(timeout: \{ after: )\{ seconds: \d+ \}", r"\1{ minutes: 5 }", path.read_text("utf-8"))
        (folder / path.name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(("name", "case"), CASES)
def test_an_example_does_what_its_case_says(
    name: str, case: dict[str, Any], services: StandIn, patient: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads(json.dumps(case).replace("$SERVER", services.address))
    services.expect(case.get("routes", {}))
    ended = outcome(patient / f"{name}.yaml", case, capsys)
    if "output" in case:
        assert ended.get("output") == case["output"], ended
    else:
        assert case["fault"].items() <= ended["error"].items()
    wanted, requests = case.get("requests", []), services.requests
    assert requests == wanted or (case.get("in_any_order") and sorted(requests) == sorted(wanted))
    assert case.get("bodies", {}).items() <= services.bodies.items()


def outcome(file: Path, case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command says, run as `--json`. In this process: starting thirty takes half a minute."""
    code = 0
    try:
        run(
            file,
            input=json.dumps(case["input"]),
            event=[json.dumps(event) for event in case.get("events", [])],
            as_json=True,
            quiet=True,
        )
    except SystemExit as error:
        code = int(error.code or 0)
    ended: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == (0 if ended["status"] == "completed" else FAULTED)
    return ended


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_example_is_valid_and_explained(path: Path) -> None:
    text = path.read_text("utf-8")
    assert check(text) == []
    assert text.startswith("# ")
    assert f"]({path.name})" in (EXAMPLES / "README.md").read_text("utf-8")


def test_every_example_is_run_by_a_case() -> None:
    run = set()
    for file in FILES:
        for case in json.loads(file.read_text("utf-8")):
            run |= {f"{file.stem}.yaml", *case.get("beside", [])}
    assert run == {path.name for path in WORKFLOWS}
