"""The list of a workflow's logs, and what may be written there."""

import httpx
import pytest

from penstock.streams import Level
from tests.platform.scenes import Scene, set_scene

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


async def found(scene: Scene, query: str = "") -> list[str]:
    answer = await scene.owner.get(f"{scene.path}/logs{query}")
    assert answer.status_code == 200, answer.text
    messages = [item["message"] for item in answer.json()["items"]]
    if "page" not in query:
        assert answer.json()["total"] == len(messages)
    return messages


async def test_an_entry_is_shown_with_its_members(scene: Scene) -> None:
    await scene.log("hello", level=Level.WARN, module_name="engine", fields={"n": 1})
    entry = (await scene.owner.get(f"{scene.path}/logs")).json()["items"][0]
    assert list(entry) == [
        "id", "workflow_id", "execution_id", "level", "message", "module_name", "fields", "created_at",
    ]  # fmt: skip
    assert (entry["level"], entry["message"], entry["module_name"], entry["fields"]) == (
        "warn",
        "hello",
        "engine",
        {"n": 1},
    )


async def test_a_level_means_that_level_and_above(scene: Scene) -> None:
    for level in Level:
        await scene.log(level.label, level=level)
    every = ["fatal", "error", "warn", "info", "debug"]
    assert await found(scene) == every
    for level in Level:
        assert await found(scene, f"?level={level.label}") == every[: 5 - level]
    assert await found(scene, "?level=warn&page_size=1&page=2") == ["error"]
    assert await found(scene, "?level=error&q=FAT") == ["fatal"]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("100%", ["Got 100% of it"]),
        ("a_b", ["a_b"]),
        ("\\", ["back\\slash"]),
        ("GOT", ["Got 100% of it"]),
        ("GRÖSSE", ["größe und grösse"]),
        ("öss", ["größe und grösse"]),
        ("привет, ÄRGER", ["ПриВет, äRGer"]),
        ("Вет, ärg", ["ПриВет, äRGer"]),
        ("nothing like it", []),
        ("'; --", []),
    ],
)
async def test_q_is_a_part_of_the_message_in_any_case_and_its_signs_are_only_signs(
    scene: Scene, q: str, expected: list[str]
) -> None:
    await scene.log("Got 100% of it", "a_b", "axb", "back\\slash", "größe und grösse", "ПриВет, äRGer")
    answer = await scene.owner.get(f"{scene.path}/logs", params={"q": q})
    assert [item["message"] for item in answer.json()["items"]] == expected


async def test_logs_are_filtered_by_module_execution_and_time(scene: Scene) -> None:
    execution = await scene.trigger()
    await scene.log("one", module_name="http", execution_id=execution["id"])
    await scene.log("two", module_name="http")
    await scene.log("three", module_name="script")
    assert await found(scene, "?module=http") == ["two", "one"]
    assert await found(scene, f"?execution_id={execution['id']}") == ["one"]
    middle = (await scene.owner.get(f"{scene.path}/logs")).json()["items"][1]["created_at"]
    assert await found(scene, f"?since={middle}") == ["three", "two"]
    assert await found(scene, f"?until={middle}") == ["one"]
    assert await found(scene, f"?module=http&since={middle}&q=w&level=info") == ["two"]
    beyond = (await scene.owner.get(f"{scene.path}/logs?q=T&page=2&page_size=2")).json()
    assert (beyond["items"], beyond["total"]) == ([], 2)


@pytest.mark.parametrize(
    "query", ["level=loud", "level=INFO", "module=", "q=", f"q={'x' * 256}", "q=%00", "execution_id=7", "type=x"]
)
async def test_a_filter_that_is_not_valid_is_400(scene: Scene, query: str) -> None:
    assert (await scene.owner.get(f"{scene.path}/logs?{query}")).status_code == 400


async def test_whatever_a_script_prints_is_kept(scene: Scene) -> None:
    await scene.log("nul \0 and half a pair \ud800", "x" * 100_000)
    endless, odd = await found(scene)
    assert len(endless) == 64 * 1024
    assert odd == "nul \ufffd and half a pair ?"
