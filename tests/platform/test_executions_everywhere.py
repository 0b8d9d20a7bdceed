"""Executions of many workflows in one list, and who started each."""

from typing import Any

import httpx
import pytest

from penstock.platform.executions import lists
from tests.conftest import Serve
from tests.platform.people import Person
from tests.platform.records import add_execution, database_of
from tests.platform.scene import Scene, id_of, set_up

pytestmark = pytest.mark.anyio
VALID_TRIGGER = {"trigger_data": {"n": 1}}


async def listed(person: Person, **query: Any) -> Any:
    answer = await person.get("/executions", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(page: Any) -> list[str]:
    return [one["id"] for one in page["items"]]


async def ran(person: Person, workflow: Any) -> Any:
    return await person.made(f"/workflows/{workflow['id']}/trigger", VALID_TRIGGER)


async def two_projects(client: httpx.AsyncClient) -> tuple[Scene, Any, list[Any], list[Any]]:
    """Two workflows here, one in another project of the company, and an execution of each, twice."""
    scene = await set_up(client)
    other = await scene.owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
    workflows = [await scene.workflow(name) for name in ("Greet", "Part")]
    workflows.append(await scene.owner.made(f"/projects/{other['id']}/workflows", {"name": "Elsewhere"}))
    executions = [await ran(scene.owner, workflow) for _ in range(2) for workflow in workflows]
    return scene, other, workflows, executions


@pytest.fixture(params=["of each workflow", "among the newest of all"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are gathered from their workflows; many are sought among all."""
    if request.param == "among the newest of all":
        monkeypatch.setattr(lists, "_FEW", -1)


@pytest.mark.usefixtures("either_way")
async def test_all_that_one_sees_are_listed_newest_first_with_where_they_stand(serve: Serve) -> None:
    async with serve() as client:
        scene, other, (greet, part, elsewhere), executions = await two_projects(client)
        newest = [one["id"] for one in reversed(executions)]
        page = await listed(scene.owner)
        assert (ids(page), page["total"], page["page"], page["page_size"]) == (newest, 6, 1, 50)
        one = page["items"][0]
        own = (await scene.owner.get(f"/executions/{one['id']}")).json()
        assert {name: one[name] for name in own} == own
        assert one["workflow"] == {
            "id": elsewhere["id"], "name": "Elsewhere", "project_id": other["id"], "project_name": "Other",
        }  # fmt: skip
        assert one["triggered_by"]["email"] == scene.owner.email
        second = await listed(scene.owner, page=2, page_size=4)
        assert (ids(second), second["total"]) == (newest[4:], 6)
        here = await listed(scene.owner, project_id=scene.project["id"], page_size=3)
        assert (ids(here), here["total"]) == ([id_ for id_ in newest if id_ not in (newest[0], newest[3])][:3], 4)
        of_part = await listed(scene.owner, workflow_id=part["id"].upper())
        assert (ids(of_part), of_part["total"]) == ([newest[1], newest[4]], 2)
        assert {item["workflow"]["name"] for item in of_part["items"]} == {"Part"}
        assert (await listed(scene.owner, workflow_id=greet["id"], project_id=other["id"]))["total"] == 0


@pytest.mark.usefixtures("either_way")
async def test_filters_narrow_it_as_they_do_for_one_workflow(serve: Serve) -> None:
    async with serve() as client:
        scene, _, (greet, *_), executions = await two_projects(client)
        await scene.owner.post(f"/executions/{executions[0]['id']}/cancel")
        for place in ({}, {"project_id": scene.project["id"]}, {"workflow_id": greet["id"]}):
            cancelled = await listed(scene.owner, status="cancelled", **place)
            assert (ids(cancelled), cancelled["total"]) == ([executions[0]["id"]], 1)
            waiting = await listed(scene.owner, status="pending", since=executions[3]["created_at"], **place)
            assert waiting["total"] == len(waiting["items"]) == (1 if "workflow_id" in place else 3 - len(place))
            before = await listed(scene.owner, until=executions[1]["created_at"], **place)
            assert (ids(before), before["total"]) == ([executions[0]["id"]], 1)
            by_hand = await listed(scene.owner, trigger_type="manual", **place)
            assert by_hand["total"] == (await listed(scene.owner, **place))["total"] > 1
            assert await listed(scene.owner, trigger_type="event", **place) | {"items": []} == {
                "items": [], "total": 0, "page": 1, "page_size": 50,
            }  # fmt: skip
        own = (await scene.owner.get(f"/workflows/{greet['id']}/executions?trigger_type=manual")).json()
        assert own["total"] == 2


@pytest.mark.usefixtures("either_way")
async def test_nobody_finds_what_they_have_no_role_at(serve: Serve) -> None:
    async with serve() as client:
        scene, other, (greet, part, _), executions = await two_projects(client)
        stranger, viewer = await scene.joined("sid"), await scene.joined("vera", "viewer")
        for query in ({}, {"project_id": scene.project["id"]}, {"workflow_id": greet["id"]}, {"status": "pending"}):
            assert (await listed(stranger, **query))["total"] == 0
        assert (await listed(viewer))["total"] == 4
        assert (await listed(viewer, project_id=other["id"])) == {"items": [], "total": 0, "page": 1, "page_size": 50}
        permission = {"user_id": await id_of(stranger), "role": "viewer"}
        await scene.owner.made(f"/workflows/{part['id']}/permissions", permission)
        theirs = [executions[4]["id"], executions[1]["id"]]
        for query in ({}, {"project_id": scene.project["id"]}, {"workflow_id": part["id"]}):
            page = await listed(stranger, **query)
            assert (ids(page), page["total"]) == (theirs, 2)
        assert (await client.get("/api/v1/executions")).status_code == 401


async def test_who_sees_more_than_are_counted_is_told_so_many(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST_COUNTED", 4)
    async with serve() as client:
        scene, _, _, executions = await two_projects(client)
        first = await listed(scene.owner, page_size=2)
        assert (first["total"], ids(first)) == (4, [executions[5]["id"], executions[4]["id"]])
        last = await listed(scene.owner, page_size=2, page=3)
        assert (last["total"], ids(last)) == (6, [executions[1]["id"], executions[0]["id"]])
        assert (await listed(scene.owner, project_id=scene.project["id"], page_size=1))["total"] == 4


@pytest.mark.parametrize(
    "query",
    ["status=gone", "trigger_type=magic", "project_id=7", "workflow_id=x", "since=now", "page=0", "include=workflow"],
)
async def test_a_filter_that_is_not_valid_is_400(serve: Serve, query: str) -> None:
    async with serve() as client:
        scene = await set_up(client)
        assert (await scene.owner.get(f"/executions?{query}")).status_code == 400


async def test_an_execution_says_who_started_it_when_it_is_asked(serve: Serve) -> None:
    async with serve() as client:
        scene = await set_up(client)
        workflow, editor = await scene.workflow(), await scene.joined("eve", "editor")
        me = (await editor.get("/auth/me")).json()
        eve = {name: me[name] for name in ("id", "email", "display_name")}
        path = f"/workflows/{workflow['id']}"
        plain = await ran(editor, workflow)
        keyed = (
            await editor.request("POST", f"{path}/trigger", json=VALID_TRIGGER, headers={"Idempotency-Key": "k"})
        ).json()
        await scene.owner.post(f"/executions/{plain['id']}/cancel")
        again = await editor.made(f"/executions/{plain['id']}/rerun", {})
        for execution in (plain, keyed, again):
            assert "triggered_by" not in (await scene.owner.get(f"/executions/{execution['id']}")).json()
            asked = (await scene.owner.get(f"/executions/{execution['id']}?include=triggered_by")).json()
            assert asked["triggered_by"] == eve
        assert "triggered_by" not in (await scene.owner.get(f"{path}/executions")).json()["items"][0]
        items = (await scene.owner.get(f"{path}/executions?include=triggered_by")).json()["items"]
        assert [item["triggered_by"] for item in items] == [eve] * 3
        assert (await scene.owner.get(f"/executions/{plain['id']}?include=secrets")).status_code == 400


async def test_a_list_of_workflows_says_how_each_is_doing_when_it_is_asked(serve: Serve) -> None:
    # Some of these ended in 1970, and a server that has just started may come to look for such at any time.
    async with serve(execution_retention="0s") as client:
        scene, _, (greet, part, _), executions = await two_projects(client)
        await scene.owner.post(f"/executions/{executions[0]['id']}/cancel")
        database = database_of(client)
        for _ in range(12):
            await add_execution(database, part["id"], status="completed", started_at=1_000, completed_at=9_999_000)
        path = f"/projects/{scene.project['id']}/workflows"
        assert "runs" not in (await scene.owner.get(path)).json()["items"][0]
        for address in (f"{path}?include=runs", "/workflows?include=runs&q=e"):
            items = {one["id"]: one["runs"] for one in (await scene.owner.get(address)).json()["items"]}
            assert items[greet["id"]]["running"] == 1
            assert items[greet["id"]]["next_run_at"] is None
            last = items[greet["id"]]["last"]
            assert [(one["id"], one["status"]) for one in last] == [
                (executions[3]["id"], "pending"), (executions[0]["id"], "cancelled"),
            ]  # fmt: skip
            assert last[0] | {"id": ""} == {
                "id": "", "status": "pending", "created_at": executions[3]["created_at"], "duration_ms": None,
            }  # fmt: skip
        runs = {one["id"]: one["runs"] for one in (await scene.owner.get(f"{path}?include=runs")).json()["items"]}
        assert [(one["status"], one["duration_ms"]) for one in runs[part["id"]]["last"]] == [("completed", 9998)] * 12
        assert (await scene.owner.get(f"{path}?include=everything")).status_code == 400
