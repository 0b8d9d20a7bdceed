"""Versions: numbered, immutable, one for each definition."""

import httpx
import pytest

from tests.platform.scene import VALID, id_of, set_up

pytestmark = pytest.mark.anyio


async def test_a_different_definition_makes_a_version_and_the_same_makes_none(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    editor = await scene.joined("eddy", "editor")
    path = f"/workflows/{(await scene.workflow(config_yaml=VALID))['id']}"
    assert (await editor.put(path, {"config_yaml": VALID})).json()["version"] == 1
    assert (await editor.put(path, {"config_yaml": VALID + "\n"})).json()["version"] == 2
    assert (await editor.put(path, {"name": "Other", "config_yaml": VALID + "\n"})).json()["version"] == 2
    # Going back is a new version too: versions tell what was, in order.
    assert (await editor.put(path, {"config_yaml": VALID})).json()["version"] == 3
    page = (await editor.get(f"{path}/versions?page_size=2")).json()
    assert (page["total"], [item["version"] for item in page["items"]]) == (3, [3, 2])
    assert list(page["items"][0]) == ["workflow_id", "version", "config_yaml", "created_by", "created_at"]
    first = (await editor.get(f"{path}/versions/1")).json()
    assert first["created_by"] == await id_of(scene.owner)
    assert page["items"][0]["created_by"] == await id_of(editor)
    assert first["config_yaml"] == VALID


async def test_one_version_by_number_or_latest(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow(config_yaml='# one'))['id']}"
    await scene.owner.put(path, {"config_yaml": "# two"})
    assert (await scene.owner.get(f"{path}/versions/2")).json()["config_yaml"] == "# two"
    assert (await scene.owner.get(f"{path}/versions/latest")).json()["version"] == 2


@pytest.mark.parametrize(
    "v", ["0", "3", "-1", "01", "1.0", "Latest", "two", "2147483647", "2147483648", "9" * 30, "%00", "%D9%A1", "%31%00"]
)
async def test_a_version_that_there_is_not_is_404(client: httpx.AsyncClient, v: str) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}"
    assert (await scene.owner.get(f"{path}/versions/{v}")).status_code == 404


async def test_a_version_cannot_be_written(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow())['id']}/versions/1"
    for method in ("PUT", "POST", "DELETE", "PATCH"):
        assert (await scene.owner.request(method, path)).status_code == 405


async def test_what_is_wrong_comes_with_the_version_that_has_it(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    path = f"/workflows/{(await scene.workflow(config_yaml='a: ['))['id']}"
    fixed = (await scene.owner.put(path, {"config_yaml": VALID})).json()
    assert fixed["validation"] == {"valid": True, "errors": []}
    broken = (await scene.owner.put(path, {"config_yaml": "a: 1\na: 2"})).json()
    (error,) = broken["validation"]["errors"]
    assert (error["path"], error["code"], error["line"], error["column"]) == ("/a", "twice", 2, 1)
