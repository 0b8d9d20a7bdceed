"""Runs a Python script as the body of a function: `function.py CODE ARGUMENTS RESULT`. It is a program of its own."""

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any


def function_of(code: str, names: list[str]) -> Any:
    """Lines keep their numbers: the body is moved as a tree, not as text."""
    parameters = [ast.arg(name) for name in names]
    header: Any = ast.parse("def script(): pass").body[0]
    header.args = ast.arguments(
        posonlyargs=[], args=[], kwonlyargs=parameters, kw_defaults=[None for _ in names], defaults=[]
    )
    header.body = ast.parse(code, "script").body or [ast.Pass()]
    module = ast.fix_missing_locations(ast.Module([header], []))
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(module, "script", "exec"), scope)  # noqa: S102 - a workflow's own code, in a process of its own
    return scope["script"]


def main() -> None:
    code, arguments, result = map(Path, sys.argv[1:])
    sys.path[0] = str(Path.cwd())
    named = json.loads(arguments.read_text("utf-8"))
    value = function_of(code.read_text("utf-8"), list(named))(**named)
    if value is not None:
        written = result.with_suffix(".part")
        written.write_text(json.dumps(value, allow_nan=False), "utf-8")
        os.replace(written, result)  # noqa: PTH105 - one step: half a result is none


if __name__ == "__main__":
    main()
