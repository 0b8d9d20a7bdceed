"""`penstock check`, as a person and an editor run it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.running import environment, penstock, refused

GOOD = "document: {dsl: 1.0.3, namespace: shop, name: greet, version: 0.1.0}\ndo: [{a: {set: {x: 1}}}]\n"
WARNED = GOOD.replace("x: 1}}", "x: 1}, then: end}}, {b: {set: {}}").replace("{set: {}}]", "{set: {}}}]")
BROKEN = "document: {dsl: 1.0.3, namespace: shop, name: greet, version: 0.1.0}\ndo:\n  - a:\n      wait: soon\n  - b: {run: {shell: {command: ls}}}\n"  # noqa: E501


def test_findings_are_said_as_a_compiler_says_them(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    done = penstock("check", "good.yaml", "broken.yaml", cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("broken.yaml:4:13: error[duration] expected an ISO 8601 duration")
    assert done.stderr.strip() == "2 files checked: 1 error, 0 warnings"


def test_a_warning_is_said_and_the_definition_is_still_valid(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WARNED)
    done = penstock("check", "a.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert ": warning[unreachable] " in done.stdout
    assert "\x1b" not in done.stdout


def test_for_programs_it_is_json_and_a_dash_is_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "check", "--json", "--allow", "script,container", "-"],
        cwd=tmp_path,
        env=environment(),
        input=BROKEN,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["valid"] is False
    (file,) = document["files"]
    assert (file["file"], file["valid"]) == ("<stdin>", False)
    assert [finding["code"] for finding in file["findings"]] == ["duration", "process-refused"]
    assert set(file["findings"][0]) == {"path", "message", "code", "line", "column", "severity"}


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path) -> None:
    assert "cannot be read" in refused("check", "missing.yaml", cwd=tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    assert "UTF-8" in refused("check", "latin.yaml", cwd=tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    assert "bash" in refused("check", "--allow", "bash", "good.yaml", cwd=tmp_path)
