"""Scripts in JavaScript and Python, as programs and as functions."""

from pathlib import Path
from typing import Any

import pytest

from penstock.engine.tasks.processes import script
from tests.engine.tasks.running import Log, fault_of, kind, work_of

pytestmark = pytest.mark.anyio


async def output(language: str, code: str, **arguments: Any) -> Any:
    return (await script.perform({"language": language, "code": code, **arguments}, work_of(Log()))).output


async def test_a_program_in_javascript_reads_input_arguments_and_environment() -> None:
    code = """// as in the specification
import { readFileSync } from 'node:fs';
const stdin = readFileSync(process.stdin.fd, 'utf8');
console.log('stdin > ', stdin)
const [_, __, arg] = process.argv;
console.log('arg > ', arg)
console.log('env > ', process.env.foo)
"""
    given: dict[str, Any] = {"stdin": "Hello Workflow", "arguments": ["hello"], "environment": {"foo": "bar"}}
    assert await output("javascript", code, **given) == "stdin >  Hello Workflow\narg >  hello\nenv >  bar"


async def test_a_program_in_javascript_may_require_and_await() -> None:
    code = "#!/usr/bin/env node\nconst os = require('os');\nconsole.log(JSON.stringify([await 1, os.EOL]))"
    assert await output("js", code) == '[1,"\\n"]'


async def test_a_program_in_python_reads_input_arguments_and_environment() -> None:
    code = "import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['foo'])"
    assert await output("python", code, stdin="in", arguments=["a", 1], environment={"foo": "ü"}) == "in ['a', '1'] ü"


async def test_a_custom_function_of_the_specification_gives_what_it_returns() -> None:
    code = """function validateEmail(email) {
  const re = /^[a-zA-Z0-9._-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,6}$/;
  return re.test(email);
}
console.log("looking");
return { isValid: validateEmail(emailAddress) };
"""
    assert await output("javascript", code, arguments={"emailAddress": "a@b.org"}) == {"isValid": True}
    assert await output("javascript", code, arguments={"emailAddress": "a"}) == {"isValid": False}


async def test_named_arguments_are_data_in_both_languages() -> None:
    given = {"rows": [{"n": 1}, {"n": 2}], "factor": 2.5, "none": None}
    python = (
        "def total(of):\n    return sum(r['n'] for r in of)\nif none is None:\n    return {'sum': total(rows) * factor}"
    )
    javascript = "const n = await Promise.all(rows.map(async (r) => r.n));\nreturn { sum: (n[0] + n[1]) * factor };"
    assert await output("python", python, arguments=given) == {"sum": 7.5}
    assert await output("js", javascript, arguments=given) == {"sum": 7.5}


@pytest.mark.parametrize(("language", "code"), [("python", "print('x')"), ("js", "console.log('x')")])
async def test_a_function_that_returns_nothing_gives_what_it_printed(language: str, code: str) -> None:
    assert await output(language, code, arguments={}) == "x"


async def test_a_function_that_returns_is_a_process_like_any_other() -> None:
    assert await output("js", "console.error(1); return 2", arguments={}, **{"return": "all"}) == {
        "code": 0,
        "stdout": "",
        "stderr": "1",
    }


@pytest.mark.parametrize(
    ("language", "code", "arguments", "said"),
    [
        ("python", "x = 1\nraise ValueError(x)", None, 'script.py", line 2'),
        ("python", "x = 1\nraise ValueError(x)", {}, 'File "script", line 2'),
        ("python", "return float('nan')", {}, "not JSON compliant"),
        ("js", "const x = 1\nthrow new Error('no')", None, "script.mjs:2"),
        ("js", "throw new Error('no')", {"from": 1}, "Error: no"),
    ],
)
async def test_a_fault_tells_where_the_script_failed(language: str, code: str, arguments: Any, said: str) -> None:
    error = await fault_of(output(language, code, arguments=arguments))
    assert (error.title, kind(error)) == ("Script exited with code 1", "runtime")
    assert said in (error.detail or "")


async def test_a_result_in_whose_place_stands_something_else_is_not_read() -> None:
    code = "import os\nos.symlink('/etc/passwd', 'result.json')\nprint('x')"
    assert await output("python", code, arguments={}) == "x"


@pytest.mark.parametrize("name", ["a b", "1a", "x){", "class", ""])
async def test_a_named_argument_must_be_a_variable(name: str) -> None:
    assert kind(await fault_of(output("python", "pass", arguments={name: 1}))) == "validation"


async def test_another_language_is_told() -> None:
    error = await fault_of(output("ruby", "puts 1"))
    assert (kind(error), "'ruby'" in (error.detail or "")) == ("configuration", True)


async def test_a_machine_without_node_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await fault_of(output("js", "1"))
    assert (kind(error), error.title) == ("configuration", "node is missing")
    assert "a JavaScript script needs the program node" in (error.detail or "")


async def test_a_server_starts_no_script_unless_told() -> None:
    arguments = {"language": "python", "code": "print(1)"}
    error = await fault_of(script.perform(arguments, work_of(Log(), processes=frozenset())))
    assert "'script' to the setting `processes`" in (error.detail or "")
