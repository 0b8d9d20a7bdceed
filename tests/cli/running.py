"""The command `penstock` as a person runs it: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests import processes

START_LIMIT = 240  # a machine with more to do than cores takes its time


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return kept | {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()} | {"NO_COLOR": "1"}


def penstock(*arguments: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *map(str, arguments)],
        cwd=cwd,
        env=environment(**settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=START_LIMIT,
    )


def copied(*arguments: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """The same without loading everything anew, for what may be asked of one and the same command many times."""
    with TemporaryFile("w+") as stdout, TemporaryFile("w+") as stderr:
        command = [*map(str, arguments)]
        files = {"stdout": stdout.fileno(), "stderr": stderr.fileno()}
        code = processes.Process(command, cwd=cwd, env=environment(**settings), **files).wait(START_LIMIT)
        for file in (stdout, stderr):
            file.seek(0)
        return subprocess.CompletedProcess(command, code, stdout.read(), stderr.read())


def refused(*arguments: str | Path, cwd: Path, **settings: str) -> str:
    """The one sentence with which a command failed."""
    done = copied(*arguments, cwd=cwd, **settings)
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("penstock: ")
    return lines[0].removeprefix("penstock: ")


@contextmanager
def server(cwd: Path, *arguments: str, **settings: str) -> Iterator[dict[str, Any]]:
    """`penstock serve` on a free port; what it said of itself when it was ready."""
    ours, theirs = os.pipe()
    # A machine that is far too busy takes the usual ten seconds for itself.
    patient = environment(**{"expression_time": "60s", **settings})
    process = processes.start(["serve", "--port", "0", *arguments], cwd=cwd, env=patient, stderr=theirs)
    os.close(theirs)
    stderr = os.fdopen(ours)
    limit = threading.Timer(START_LIMIT, process.kill)
    limit.start()
    said: list[str] = []
    # Someone must read on: a full pipe would stop the server.
    reader = threading.Thread(target=stderr.read, daemon=True)
    try:
        for line in stderr:
            said.append(line)
            if line.startswith("{") and json.loads(line)["event"] == "serving":
                break
        limit.cancel()
        assert process.poll() is None, "".join(said)
        reader.start()
        yield json.loads(said[-1])
    finally:
        limit.cancel()
        process.terminate()
        process.wait(START_LIMIT)
        if reader.ident is not None:
            reader.join()
        stderr.close()
