"""What a task gives of the process that it ran, by its `return` and `await`.

`stdout`, `stderr`: the text, without one newline at its end; JSON stays text (`fromjson` reads it). With these and
`none` an exit code other than 0 faults the task; with `code` and `all` it is part of the output.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from penstock.engine.faults import Fault, runtime, validation
from penstock.engine.tasks.processes.command import Command
from penstock.engine.tasks.processes.process import Ended, run
from penstock.engine.tasks.work import LogLevel, Performed, Work

_RETURNS = frozenset({"stdout", "stderr", "code", "all", "none"})
_LAST_LINES = 20
_LONGEST_DETAIL = 1_500
_background: set[asyncio.Task[None]] = set()


async def perform_command(what: str, command: Command, arguments: Mapping[str, Any], work: Work) -> Performed:
    """`what` names it in messages."""
    wanted = returned(arguments)
    if not awaited(arguments):
        in_background(what, run(command, work), work)
        return Performed(None)
    return Performed(output_of(what, await run(command, work), wanted, work))


def returned(arguments: Mapping[str, Any]) -> str:
    wanted = arguments.get("return", "stdout")
    if wanted not in _RETURNS:
        raise validation("Not a return of a process", f"return is one of {', '.join(sorted(_RETURNS))}")
    return str(wanted)


def awaited(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("await", True) is not False


def output_of(what: str, ended: Ended, wanted: str, work: Work) -> Any:
    match wanted:
        case "code":
            return ended.code
        case "all":
            return {"code": ended.code, "stdout": ended.stdout, "stderr": ended.stderr}
    if ended.code != 0:
        raise exited(what, ended, work)
    match wanted:
        case "stderr":
            return ended.stderr
        case "stdout":
            return ended.stdout if ended.result is None else _value(what, ended.result)
        case _:
            return None


def exited(what: str, ended: Ended, work: Work) -> Fault:
    return runtime(f"{what} exited with code {ended.code}", tail(ended.stderr or ended.stdout, work))


def tail(text: str, work: Work) -> str:
    """Its last lines. Masked before it is cut: half a secret would not be found."""
    lines = work.secrets.mask_text(text).splitlines()[-_LAST_LINES:]
    return "\n".join(lines)[-_LONGEST_DETAIL:] or "it printed nothing"


def _value(what: str, result: bytes) -> Any:
    try:
        return msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise runtime(f"{what} returned no JSON", "what it returns must be data that JSON can say") from None


def in_background(what: str, running: Coroutine[Any, Any, Ended], work: Work) -> None:
    """Nobody waits for it, so nobody can cancel it: the limit of a call's time does, and the server's end."""
    task = asyncio.get_running_loop().create_task(_watched(what, running, work))
    _background.add(task)
    task.add_done_callback(_background.discard)


async def _watched(what: str, running: Coroutine[Any, Any, Ended], work: Work) -> None:
    seconds = work.tools.limits.seconds
    try:
        async with asyncio.timeout(seconds):
            ended = await running
    except TimeoutError:
        work.says("error", f"{what}, which nobody waits for, ran longer than {seconds:g} s and was ended")
    except Fault as fault:
        work.says("error", f"{what}, which nobody waits for, failed: {fault.error.message}")
    else:
        level: LogLevel = "info" if ended.code == 0 else "error"
        work.says(level, f"{what}, which nobody waited for, exited with code {ended.code}", code=ended.code)
