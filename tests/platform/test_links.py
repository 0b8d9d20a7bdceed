"""Links: what a workflow starts when it ends, and who may say so."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.platform.people import register
from tests.platform.scene import id_of, set_up

pytestmark = pytest.mark.anyio


async def test_a_link_is_made_listed_at_its_source_and_deleted(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    source, target = await scene.workflow("Source"), await scene.workflow("Target")
    path = f"/workflows/{source['id']}/links"
    body = {"target_workflow_id": target["id"].upper(), "link_type": "completed", "config": {"input": "{id: .order}"}}
    link = await scene.owner.made(path, body)
    assert list(link) == [
        "id", "source_workflow_id", "target_workflow_id", "link_type", "config", "created_by", "created_at",
    ]  # fmt: skip
    assert (link["source_workflow_id"], link["target_workflow_id"]) == (source["id"], target["id"])
    assert link["config"] == {"input": "{id: .order}"}
    assert link["created_by"] == await id_of(scene.owner)
    plain = await scene.owner.made(path, {"target_workflow_id": target["id"], "link_type": "failed"})
    assert plain["config"] == {}
    page = (await scene.owner.get(path)).json()
    assert (page["total"], page["items"]) == (2, [plain, link])
    assert (await scene.owner.get(f"/workflows/{target['id']}/links")).json()["total"] == 0
    assert (await scene.owner.delete(f"/workflows/{target['id']}/links/{link['id']}")).status_code == 404
    assert (await scene.owner.delete(f"{path}/{link['id']}")).status_code == 204
    assert (await scene.owner.delete(f"{path}/{link['id']}")).status_code == 404
    assert (await scene.owner.delete(f"{path}/nonsense")).status_code == 404


async def test_the_same_link_twice_is_409_however_close(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    source = await scene.workflow("Source")
    path, body = f"/workflows/{source['id']}/links", {"target_workflow_id": source["id"], "link_type": "finished"}
    answers = await asyncio.gather(*(scene.owner.post(path, body) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert (await scene.owner.post(path, body | {"config": {"input": "."}})).status_code == 409
    assert (await scene.owner.post(path, body | {"link_type": "failed"})).status_code == 201


@pytest.mark.parametrize("link_type", ["completed", "failed", "finished", "dependency"])
async def test_who_starts_a_workflow_by_a_link_must_be_editor_there_too(
    client: httpx.AsyncClient, link_type: str
) -> None:
    scene = await set_up(client)
    target = await scene.workflow("Target")
    editor = await register(client, "eddy")
    own = await editor.made("/companies", {"name": "Own"})
    project = await editor.made(f"/organizations/{own['id']}/projects", {"name": "Own"})
    source = await editor.made(f"/projects/{project['id']}/workflows", {"name": "Source"})
    path, body = f"/workflows/{source['id']}/links", {"target_workflow_id": target["id"], "link_type": link_type}
    assert (await editor.post(path, body)).status_code == 403
    permissions, me = f"/workflows/{target['id']}/permissions", await id_of(editor)
    await scene.owner.post(permissions, {"user_id": me, "role": "viewer"})
    # A dependency starts nothing: seeing the target is enough.
    assert (await editor.post(path, body)).status_code == (201 if link_type == "dependency" else 403)
    await scene.owner.post(permissions, {"user_id": me, "role": "editor"})
    assert (await editor.post(path, body)).status_code == (409 if link_type == "dependency" else 201)


async def test_viewers_see_links_and_only_editors_make_or_delete_them(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    source = await scene.workflow("Source")
    path, body = f"/workflows/{source['id']}/links", {"target_workflow_id": source["id"], "link_type": "failed"}
    link = await scene.owner.made(path, body)
    viewer, editor = await scene.joined("vera", "viewer"), await scene.joined("eddy", "editor")
    assert (await viewer.get(path)).status_code == 200
    assert (await viewer.post(path, body)).status_code == 403
    assert (await viewer.delete(f"{path}/{link['id']}")).status_code == 403
    assert (await editor.delete(f"{path}/{link['id']}")).status_code == 204
    assert (await editor.post(path, body)).status_code == 201


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"target_workflow_id": "0192d3a4-5b6c-7d8e-9f00-112233445566"}, 404),
        ({"target_workflow_id": "nonsense"}, 404),
        ({"target_workflow_id": None}, 400),
        ({"link_type": "sometimes"}, 400),
        ({"link_type": None}, 400),
        ({"config": {"output": "."}}, 400),
        ({"config": []}, 400),
        ({"config": {"input": 7}}, 400),
        ({"config": {"input": None}}, 400),
        ({"config": {"input": ""}}, 400),
        ({"config": {"input": ".a ["}}, 400),
        ({"config": {"input": "nothing_such"}}, 400),
        ({"config": {"input": "env"}}, 400),
        ({"config": {"input": "$ENV.PATH"}}, 400),
        ({"config": {"input": "input"}}, 400),
        ({"config": {"input": 'import "a" as a; .'}}, 400),
        ({"config": {"input": "\u0000"}}, 400),
        ({"config": {"input": "." + " " * 8192}}, 400),
        ({"created_by": "me"}, 400),
    ],
)
async def test_what_is_not_valid_is_refused(client: httpx.AsyncClient, change: dict[str, Any], status: int) -> None:
    scene = await set_up(client)
    source = await scene.workflow("Source")
    body = {"target_workflow_id": source["id"], "link_type": "completed"} | change
    answer = await scene.owner.post(f"/workflows/{source['id']}/links", body)
    assert answer.status_code == status, answer.text
    if isinstance(change.get("config"), dict) and isinstance(change["config"].get("input"), str):
        assert answer.json()["errors"][0]["path"] == "/config/input"


async def test_links_go_with_either_end(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    source, target = await scene.workflow("Source"), await scene.workflow("Target")
    path = f"/workflows/{source['id']}/links"
    await scene.owner.made(path, {"target_workflow_id": target["id"], "link_type": "finished"})
    assert (await scene.owner.delete(f"/workflows/{target['id']}")).status_code == 204
    assert (await scene.owner.get(path)).json()["total"] == 0
