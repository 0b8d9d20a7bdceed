"""Links: what an execution starts when it ends, and what it does not."""

from typing import Any

import pytest
from sqlalchemy import bindparam, update

from penstock.engine.embedded.links import Followers, Links
from penstock.storage import Statement
from penstock.storage.schema import accounts
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import shop
from tests.platform.people import Person

pytestmark = pytest.mark.anyio
_DEACTIVATE = Statement(update(accounts).where(accounts.c.email == bindparam("email")).values(active=False))
_KEEP = "do: [{keep: {set: '${ {got: .} }'}}]"


async def _link(person: Person, source: str, target: str, kind: str = "completed", given: str | None = None) -> None:
    config = {} if given is None else {"input": given}
    body = {"target_workflow_id": target, "link_type": kind, "config": config}
    await person.made(f"/workflows/{source}/links", body)


async def test_each_type_follows_its_own_ends_and_is_given_what_the_source_put_out(serve: Serve) -> None:
    async with shop(serve) as here:
        company = here.scene.company["id"]
        elsewhere = (await here.owner.made(f"/organizations/{company}/projects", {"name": "Other"}))["id"]
        good = await here.workflow("good", "do: [{say: {set: {n: 2}}}]", deploy=True)
        bad = await here.workflow("bad", "do: [{a: {raise: {error: {type: https://x.example/oops, status: 418}}}}]")
        slow = await here.workflow("slow", "do: [{nap: {wait: {hours: 1}}}]")
        completed = await here.workflow("completed", _KEEP, deploy=True)
        failed = await here.workflow("failed", _KEEP, project=elsewhere)  # a draft, in another project
        finished = await here.workflow("finished", _KEEP)
        for source in (good, bad, slow):
            await _link(here.owner, source, completed, given="{twice: (.n * 2)}")
            await _link(here.owner, source, failed, "failed")
            await _link(here.owner, source, finished, "finished")
            await _link(here.owner, source, finished, "dependency")
        first, second = await here.run(good), await here.run(bad)
        third = await here.trigger(slow)
        await here.at(third, "nap")
        await here.post(f"/executions/{third}/cancel")
        assert [each["trigger_data"] for each in await here.started(completed)] == [{"twice": 4}]
        assert [each["trigger_data"]["status"] for each in await here.started(failed)] == [418]
        runs = await here.started(finished, 3)
        sources = [each["metadata"]["link"]["execution_id"] for each in runs]
        assert sources == [first["id"], second["id"], third]
        assert {each["trigger_type"] for each in runs} == {"link"}
        assert runs[2]["output_data"] == {"got": None}


async def test_what_may_not_be_started_is_skipped_and_the_log_says_why(serve: Serve) -> None:
    async with shop(serve) as here:
        source = await here.workflow("source", "do: [{say: {set: {n: 2}}}]")
        stopped = await here.workflow("stopped", _KEEP, deploy=True)
        lost = await here.workflow("lost", _KEEP)
        wrong = await here.workflow("wrong", _KEEP)
        orphan = await here.workflow("orphan", _KEEP)
        leaver = await here.scene.joined("lea", "editor")
        await _link(leaver, source, orphan)
        editor = await here.scene.joined("edda", "editor")
        await _link(editor, source, lost)
        await _link(here.owner, source, stopped)
        await _link(here.owner, source, wrong, given=".n.m")
        await here.post(f"/workflows/{stopped}/stop")
        await here.owner.post(f"/projects/{here.project}/members", {"email": editor.email, "role": "viewer"})
        async with here.scene.parts.database.transaction() as tx:
            await tx.run(_DEACTIVATE, email=leaver.email)
        done = await here.run(source)
        said = [each["message"] for each in await here.logs(source, level="warn", execution_id=done["id"])]
        assert len(said) == 4
        assert "may no longer start the target" in said[0]
        assert "may no longer start the target" in said[1]
        assert "in status stopped" in said[2]
        assert "config.input failed" in said[3]
        for each in (orphan, lost, stopped, wrong):
            assert await here.executions(each) == []


async def test_a_loop_of_links_ends_32_links_after_its_first_execution(serve: Serve) -> None:
    async with shop(serve) as here:
        loop = await here.workflow("loop", "do: [{say: {set: {n: 2}}}]")
        other = await here.workflow("other", "do: [{say: {set: {n: 3}}}]")
        await _link(here.owner, loop, other, "finished")
        await _link(here.owner, other, loop, "finished")
        await here.run(loop)

        async def ended() -> bool:
            return bool(await here.logs(loop, level="warn", q="a chain ends"))

        await came(ended)
        chains = [each["metadata"].get("chain", 0) for each in await here.started(loop, 17)]
        assert chains == list(range(0, 33, 2))


async def test_a_target_that_is_deleted_as_the_source_ends_takes_nobody_else_with_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(serve) as here:
        source = await here.workflow("source", "do: [{say: {set: {n: 2}}}]")
        gone, there = await here.workflow("gone", _KEEP), await here.workflow("there", _KEEP)
        await _link(here.owner, source, gone)
        await _link(here.owner, source, there)
        decided = Links.followers

        async def then_deleted(self: Links, *ends: Any) -> Followers:
            followers = await decided(self, *ends)
            if len(followers.executions) == 2:
                assert (await here.owner.delete(f"/workflows/{gone}")).status_code == 204
            return followers

        monkeypatch.setattr(Links, "followers", then_deleted)
        done = await here.run(source)
        assert (done["status"], done["output_data"]) == ("completed", {"n": 2})
        assert [each["trigger_data"] for each in await here.started(there)] == [{"n": 2}]
