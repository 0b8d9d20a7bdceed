"""Triggers that come at once are written together, and each is answered for itself."""

import asyncio

import httpx
import pytest

from tests.platform.scenes import set_scene

pytestmark = pytest.mark.anyio


async def test_each_of_many_triggers_at_once_has_its_execution_and_its_line_in_the_audit_log(
    client: httpx.AsyncClient,
) -> None:
    scene = await set_scene(client)
    stopped = await scene.another_workflow("Stopped")
    for what in ("deploy", "stop"):
        assert (await scene.owner.post(f"/workflows/{stopped}/{what}")).status_code == 200
    paths = [scene.path if number % 4 else f"/workflows/{stopped}" for number in range(60)]
    answers = await asyncio.gather(
        *(scene.owner.post(f"{path}/trigger", {"trigger_data": number}) for number, path in enumerate(paths))
    )
    assert [answer.status_code for answer in answers] == [201 if path == scene.path else 409 for path in paths]
    started = {answer.json()["id"]: answer.json()["trigger_data"] for answer in answers if answer.status_code == 201}
    assert sorted(started.values()) == [number for number in range(60) if number % 4]
    listed = (await scene.owner.get(f"{scene.path}/executions?page_size=100")).json()
    assert {item["id"]: item["trigger_data"] for item in listed["items"]} == started
    assert listed["total"] == 45
    log = (await scene.owner.get(f"/companies/{scene.company_id}/audit?action=execution.trigger&page_size=100")).json()
    assert {entry["resource_id"] for entry in log["items"]} == set(started)
    assert log["total"] == 45
