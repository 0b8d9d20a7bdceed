"""`penstock run` as a person uses it: the output on standard output, all else on standard error, and its exit code."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.run import run
from tests.cli.running import START_LIMIT, copied, environment, penstock

HEAD = "document: {dsl: 1.0.3, namespace: test, name: NAME, version: 1.0.0}\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(tasks: str, name: str = "flow") -> Path:
        file = tmp_path / f"{name}.yaml"
        file.write_text(HEAD.replace("NAME", name) + tasks)
        return file

    return write


def test_the_output_is_json_and_the_steps_are_told_on_standard_error(write: Any, tmp_path: Path) -> None:
    file = write("do: [{add: {set: {sum: '${ .a + 1 }'}}}, {say: {run: {shell: {command: echo hello}}}}]")
    done = penstock("run", file, "--input", '{"a": 2}', cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)) == (0, "hello")
    lines = done.stderr.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["completed", "add"],
        ["runs", "say"],
        ["info", "say:"],
        ["completed", "say"],
    ]


def test_a_fault_is_told_with_its_place_and_ends_with_1(write: Any, tmp_path: Path) -> None:
    file = write("do:\n  - boom: {raise: {error: {type: 'https://example.com/e', status: 418, title: Teapot}}}\n")
    done = copied("run", file, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    for said in ("https://example.com/e", "418", "Teapot", "/do/0/boom", f"{file}:3:"):
        assert said in done.stderr


def test_a_definition_that_is_not_valid_is_not_run_and_ends_with_2(write: Any, tmp_path: Path) -> None:
    file = write("do:\n  - touch: {run: {shell: {command: touch ran}}}\n  - go: {set: {}, then: nowhere}\n")
    done = copied("run", file, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:4:" in done.stderr
    assert "nowhere" in done.stderr
    assert not list(tmp_path.rglob("ran"))


def test_everything_that_a_workflow_needs_can_be_given(write: Any, tmp_path: Path) -> None:
    write("do: [{twice: {set: '${ .n * 2 }'}}]", "child")
    file = write(
        "use: {secrets: [key, file]}\n"
        "do:\n"
        "  - far: {call: http, with: {method: get, endpoint: 'http://nowhere.invalid'}}\n"
        "  - child: {run: {workflow: {namespace: test, name: child, version: latest, input: {n: '${ .n }'}}}}\n"
        "  - heard: {listen: {to: {one: {with: {type: go}}}}, output: {as: '{n: $input, heard: .[0]}'}}\n"
        "  - known: {set: '${ . + {secrets: ($secrets | map_values(length))} }'}\n"
    )
    (tmp_path / "mock.json").write_text('{"n": 21}')
    (tmp_path / "secret.txt").write_text("from a file")
    (tmp_path / "events.yaml").write_text("- {type: other}\n- {type: go, data: now}\n")
    done = copied(
        *("run", file, "--quiet"),
        *("--mock", "far=@mock.json", "--secret", "key=four", "--secret", "file=@secret.txt"),
        *("--event", "@events.yaml"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"n": 42, "heard": "now", "secrets": {"key": 4, "file": 11}}


def test_for_programs_there_is_one_document_with_the_steps_and_no_secret_in_it(write: Any, tmp_path: Path) -> None:
    file = write(
        "use: {secrets: [key]}\n"
        "do:\n"
        "  - one: {set: {key: '${ $secrets.key }'}}\n"
        "  - two: {raise: {error: {type: 'https://example.com/e', status: 500, title: 'with ${ .key }'}}}\n"
    )
    done = copied("run", file, "--json", "--secret", "key=open-sesame", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["error"]["title"]) == (1, "failed", "with ********")
    assert [(step["name"], step["type"], step["status"]) for step in told["steps"]] == [
        ("one", "set", "completed"),
        ("two", "raise", "failed"),
    ]
    assert "sesame" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"input": "{"}, "--input: not JSON"),
        ({"input": "@absent.json"}, "absent.json cannot be read"),
        ({"mock": ["one"]}, "expected NAME=VALUE"),
        ({"mock": ["nobody=1"]}, "no task 'nobody' to mock"),
        ({"event": ["1"]}, "a CloudEvent is an object with a type"),
        ({"with_": [Path("absent.yaml")]}, "absent.yaml cannot be read"),
        ({}, "uses the secret key"),
    ],
)
def test_what_is_given_wrongly_is_refused_with_2(
    write: Any, capsys: pytest.CaptureFixture[str], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(write("use: {secrets: [key]}\ndo: [{one: {set: {}}}]"), **arguments)
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_a_workflow_and_its_input_may_come_from_standard_input(write: Any, tmp_path: Path) -> None:
    file = write("do: [{one: {set: '${ .a }'}}]")
    command = [sys.executable, "-m", "penstock", "run", "--quiet"]
    for arguments, given, output in (
        ([str(file), "--input", "-"], '{"a": 7}', 7),
        (["-", "--input", '{"a": 8}'], file.read_text(), 8),
    ):
        piped = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env=environment(),
            input=given,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert json.loads(piped.stdout) == output


def test_ctrl_c_ends_what_runs_and_ends_with_130(write: Any, tmp_path: Path) -> None:
    file = write("do: [{nap: {run: {shell: {command: 'sleep 1000'}}}}]")
    running = subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(file)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background ignores it, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    assert running.stderr is not None
    assert running.stderr.readline().split()[:2] == ["runs", "nap"]
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=START_LIMIT)
    assert running.returncode == 130
    assert "cancelled nap" in said
    assert "Traceback" not in said


def test_on_a_terminal_the_steps_are_a_tree_that_grows(write: Any, tmp_path: Path) -> None:
    file = write(
        "do:\n"
        "  - loop: {for: {in: '[range(12)]'}, do: [{nap: {wait: {milliseconds: 1}}}]}\n"
        "  - attempt: {try: [{boom: {raise: {error: {type: 'https://e.example', status: 500, title: Oops}}}}],"
        " catch: {retry: {limit: {attempt: {count: 1}}}, do: []}}\n"
    )
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(file), "--input", "5"],
        cwd=tmp_path,
        env=environment() | {"TERM": "xterm", "COLUMNS": "100", "LINES": "60"},
        stdout=subprocess.PIPE,
        stderr=terminal,
    ) as running:
        os.close(terminal)
        shown = _read(controller)
        assert running.stdout is not None
        assert json.loads(running.stdout.read()) == 5
    for said in ("✓", "loop", "… 4 before", "attempt 2", "Oops"):
        assert said in shown


def _read(controller: int) -> str:
    shown = b""
    try:
        while chunk := os.read(controller, 65536):
            shown += chunk
    except OSError:  # Linux says so when the other end is closed.
        pass
    os.close(controller)
    return shown.decode()
