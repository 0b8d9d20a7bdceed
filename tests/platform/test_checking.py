"""Definitions on a server: what it lets them start, and what its answers say of them."""

import msgspec
import pytest

from penstock.dsl.check import checking
from penstock.dsl.expressions import NotAnExpression
from penstock.engine.jq import Jq
from penstock.platform.workflows import checking as own
from penstock.platform.workflows.checking import Checker
from tests.conftest import Serve
from tests.platform.scene import VALID, set_up

pytestmark = pytest.mark.anyio

SHELL = VALID + "  - list: {run: {shell: {command: ls}}}\n"
WARNED = VALID.replace("message: Hello\n", "message: Hello\n      then: end\n") + "  - never: {set: {x: 1}}\n"


async def test_a_process_is_refused_unless_the_setting_allows_it(serve: Serve) -> None:
    async with serve() as client:
        scene = await set_up(client)
        workflow = await scene.workflow(config_yaml=SHELL)
        (error,) = workflow["validation"]["errors"]
        assert (error["code"], error["path"]) == ("process-refused", "/do/1/list/run/shell")
        assert list(error) == ["path", "message", "code", "line", "column"]
        path = f"/workflows/{workflow['id']}"
        for verb in ("deploy", "trigger"):
            answer = await scene.owner.post(f"{path}/{verb}", {})
            assert (answer.status_code, answer.json()["errors"]) == (422, [error])
        # The setting of today counts, not that of the day when it was written.
        scene.set_parts(msgspec.structs.replace(scene.parts, checker=Checker(frozenset({"shell"}))))
        assert (await scene.owner.post(f"{path}/trigger", {})).status_code == 201
        assert (await scene.owner.post(f"{path}/deploy")).status_code == 200


async def test_what_the_setting_allows_is_valid(serve: Serve) -> None:
    async with serve(processes=["shell"]) as client:
        scene = await set_up(client)
        assert (await scene.workflow(config_yaml=SHELL))["validation"] == {"valid": True, "errors": []}


async def test_where_there_are_processes_for_expressions_they_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("compiled in the server's own process")

    monkeypatch.setattr(checking, "require_expression", never)
    monkeypatch.setattr(own, "require_expression", never)
    jq = Jq(processes=1, seconds=10, megabytes=256, most_output=1024)
    await jq.start()
    try:
        checker = Checker(frozenset(), jq)
        fine, broken = (VALID.replace("Hello", f"'${{ def f: {inner}; f }}'") for inner in (".a", "$nothing"))
        assert await checker.findings(fine) == []
        assert [finding.code for finding in await checker.findings(broken)] == ["variable-unknown"]
        await checker.require(".a | length")
        with pytest.raises(NotAnExpression):
            await checker.require(".a |")
    finally:
        await jq.stop()


async def test_a_warning_makes_nothing_invalid(serve: Serve) -> None:
    async with serve() as client:
        scene = await set_up(client)
        assert [one.code for one in await scene.parts.checker.findings(WARNED)] == ["unreachable"]
        workflow = await scene.workflow(config_yaml=WARNED)
        assert workflow["validation"] == {"valid": True, "errors": []}
        assert (await scene.owner.post(f"/workflows/{workflow['id']}/deploy")).status_code == 200
