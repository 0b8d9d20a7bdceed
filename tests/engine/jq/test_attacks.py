"""Expressions of people who are not friends: each fails with a sentence, and nobody else notices."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.dsl.expressions import ExpressionFailed, NotAnExpression, Program, program
from penstock.engine.jq import Jq
from tests.engine.jq.test_jq import children, until

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")]

SLOW, LARGE, HUNGRY = "took longer than 0.5 s", "gives more than 100,000 bytes", "needs more memory than 64 MiB"
ATTACKS = {
    "def f: f; f": SLOW,
    "last(range(1e18))": SLOW,
    "until(false; .)": SLOW,
    "repeat(1) | empty": SLOW,
    '"x" * 1e6 | gsub("x"; "yy") | length': f"{SLOW}|{HUNGRY}",
    "[range(1e9)] | length": f"{SLOW}|{HUNGRY}",
    "def f: 1 + f; f": f"{SLOW}|{HUNGRY}",
    "reduce range(100) as $i ([1]; . + .) | length": f"{SLOW}|{HUNGRY}",
    '"x" * 1e9 | length': HUNGRY,
    "null | .[536870910] = 1": HUNGRY,
    "|".join(["[., .]"] * 60): f"{SLOW}|{HUNGRY}|{LARGE}",
    "|".join([". + ."] * 60): f"{SLOW}|{HUNGRY}|{LARGE}",
    "range(1e9)": f"{LARGE}|{SLOW}",
    '"x" * 200000': LARGE,
    '"a" * 34 | test("^(([a-z])+.)+[A-Z]([a-z])+$")': f"{SLOW}|retry-limit",
    '"[" * 100000 | fromjson': "depth limit",
}


class Heartbeat:
    """How much processor time this process takes between two beats of its event loop. What runs in the loop takes it
    there; what runs elsewhere, here or on a busy machine, does not.
    """

    def __init__(self) -> None:
        self._beats = [0.0] * 3

    @property
    def worst(self) -> float:
        """But for two, in which garbage may have been collected, or the machine been somebody else's."""
        return self._beats[0]

    async def __aenter__(self) -> "Heartbeat":
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(0.002)
            self._beats = sorted([*self._beats, time.process_time() - before])[-3:]


async def test_attacks_fail_with_a_sentence_while_the_loop_beats_on() -> None:
    hasty = Jq(processes=3, seconds=0.5, megabytes=64, most_output=100_000)
    # For what is not slow, however slow the machine is.
    patient = Jq(processes=1, seconds=60, megabytes=64, most_output=100_000)
    await asyncio.gather(hasty.start(), patient.start())
    wrong = []

    async def attack(text: str, expected: str) -> None:
        dot = "x" if "+ ." in text else None
        with pytest.raises(ExpressionFailed) as caught:
            await (hasty if SLOW in expected else patient).evaluate(program(text), dot, {})
        if not any(part in str(caught.value) for part in expected.split("|")):
            wrong.append((text, str(caught.value)))

    async with Heartbeat() as heart:
        await asyncio.gather(*(attack(text, expected) for text, expected in ATTACKS.items()))
    assert await _in_the_end(hasty, "reduce .[] as $x (0; . + $x)", [1, 2]) == 3
    await asyncio.gather(hasty.stop(), patient.stop())
    assert wrong == []
    # jq in this process would hold it for half a second.
    assert heart.worst < 0.4


async def _in_the_end(jq: Jq, text: str, dot: Any) -> Any:
    """Its answer; on a slow machine, not at the first attempt."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(ExpressionFailed):
                return await jq.evaluate(program(text), dot, {})


async def test_a_text_that_compiles_slowly_stops_nobody() -> None:
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=1000)
    await jq.start()
    await jq.require(".")
    async with Heartbeat() as heart:
        for piece in ('"\\(.)" + ', "label $f | ", ". as [$a,$b] | "):
            await jq.require(piece * (8000 // len(piece)) + ".")
        with pytest.raises(NotAnExpression, match="not defined"):
            await jq.require("|".join(f"u{number}" for number in range(1200)))
    await jq.stop()
    assert heart.worst < 0.1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("env", {"TZ": "UTC"}),
        ("$ENV", {"TZ": "UTC"}),
        ('"\\(env)"', '{"TZ":"UTC"}'),
        ('@text "\\($ENV)"', '{"TZ":"UTC"}'),
        ("debug", 1),
        ("stderr", 1),
        ("[., input_filename]", [1, None]),
        ("get_search_list", []),
        ("halt", None),
        ('"bye" | halt_error', None),
        ("input", ExpressionFailed),
        ("$__prog_args", ExpressionFailed),
        ("input_line_number", ExpressionFailed),
        ('"os" | modulemeta', ExpressionFailed),
        ('import "a" as a; .', ExpressionFailed),
        (".) | env | (.", {"TZ": "UTC"}),
        ('strflocaltime("%H %Z")', "00 UTC"),
    ],
)  # fmt: skip
async def test_what_would_slip_through_the_check_still_reaches_nothing(
    text: str, shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CANARY", "tweet")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=100_000)
    await jq.start()
    unchecked = Program(text)
    unchecked.variables, unchecked.fast, unchecked.refused = frozenset(), None, None
    try:
        if shown is ExpressionFailed:
            with pytest.raises(ExpressionFailed):
                await jq.evaluate(unchecked, 1, {})
        else:
            assert await jq.evaluate(unchecked, 1, {}) == shown
    finally:
        await jq.stop()


async def test_a_process_has_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CANARY", "tweet")
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=1000)
    with Path("/dev/null").open("rb") as opened:
        os.set_inheritable(opened.fileno(), True)
        await jq.start()
        await jq.evaluate(program("now"), None, {})
        (pid,) = children()
        facts = Path(f"/proc/{pid}")
        assert b"tweet" not in (facts / "environ").read_bytes()
        assert len(list((facts / "fd").iterdir())) <= 5
        assert os.getsid(pid) == pid
        limits = (facts / "limits").read_text()
    for line in ("Max core file size        0", "Max file size             0", "Max processes             0"):
        assert line in limits
    await jq.stop()


async def test_a_crash_of_jq_fails_that_expression_only() -> None:
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=1000)
    await jq.start()
    await jq.evaluate(program("now"), None, {})
    (pid,) = children()
    crashed = asyncio.create_task(jq.evaluate(program("last(range(1e18))"), None, {}))
    waiting = asyncio.create_task(jq.evaluate(program("reduce .[] as $x (0; . + $x)"), [4], {}))
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(ExpressionFailed, match="too deep"):
        await crashed
    assert await waiting == 4
    await until(lambda: children() and pid not in children())
    await jq.stop()
