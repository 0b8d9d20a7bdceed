"""Roles at one workflow: they count before all others, and nobody rises by them."""

import asyncio

import httpx
import pytest

from tests.platform.people import register
from tests.platform.scene import id_of, set_up

pytestmark = pytest.mark.anyio


async def test_giving_one_twice_changes_it_and_the_list_names_people(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/permissions"
    guest = await register(client, "guest")
    body = {"user_id": await id_of(guest), "role": "viewer"}
    made = await scene.owner.post(path, body)
    assert made.status_code == 201
    assert list(made.json()) == ["id", "workflow_id", "user_id", "role", "created_at", "updated_at"]
    changed = await scene.owner.post(path, body | {"role": "editor"})
    assert (changed.status_code, changed.json()["id"], changed.json()["role"]) == (200, made.json()["id"], "editor")
    page = (await guest.get(path)).json()
    assert page["total"] == 1
    assert page["items"][0]["user"] == {"id": await id_of(guest), "email": guest.email, "display_name": "Guest"}


async def test_somebody_is_named_by_id_or_by_email_and_not_by_both(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/permissions"
    guest = await register(client, "guest")
    made = await scene.owner.post(path, {"email": guest.email, "role": "viewer"})
    assert (made.status_code, made.json()["user_id"]) == (201, await id_of(guest))
    both = {"email": guest.email, "user_id": await id_of(guest), "role": "viewer"}
    assert (await scene.owner.post(path, both)).status_code == 400
    assert (await scene.owner.post(path, {"role": "viewer"})).status_code == 400
    assert (await scene.owner.post(path, {"email": "nobody@example.com", "role": "viewer"})).status_code == 404


async def test_it_counts_before_the_role_in_the_project_higher_or_lower(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    workflow = f"/workflows/{(await scene.workflow())['id']}"
    viewer, editor = await scene.joined("vera", "viewer"), await scene.joined("eddy", "editor")
    assert (await viewer.put(workflow, {"description": "x"})).status_code == 403
    await scene.owner.post(f"{workflow}/permissions", {"user_id": await id_of(viewer), "role": "editor"})
    await scene.owner.post(f"{workflow}/permissions", {"user_id": await id_of(editor), "role": "viewer"})
    assert (await viewer.put(workflow, {"description": "x"})).status_code == 200
    assert (await editor.put(workflow, {"description": "y"})).status_code == 403


async def test_nobody_grants_above_their_own_role_or_touches_who_is_above(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    workflow = f"/workflows/{(await scene.workflow())['id']}"
    path = f"{workflow}/permissions"
    admin, editor = await scene.joined("adam", "admin"), await scene.joined("eddy", "editor")
    friend = await register(client, "friend")
    me, them, boss = await id_of(admin), await id_of(friend), await id_of(scene.owner)
    assert (await editor.post(path, {"user_id": them, "role": "viewer"})).status_code == 403
    assert (await admin.post(path, {"user_id": them, "role": "owner"})).status_code == 403
    assert (await admin.post(path, {"user_id": me, "role": "owner"})).status_code == 403
    # A lower role that is more specific would take the owner's away.
    assert (await admin.post(path, {"user_id": boss, "role": "viewer"})).status_code == 403
    assert (await admin.post(path, {"user_id": them, "role": "admin"})).status_code == 201
    await scene.owner.post(path, {"user_id": them, "role": "owner"})
    assert (await admin.post(path, {"user_id": them, "role": "viewer"})).status_code == 403
    assert (await admin.delete(f"{path}/{them}")).status_code == 403
    assert (await friend.get(workflow)).status_code == 200


async def test_anyone_may_remove_themselves_and_only_admins_others(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/permissions"
    one, other = await register(client, "one"), await register(client, "other")
    for person in (one, other):
        await scene.owner.made(path, {"user_id": await id_of(person), "role": "viewer"})
    assert (await one.delete(f"{path}/{await id_of(other)}")).status_code == 403
    assert (await one.delete(f"{path}/{(await id_of(one)).upper()}")).status_code == 204
    assert (await one.get(path)).status_code == 403
    admin = await scene.joined("adam", "admin")
    assert (await admin.delete(f"{path}/{await id_of(other)}")).status_code == 204
    assert (await admin.delete(f"{path}/{await id_of(other)}")).status_code == 404


async def test_who_is_held_down_cannot_rise_by_removing_what_holds_them(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    workflow = f"/workflows/{(await scene.workflow())['id']}"
    editor = await scene.joined("eddy", "editor")
    me = await id_of(editor)
    await scene.owner.made(f"{workflow}/permissions", {"user_id": me, "role": "viewer"})
    assert (await editor.delete(f"{workflow}/permissions/{me}")).status_code == 403
    assert (await editor.put(workflow, {"description": "x"})).status_code == 403
    assert (await scene.owner.delete(f"{workflow}/permissions/{me}")).status_code == 204
    assert (await editor.put(workflow, {"description": "x"})).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"user_id": "0192d3a4-5b6c-7d8e-9f00-112233445566", "role": "viewer"}, 404),
        ({"user_id": "nobody", "role": "viewer"}, 404),
        ({"role": "viewer"}, 400),
        ({"user_id": "x", "role": "king"}, 400),
        ({"user_id": "x", "role": "Viewer"}, 400),
        ({"user_id": 7, "role": "viewer"}, 400),
        ({"user_id": "x", "role": "viewer", "workflow_id": "y"}, 400),
        ({}, 400),
    ],
)
async def test_what_is_not_valid_is_refused(client: httpx.AsyncClient, body: object, status: int) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/permissions"
    assert (await scene.owner.post(path, body)).status_code == status


async def test_two_who_give_one_person_a_role_at_once_make_one_permission(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/permissions"
    guest = await id_of(await register(client, "guest"))
    roles = ["viewer", "editor", "admin", "viewer", "editor"]
    answers = await asyncio.gather(*(scene.owner.post(path, {"user_id": guest, "role": role}) for role in roles))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 200, 201]
    assert (await scene.owner.get(path)).json()["total"] == 1
