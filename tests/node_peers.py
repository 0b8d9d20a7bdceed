"""Programs in Node that we did not write and talk to in tests: installing them, starting one, ending it."""

import fcntl
import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

PEERS = Path(__file__).parent / "peers"
LOCKFILE = PEERS / "package-lock.json"
START_LIMIT = 240  # a machine with more to do than cores takes its time


def install() -> None:
    """`npm ci`, once for each state of the lockfile, also when several test processes ask at the same time."""
    with LOCKFILE.open("rb") as lockfile:
        fcntl.flock(lockfile, fcntl.LOCK_EX)
        wanted = hashlib.sha256(lockfile.read()).hexdigest()
        stamp = PEERS / "node_modules" / ".installed-from"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund"], cwd=PEERS, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"npm ci failed:\n{done.stdout}{done.stderr}"
        stamp.write_text(wanted)


@contextmanager
def running(script: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """A peer under way. It says that it is ready, and where, with one line of JSON on its standard output."""
    install()
    process = subprocess.Popen(["node", script, *arguments], cwd=PEERS, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    limit = Timer(START_LIMIT, process.kill)
    limit.start()
    try:
        line = process.stdout.readline()
        limit.cancel()
        assert line, f"{script} ended before it was ready"
        yield json.loads(line)
    finally:
        limit.cancel()
        process.terminate()
        process.wait()
        process.stdout.close()
