"""What a person jumps to by typing a part of it, and steps by the thousand."""

from typing import Any

import pytest

from penstock.ids import uuid7
from tests.conftest import Serve
from tests.platform.people import Person
from tests.platform.records import add, add_execution, database_of
from tests.platform.scene import id_of, set_up

pytestmark = pytest.mark.anyio


async def found(person: Person, q: str) -> Any:
    answer = await person.get("/search", params={"q": q})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_workflows_are_found_by_their_texts_and_executions_by_how_their_id_begins(serve: Serve) -> None:
    async with serve() as client:
        scene, database = await set_up(client), database_of(client)
        workflow = await scene.workflow("Order Saga", description="50% off")
        await scene.workflow("Nightly")
        ours, stranger = await scene.joined("vera", "viewer"), await scene.joined("sid")
        execution = await add_execution(database, workflow["id"])
        for q in ("saga", "ORDER", "50%"):
            (one,) = (await found(ours, q))["workflows"]
            assert (one["id"], one["name"], one["project_name"]) == (workflow["id"], "Order Saga", "Shop")
        assert (await found(ours, "_"))["workflows"] == []
        for q in (execution, execution.upper(), execution[:8], execution[:12], execution[:-1]):
            assert [one["id"] for one in (await found(ours, q))["executions"]] == [execution], q
        (one,) = (await found(ours, execution))["executions"]
        assert (one["workflow_id"], one["workflow_name"]) == (workflow["id"], "Order Saga")
        for q in (execution[:7], f"{execution[:8]}x", str(uuid7())):
            assert (await found(ours, q))["executions"] == []
        assert await found(stranger, execution) == {"workflows": [], "executions": []}
        assert await found(stranger, "saga") == {"workflows": [], "executions": []}
        for q in ("", " ", "x" * 201):
            assert (await ours.get("/search", params={"q": q})).status_code == 400


async def test_steps_are_read_on_from_where_one_stopped_and_without_their_data(serve: Serve) -> None:
    async with serve() as client:
        scene, database = await set_up(client), database_of(client)
        execution = await add_execution(database, (await scene.workflow())["id"])
        made = {"input_data": '{"x": 1}', "output_data": "2", "metadata": "{}", "status": "completed", "attempt": 1}
        for number in range(1, 6):
            await add(database, "steps", id=uuid7(), execution_id=execution, sequence_num=number, **made)
        path = f"/executions/{execution}/steps"
        numbers: list[int] = []
        after = 0
        while items := (await scene.owner.get(path, params={"after": after, "page_size": 2})).json()["items"]:
            numbers += [item["sequence_num"] for item in items]
            after = numbers[-1]
        assert numbers == [1, 2, 3, 4, 5]
        bare = (await scene.owner.get(path, params={"data": "false"})).json()
        assert bare["total"] == 5
        assert {(item["input_data"], item["output_data"]) for item in bare["items"]} == {(None, None)}
        whole = (await scene.owner.get(f"{path}/3")).json()
        assert (whole["sequence_num"], whole["input_data"], whole["output_data"]) == (3, {"x": 1}, 2)
        assert list(whole) == list(bare["items"][0])
        for none in ("6", "x", "9" * 30):
            assert (await scene.owner.get(f"{path}/{none}")).status_code == 404
        for wrong in ({"after": "x"}, {"after": "9" * 30}, {"data": "no"}):
            assert (await scene.owner.get(path, params=wrong)).status_code == 400


async def test_children_of_an_execution_are_listed_to_those_who_can_see_them(serve: Serve) -> None:
    async with serve() as client:
        scene, database = await set_up(client), database_of(client)
        parent_of, child_of = await scene.workflow("Parent"), await scene.workflow("Charge card")
        parent = await add_execution(database, parent_of["id"])
        children = [await add_execution(database, child_of["id"], parent_id=parent) for _ in range(3)]
        await add_execution(database, child_of["id"])
        path = f"/executions/{parent}/children"
        page = (await scene.owner.get(path, params={"page_size": 2})).json()
        assert (page["total"], [one["id"] for one in page["items"]]) == (3, children[:2])
        assert {one["workflow_name"] for one in page["items"]} == {"Charge card"}
        # Who may see the one workflow and not the other learns nothing of it.
        guest = await scene.joined("gus")
        made = await scene.owner.post(
            f"/workflows/{parent_of['id']}/permissions", json={"user_id": await id_of(guest), "role": "viewer"}
        )
        assert made.status_code == 201, made.text
        assert (await guest.get(path)).json()["items"] == []
        assert (await guest.get(f"/executions/{children[0]}/children")).status_code == 403
