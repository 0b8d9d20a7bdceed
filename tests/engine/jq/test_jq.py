"""Expressions in processes of their own: what they give, how they fail, and what becomes of the processes."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock.dsl.expressions import ExpressionFailed, NeedsJq, NotAnExpression, Program, program
from penstock.engine.behalf import on_behalf_of
from penstock.engine.jq import Jq

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by /proc")]

# Each is out of the fast path's part.
FAST_ENOUGH = "reduce .[] as $x (0; . + $x)"


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    one = Jq(processes=2, seconds=60, megabytes=128, most_output=64 * 1024)
    await one.start()
    yield one
    await one.stop()


def children() -> set[int]:
    """The worker processes of this one."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since
            found |= {int(pid) for pid in (task / "children").read_text().split() if _is_worker(int(pid))}
    return found


def _is_worker(pid: int) -> bool:
    try:
        return b"jq/worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def only_jq(text: str) -> Program:
    known, found = program(text), Program(text)
    found.variables, found.fast, found.refused = known.variables, None, known.refused
    return found


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("text", "dot", "value"),
    [
        ("limit(0; 1)", None, None),
        ("[range(3)]", None, [0, 1, 2]),
        ("range(3)", None, [0, 1, 2]),
        (FAST_ENOUGH, [1, 2.5], 3.5),
        ("$input.a as [$x] | $x + .b", {"b": 1}, 3),
        ("def f($n): $n * 2; f(.a) # done", {"a": 4}, 8),
        ("[.. | numbers]", {"a": [1, {"b": 1.0}]}, [1, 1.0]),
        ('"é😀" | @uri', None, "%C3%A9%F0%9F%98%80"),
        ("try error(\"x\") catch .", None, "x"),
        ("..|select(. == 100000000000000000001)?", 100000000000000000001, 100000000000000000001),
        ("@text", 1.0, "1.0"),
        ("$__loc__.line", None, 1),
        ("0 | localtime | mktime", None, 0),
    ],
)  # fmt: skip
async def test_what_needs_jq_gives_what_jq_gives(jq: Jq, text: str, dot: Any, value: Any) -> None:
    given = await jq.evaluate(program(text), dot, {"input": {"a": [2]}, "context": object()})
    assert given == value
    assert type(given) is type(value)


async def test_an_expression_has_its_time_of_the_processor_and_not_by_the_clock() -> None:
    jq = Jq(processes=1, seconds=1, megabytes=64, most_output=1000)
    await jq.start()
    try:
        await jq.evaluate(program("[range(3)]"), None, {})
        [process] = children()
        os.kill(process, signal.SIGSTOP)
        waits = asyncio.create_task(jq.evaluate(program("[range(3)]"), None, {}))
        # More than its time by the clock, of which it has ten times as much.
        assert await asyncio.wait([waits], timeout=1.2) == (set(), {waits})
        os.kill(process, signal.SIGCONT)
        assert await waits == [0, 1, 2]
        assert children() == {process}
    finally:
        await jq.stop()


async def test_what_needs_no_process_starts_none() -> None:
    jq = Jq(processes=1, seconds=1, megabytes=64, most_output=1000)
    assert await jq.evaluate(program(".a + $x"), {"a": 1}, {"x": 2}) == 3
    assert jq.evaluate_now(program(".a"), {"a": 1}, {}) == 1
    with pytest.raises(NeedsJq):
        jq.evaluate_now(program("now"), None, {})
    assert children() == set()


@pytest.mark.parametrize(
    ("text", "dot", "message"),
    [
        (".a.b", {"a": 5}, 'Cannot index number with string ("b")'),
        ('error("no such order")', None, "no such order"),
        ('"x" * 1000 | error', None, "x" * 299 + "…"),
        ("$unknown", None, "not a jq expression: $unknown is not defined at <top-level>, line 1, column 1"),
        ("nonsense", None, "not a jq expression: nonsense/0 is not defined at <top-level>, line 1, column 1"),
        (".a +", None, "not a jq expression: it ends too early"),
        ("env", None, "env is not available here"),
        ("def f: 1;", None, "not a jq expression: it ends too early"),
    ],
)
async def test_a_failure_says_what_jq_says(jq: Jq, text: str, dot: Any, message: str) -> None:
    with pytest.raises(ExpressionFailed) as caught:
        await jq.evaluate(program(text), dot, {"input": 1})
    assert caught.value.message == str(caught.value) == message


async def test_input_that_is_too_large_or_no_json_is_refused(jq: Jq) -> None:
    with pytest.raises(ExpressionFailed, match="more than 8 MiB"):
        await jq.evaluate(program("now"), "x" * (8 * 1024 * 1024), {})
    with pytest.raises(ExpressionFailed, match="cannot be written as JSON"):
        await jq.evaluate(program("now"), {"a": object()}, {})
    assert await jq.evaluate(only_jq("length"), "x" * 4_000_000, {}) == 4_000_000


async def test_checking_compiles_in_a_process(jq: Jq) -> None:
    await jq.require("$context.a + reduce .[] as $x (0; . + $x)", ["context", "input"])
    for text, reason in {
        "$other": r"\$other is not defined .*column 1",
        "{a: nonsense}": "nonsense/0 is not defined .*column 5",
        "env": "env is not available",
        "(": "not closed",
        ".a) | (.b": "never opened",
    }.items():
        with pytest.raises(NotAnExpression, match=reason):
            await jq.require(text, ["context", "input"])


async def test_many_at_once_each_get_their_own_answer(jq: Jq) -> None:
    given = await asyncio.gather(*(jq.evaluate(program(FAST_ENOUGH), [n, n], {}) for n in range(300)))
    assert given == [2 * n for n in range(300)]
    assert len(children()) <= 2


async def test_a_process_that_dies_idle_is_replaced_unnoticed(jq: Jq) -> None:
    assert await jq.evaluate(program(FAST_ENOUGH), [1], {}) == 1
    for pid in (dead := children()):
        os.kill(pid, signal.SIGKILL)
    assert await jq.evaluate(program(FAST_ENOUGH), [1], {}) == 1
    await until(lambda: children() and not children() & dead)


async def test_what_ran_in_a_process_that_was_killed_is_run_once_more(jq: Jq) -> None:
    await jq.evaluate(program("now"), None, {})
    busy = asyncio.create_task(jq.evaluate(program("last(range(1000000))"), None, {}))
    (pid,) = children()
    began = _processor_time(pid)
    await until(lambda: busy.done() or _processor_time(pid) > began + 0.05)
    os.kill(pid, signal.SIGKILL)
    assert await busy == 999_999


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_a_given_up_evaluation_answers_nobody_else(jq: Jq) -> None:
    for n in range(4):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await jq.evaluate(program("last(range(1e18))"), None, {})
        assert await jq.evaluate(program(FAST_ENOUGH), [n], {}) == n


async def test_many_uses_of_one_program_do_not_keep_others_out() -> None:
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=1000)
    await jq.start()
    try:
        crowd = [asyncio.create_task(jq.evaluate(program("last(range(20000))"), None, {})) for _ in range(60)]
        await crowd[0]
        assert await jq.evaluate(program(FAST_ENOUGH), [1], {}) == 1
        assert sum(task.done() for task in crowd) < 10
    finally:
        for task in crowd:
            task.cancel()
        await jq.stop()


async def test_many_programs_of_one_project_do_not_keep_others_out() -> None:
    jq = Jq(processes=1, seconds=60, megabytes=64, most_output=1000)
    await jq.start()

    async def evaluate(project: str, text: str, dot: Any = None) -> Any:
        on_behalf_of.set(project)
        return await jq.evaluate(program(text), dot, {})

    try:
        crowd = [asyncio.create_task(evaluate("theirs", f"last(range({20_000 + n}))")) for n in range(60)]
        await crowd[0]
        assert await asyncio.create_task(evaluate("ours", FAST_ENOUGH, [1])) == 1
        assert sum(task.done() for task in crowd) < 10
    finally:
        for task in crowd:
            task.cancel()
        await jq.stop()


async def test_nothing_is_left_after_a_stop() -> None:
    jq = Jq(processes=2, seconds=30, megabytes=64, most_output=1000)
    await jq.start()
    asked = [asyncio.create_task(jq.evaluate(program("last(range(1e18))"), None, {})) for _ in range(4)]
    await until(lambda: len(children()) == 2)
    await jq.stop()
    for task in asked:
        with pytest.raises(ExpressionFailed):
            await task
    await until(lambda: not children())
    with pytest.raises(ExpressionFailed, match="stops"):
        await jq.evaluate(program("now"), None, {})


async def test_no_process_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    jq = Jq(processes=2, seconds=60, megabytes=64, most_output=1000)
    await jq.start()
    for _ in range(2):
        with pytest.raises(ExpressionFailed, match="no process could be started"):
            await jq.evaluate(program("now"), None, {})
    monkeypatch.undo()
    assert await jq.evaluate(program(FAST_ENOUGH), [1], {}) == 1
    await jq.stop()


ENDLESS = """
import asyncio
from penstock.dsl.expressions import program
from penstock.engine.jq import Jq

async def main():
    jq = Jq(processes=1, seconds=600, megabytes=64, most_output=1000)
    await jq.start()
    await jq.evaluate(program("now"), None, {})
    print(next(iter(jq._processes._idle))._process.pid, flush=True)
    await jq.evaluate(program("last(range(1e18))"), None, {})

asyncio.run(main())
"""


async def test_processes_end_with_a_server_that_is_killed() -> None:
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", ENDLESS, stdout=asyncio.subprocess.PIPE)
    assert server.stdout is not None
    pid = int(await server.stdout.readline())
    await until(lambda: _processor_time(pid) > 0.2)
    server.kill()
    await server.wait()
    await until(lambda: not _is_worker(pid))
