"""Shell commands; and what is promised of every process, shown with them."""

import asyncio
import contextlib
import os
import resource
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from penstock.engine.behalf import on_behalf_of
from penstock.engine.tasks.processes import shell
from tests.engine.tasks.running import Log, fault_of, gone, kind, work_of

pytestmark = pytest.mark.anyio

# A child, one that left for a session of its own, and the shell itself.
FAMILY = "sleep 600 & a=$!; setsid sleep 601 & echo pids $a $! $$; wait"


async def output(command: str, work: Any = None, **arguments: Any) -> Any:
    return (await shell.perform({"command": command, **arguments}, work or work_of(Log()))).output


async def test_a_command_has_its_input_and_its_arguments() -> None:
    command = 'input=$(cat)\necho "STDIN was: $input"\necho "ARGS are $1 $2"'
    said = await output(command, stdin="Hello World", arguments=["Foo", "Bar"])
    assert said == "STDIN was: Hello World\nARGS are Foo Bar"


async def test_an_argument_is_never_read_as_a_command() -> None:
    hostile = "$(id); `id` 'x' \"y\" && id"
    assert await output('printf %s "$1"', arguments=[hostile]) == hostile


async def test_values_that_are_no_texts_are_given_as_json() -> None:
    given = {"stdin": {"a": [1, None]}, "arguments": [7, True, {"b": 2}, ""], "environment": {"N": 1.5}}
    assert await output('cat; echo "|$#|$1|$2|$3|$4|$N"', **given) == '{"a":[1,null]}|4|7|true|{"b":2}||1.5'


async def test_one_newline_at_the_end_is_not_part_of_the_output() -> None:
    assert await output(r"printf 'a\n\n'") == "a\n"
    assert await output(r"""printf '{"a": 1}\r\n' """) == '{"a": 1}'
    assert await output("printf a") == "a"


async def test_nothing_of_the_servers_environment_reaches_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_KEY", "0123456789")
    lines = (await output("env", environment={"MINE": "yes"})).splitlines()
    found = dict(line.split("=", 1) for line in lines)
    assert found.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "HOME", "TMPDIR", "LANG", "MINE"}
    assert found["PWD"] == found["HOME"] == found["TMPDIR"]


async def test_the_working_directory_is_its_own_and_removed() -> None:
    first, second = await output("touch x; pwd"), await output("ls | wc -l; pwd")
    assert second.split() == ["0", second.split()[1]]
    assert not Path(first).exists()
    assert not Path(second.split()[1]).exists()


async def test_a_process_inherits_nothing_and_gives_way_to_the_server(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        said = await output("ls /proc/self/fd | wc -l; ulimit -c; cut -d' ' -f19 /proc/self/stat")
    # 0, 1, 2 and the directory that is read; the tests themselves may have been told to give way
    assert said.split() == ["4", "0", str(min(os.nice(0) + 5, 19))]


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("stdout", "out"),
        ("stderr", "err"),
        ("code", 0),
        ("all", {"code": 0, "stdout": "out", "stderr": "err"}),
        ("none", None),
    ],
)
async def test_a_task_gives_what_its_return_says(wanted: str, given: Any) -> None:
    assert await output("echo out; echo err >&2", **{"return": wanted}) == given


@pytest.mark.parametrize("wanted", ["stdout", "stderr", "none"])
async def test_an_exit_code_is_a_fault_when_it_is_not_asked_for(wanted: str) -> None:
    error = await fault_of(output("echo first >&2; echo last >&2; exit 3", **{"return": wanted}))
    assert (kind(error), error.status) == ("runtime", 500)
    assert (error.title, error.detail) == ("Shell command exited with code 3", "first\nlast")


async def test_an_exit_code_is_output_when_it_is_asked_for() -> None:
    assert await output("exit 3", **{"return": "code"}) == 3
    assert await output("echo x; kill -9 $$", **{"return": "all"}) == {"code": 137, "stdout": "x", "stderr": ""}


async def test_a_fault_shows_the_last_lines_with_secrets_masked() -> None:
    work = work_of(Log(), secrets={"token": "tell-nobody"})
    error = await fault_of(output("seq 1 5000 >&2; echo tell-nobody >&2; exit 1", work))
    assert error.detail is not None
    assert error.detail.splitlines()[-2:] == ["5000", "********"]
    assert len(error.detail) < 2_000


async def test_a_server_starts_only_what_its_setting_names() -> None:
    error = await fault_of(output("true", work_of(Log(), processes=frozenset({"script"}))))
    assert kind(error) == "configuration"
    assert "`processes`" in (error.detail or "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": None},
        {"command": "true", "arguments": {"a": 1}},
        {"command": "true", "arguments": ["a\0b"]},
        {"command": "true", "environment": {"A=B": "1"}},
        {"command": "true", "return": "everything"},
    ],
)
async def test_what_no_process_can_be_given_is_a_fault_before_it_starts(wrong: dict[str, Any]) -> None:
    log = Log()
    assert kind(await fault_of(shell.perform(wrong, work_of(log)))) == "validation"


async def test_too_long_arguments_are_told() -> None:
    error = await fault_of(output("true", arguments=["x" * 1_000_000]))
    assert (error.title, error.detail) == ("sh could not be started", "its arguments and environment are too long")


async def test_endless_output_ends_the_process() -> None:
    log = Log()
    error = await fault_of(output("echo pid $$; yes", work_of(log, answer_bytes=100_000)))
    assert (error.title, "100,000 bytes" in (error.detail or "")) == ("Too much output", True)
    assert gone(int(log[0][1].split()[1]))


async def test_input_that_nobody_reads_and_output_both_large_do_not_wait_for_each_other() -> None:
    assert len(await output("head -c 3000000 /dev/zero | tr '\\0' x", stdin="y" * 3_000_000)) == 3_000_000


async def test_each_line_is_logged_while_the_process_runs() -> None:
    log = Log()
    running = asyncio.create_task(output("echo out; echo err >&2; sleep 600", work_of(log)))
    await log.until("out")
    await log.until("err")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(log) == [("info", "out"), ("warn", "err")]


async def test_a_log_holds_a_bounded_number_of_bounded_lines_without_secrets() -> None:
    log = Log()
    work = work_of(log, secrets={"token": "tell-nobody"})
    await output("echo tell-nobody; printf 'a\\000b\\n'; seq -s , 1 9999; seq 1 5000; printf end", work)
    assert log[:2] == [("info", "********"), ("info", "a\ufffdb")]
    assert len(log[2][1]) == 2_002
    assert len(log) == 1_001
    assert "more than 1,000 lines" in log[-1][1]


async def test_a_cancelled_command_ends_with_all_that_came_of_it() -> None:
    log = Log()
    running = asyncio.create_task(output(f"pwd; {FAMILY}", work_of(log)))
    pids = (await log.until("pids")).split()[1:]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [gone(int(pid)) for pid in pids] == [True, True, True]
    assert not Path(log[0][1]).exists()


async def test_a_command_that_does_not_hear_is_killed() -> None:
    log = Log()
    running = asyncio.create_task(output("trap '' TERM; echo pid $$; while :; do sleep 600; done", work_of(log)))
    pid = int((await log.until("pid")).split()[1])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(pid)


async def test_what_a_command_leaves_behind_ends_with_it() -> None:
    said = await output("sleep 600 & a=$!; setsid sleep 601 & echo $a $!")
    assert [gone(int(pid)) for pid in said.split()] == [True, True]


async def test_nobody_waits_when_await_is_false() -> None:
    log = Log()
    assert await output("read line; echo got $line; exit 4", work_of(log), stdin="x\n", **{"await": False}) is None
    assert await log.until("exited with code") == "Shell command, which nobody waited for, exited with code 4"
    assert ("info", "got x") in log


async def test_what_nobody_waits_for_is_ended_when_its_time_is_up() -> None:
    log = Log()
    await output("echo pid $$; sleep 600", work_of(log, seconds=1), **{"await": False})
    await log.until("ran longer than 1 s")
    began = [message for _, message in log if message.startswith("pid ")]  # not on a machine that is too slow
    assert all(gone(int(each.split()[1])) for each in began)


SERVER = f"""
import asyncio
from penstock.engine.behalf import on_behalf_of
from penstock.engine.tasks.processes import shell
from tests.engine.tasks.running import work_of

def says(level, message, **fields):
    print(message, flush=True)

command = "cut -d' ' -f4 /proc/$$/stat; pwd; " + {FAMILY!r}
asyncio.run(shell.perform({{"command": command}}, work_of(says)))
"""


@contextlib.contextmanager
def server() -> Iterator[tuple["subprocess.Popen[str]", int, Path, list[int]]]:
    """One that runs a command: itself, the keeper, the working directory and the pids."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        keeper, folder, pids = (process.stdout.readline().strip() for _ in range(3))
        family = [int(pid) for pid in pids.split()[1:]]
        assert not any(gone(pid, 0) for pid in family)
        try:
            yield process, int(keeper), Path(folder), family
        finally:
            for pid in (process.pid, *family):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_no_process_outlives_a_server_that_was_killed() -> None:
    with server() as (process, keeper, folder, family):
        os.kill(process.pid, signal.SIGKILL)
        assert [gone(pid) for pid in family] == [True, True, True]
        assert gone(keeper)
        assert not folder.exists()


def test_a_process_whose_keeper_was_killed_ends_and_faults() -> None:
    with server() as (process, keeper, folder, family):
        os.kill(keeper, signal.SIGKILL)
        assert gone(family[-1])
        assert process.stderr is not None
        assert "Process lost" in process.stderr.read()
        assert not folder.exists()


def test_the_loop_of_a_server_runs_them_too() -> None:
    assert uvloop.run(output("cat; echo $1", stdin="in ", arguments=["x"])) == "in x"


async def test_a_machine_that_has_no_more_of_something_is_told() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as file:
        resource.setrlimit(resource.RLIMIT_NOFILE, (file.fileno() + 2, before[1]))
        try:
            error = await fault_of(output("true"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (error.title, error.detail) == ("Process could not be started", "Too many open files")
    assert await output("echo again") == "again"


async def test_what_takes_more_memory_or_processor_time_than_it_may_is_ended() -> None:
    hungry = "import sys\nx = bytearray(300 * 1024 * 1024)\nprint(len(x))"
    script_of = {"command": f"{shlex.quote(sys.executable)} -c {shlex.quote(hungry)}"}
    assert (await shell.perform(script_of, work_of(Log()))).output == str(300 * 1024 * 1024)
    error = await fault_of(shell.perform(script_of, work_of(Log(), process_memory=100 * 1024 * 1024)))
    assert "MemoryError" in error.message
    endless = {"command": "while true; do :; done", "return": "code"}
    assert (await shell.perform(endless, work_of(Log(), process_cpu=1))).output == 128 + signal.SIGXCPU


async def test_no_more_of_them_run_at_once_than_may_and_one_project_has_half(tmp_path: Path) -> None:
    # Each stays until four have begun, and a moment longer, in which a fifth would begin if it might.
    log = tmp_path / "log"
    command = (
        f'echo "+$1" >> {log}; while [ $(grep -c + {log}) -lt 4 ]; do sleep 0.01; done; sleep 0.2; echo "-$1" >> {log}'
    )

    async def run(project: str) -> None:
        on_behalf_of.set(project)
        await output(command, work_of(Log(), processes_at_once=4), arguments=[project])

    async with asyncio.timeout(240):
        await asyncio.gather(*(run(project) for project in ("one",) * 4 + ("other",) * 4))
    now, most = Counter[str](), Counter[str]()
    for line in log.read_text().split():
        now[line[1:]] += 1 if line[0] == "+" else -1
        most |= now | Counter(all=now.total())
    assert most == {"one": 2, "other": 2, "all": 4}
