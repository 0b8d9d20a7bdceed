"""What an execution's log says, at which level, and by whom."""

import pytest

from tests.conftest import Serve
from tests.engine.embedded.shop import shop

pytestmark = pytest.mark.anyio
_TASKS = """
do:
  - first: {set: {x: 1}}
  - never: {if: 'false', set: {x: 2}}
  - attempt:
      try: [{fail: {raise: {error: {type: https://x.example/oops, status: 500, title: Oops}}}}]
      catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 1}}}, do: [{mend: {set: {x: 3}}}]}
  - last: {raise: {error: {type: https://x.example/end, status: 500, title: The end}}}
"""


async def test_a_log_has_the_levels_and_modules_that_the_contract_names(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("logging", _TASKS)
        await here.run(workflow)
        said = [(each["level"], each["module_name"], each["message"]) for each in await here.logs(workflow)]
        assert said[0] == ("info", "engine", "execution started")
        assert ("debug", "engine", "first completed") in said
        assert ("debug", "engine", "never skipped") in said
        assert [message for level, _, message in said if level == "warn"] == [
            "attempt: attempt 2 in 0.001 s, after Oops"
        ]
        assert [message for level, _, message in said if level == "error"] == [
            *["fail failed: Oops"] * 2,
            "last failed: The end",
            "execution failed: The end",
        ]


async def test_a_setting_says_from_which_level_logs_are_kept(serve: Serve) -> None:
    async with shop(serve, execution_log_level="error") as here:
        workflow = await here.workflow("logging", _TASKS)
        target = await here.workflow("target", _TASKS, deploy=True)
        await here.owner.made(f"/workflows/{workflow}/links", {"target_workflow_id": target, "link_type": "failed"})
        await here.post(f"/workflows/{target}/stop")
        await here.run(workflow)
        assert {each["level"] for each in await here.logs(workflow)} == {"error"}
