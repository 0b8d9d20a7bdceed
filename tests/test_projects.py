"""Document 3: metadata of projects, created and updated by name."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from penstock.storage import Statement
from penstock.storage.schema import project_metadata
from tests.conftest import Serve

pytestmark = pytest.mark.anyio


async def read(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    answer = await client.get("/project", params={"projectName": name})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_project_is_created_and_read_back(client: httpx.AsyncClient) -> None:
    answer = await client.post("/project", json={"name": "apollo", "description": "To the moon"})
    assert (answer.status_code, answer.text) == (201, "apollo")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    found = await read(client, "apollo")
    assert list(found) == ["name", "description", "created_at", "updated_at"]
    assert (found["name"], found["description"]) == ("apollo", "To the moon")
    assert found["created_at"] == found["updated_at"]
    assert found["created_at"].endswith("Z")


async def test_a_second_post_updates_and_keeps_when_it_was_created(client: httpx.AsyncClient) -> None:
    await client.post("/project", json={"name": "apollo", "description": "first"})
    before = await read(client, "apollo")
    assert (await client.post("/project", json={"name": "apollo", "description": "second"})).status_code == 201
    after = await read(client, "apollo")
    assert after["description"] == "second"
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] > before["updated_at"]


async def test_a_missing_description_leaves_the_stored_one_and_a_blank_one_clears_it(client: httpx.AsyncClient) -> None:
    await client.post("/project", json={"name": "apollo", "description": "kept"})
    await client.post("/project", json={"name": "apollo"})
    assert (await read(client, "apollo"))["description"] == "kept"
    await client.post("/project", json={"name": "apollo", "description": ""})
    assert (await read(client, "apollo"))["description"] == ""
    await client.post("/project", json={"name": "gemini"})
    assert (await read(client, "gemini"))["description"] == ""


@pytest.mark.parametrize("name", ["nobody", "a\0b", "x" * 300, "Apollo", " apollo"])
async def test_an_unknown_name_is_404_without_any_body(client: httpx.AsyncClient, name: str) -> None:
    await client.post("/project", json={"name": "apollo"})
    answer = await client.get("/project", params={"projectName": name})
    assert (answer.status_code, answer.content) == (404, b"")
    assert "content-type" not in answer.headers
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize(
    "query",
    ["", "?", "?projectname=apollo", "?projectName", "?projectName=", "?projectName=%20%09",
     "?projectName=a&projectName=b", "?projectName=a&projectName=a", "?projectName=%FF", "?projectName=%ED%A0%80",
     "?" + "&".join(f"a{number}=1" for number in range(100))],
)  # fmt: skip
async def test_a_missing_repeated_blank_or_malformed_parameter_is_400(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"/project{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 400
    assert "status" not in answer.headers


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/name"),
        ({"description": "x"}, "/name"),
        ({"name": None}, "/name"),
        ({"name": 5}, "/name"),
        ({"name": ["apollo"]}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": " \t\n"}, "/name"),
        ({"name": "x" * 256}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"name": "apollo", "description": None}, "/description"),
        ({"name": "apollo", "description": 5}, "/description"),
        ({"name": "apollo", "description": {"a": 1}}, "/description"),
        ({"name": "apollo", "description": "a\0b"}, "/description"),
        ({"name": "apollo", "id": 1}, "/id"),
        ({"name": "apollo", "created_at": "2026-01-01T00:00:00Z"}, "/created_at"),
        ({"name": "apollo", "a/b": 1}, "/a~1b"),
        ([], ""),
        ("apollo", ""),
    ],
)
async def test_a_wrong_body_is_400_and_points_at_what_is_wrong(client: httpx.AsyncClient, body: Any, path: str) -> None:
    answer = await client.post("/project", json=body)
    assert answer.status_code == 400
    assert [error["path"] for error in answer.json()["errors"]] == [path]
    assert all(error["message"] for error in answer.json()["errors"])
    assert (await client.get("/project", params={"projectName": "apollo"})).status_code == 404


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"name": "a", "name": "b"}', b'{"name": "\\ud800"}', b"[" * 9999]
)
async def test_what_is_not_json_is_400(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/project", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:penstock:problem:invalid"


async def test_only_json_is_read(client: httpx.AsyncClient) -> None:
    assert (await client.post("/project", data={"name": "apollo"})).status_code == 415
    assert (await client.post("/project", content=b'{"name": "apollo"}')).status_code == 415


@pytest.mark.parametrize("name", ["🚀" * 255, "x" * 255, "Ünï cødé ✓ 名前", "a/b?c=d&e#f%20", "'; DROP --", " padded "])
async def test_names_of_any_characters_up_to_255_are_kept_as_they_are(client: httpx.AsyncClient, name: str) -> None:
    answer = await client.post("/project", json={"name": name, "description": name})
    assert (answer.status_code, answer.content.decode()) == (201, name)
    found = await read(client, name)
    assert (found["name"], found["description"]) == (name, name)


async def test_posts_of_one_name_at_once_make_one_record_and_none_fails(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(client.post("/project", json={"name": "apollo", "description": str(number)}) for number in range(30))
    )
    assert {answer.status_code for answer in answers} == {201}
    assert (await read(client, "apollo"))["description"] in {str(number) for number in range(30)}
    async with client.app.app.state.database.transaction() as tx:  # type: ignore[attr-defined]
        row = await tx.one(Statement(select(func.count()).select_from(project_metadata)))
    assert row[0] == 1


async def test_a_deployment_may_ask_for_a_signed_in_user(serve: Serve) -> None:
    async with serve(project_auth="session") as client:
        for answer in (
            await client.get("/project", params={"projectName": "apollo"}),
            await client.get("/project"),
            await client.post("/project", json={"name": "apollo"}),
        ):
            assert answer.status_code == 401
            assert answer.json()["type"] == "urn:penstock:problem:not-signed-in"
        account = {"email": "ada@example.com", "password": "correct horse", "signin": "1"}
        await client.post("/user/create", data=account)
        assert (await client.post("/project", json={"name": "apollo"})).status_code == 201
        assert (await read(client, "apollo"))["name"] == "apollo"
        await client.get("/user/signout")
        assert (await client.get("/project", params={"projectName": "apollo"})).status_code == 401
