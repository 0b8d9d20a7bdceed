"""A newer version comes up beside servers that run: it migrates, they go on, and then they are replaced."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import penstock
from penstock.storage.migrate import head
from tests.acceptance.server import PATIENCE, refusal, running
from tests.postgresql import Databases

pytestmark = pytest.mark.anyio

# What a release may do to tables that older servers still use: add to them.
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None

def upgrade():
    op.create_table("novelties", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("executions", sa.Column("novelty", sa.Text()))
"""
DEFINITION = """
document: {dsl: '1.0.3', namespace: t, name: waits, version: '1.0.0'}
do:
- hear: {listen: {to: {one: {with: {type: go}}}}, output: {as: '${ {} }'}}
- after: {set: {done: true}}
"""


def later_version(folder: Path) -> Path:
    """This code with one migration more, where Python finds it first."""
    source = folder / "penstock"
    shutil.copytree(Path(penstock.__file__).parent, source, ignore=shutil.ignore_patterns("__pycache__", "static"))
    script = source / "storage" / "migrations" / "versions" / "9999_later.py"
    script.write_text(MIGRATION.format(head=head()))
    return folder


@pytest.fixture
def empty(databases: Databases) -> Iterator[str]:
    """The address of a PostgreSQL without tables."""
    with databases.empty() as url:
        yield url


async def made(client: httpx.AsyncClient, path: str, body: Any, **headers: str) -> Any:
    answer = await client.post(f"/api/v1{path}", json=body, headers=headers)
    assert answer.is_success, answer.text
    return answer.json()


async def test_servers_of_the_version_before_go_on_until_they_are_replaced_and_cannot_come_back(
    tmp_path: Path, empty: str
) -> None:
    earlier = os.environ.get("UPGRADE_FROM", "")  # the `src` of a release, to try the step from that one to this
    before = Path(earlier) if earlier else tmp_path / "before"
    after = tmp_path / "none" if earlier else later_version(tmp_path / "after")
    settings = {"jwt_secret": "a secret of these tests alone, long enough", "expression_processes": "1"}
    async with (
        running(before, empty, **settings) as old,
        httpx.AsyncClient(base_url=await old.url(), timeout=PATIENCE) as client,
    ):
        tokens = await made(client, "/auth/register", {"email": "ann@example.com", "password": "correct horse"})
        authorized = {"Authorization": f"Bearer {tokens['access_token']}"}
        client.headers.update(authorized)
        company = await made(client, "/companies", {"name": "Acme"})
        project = await made(client, f"/organizations/{company['id']}/projects", {"name": "Apollo"})
        body = {"name": "Waits", "config_yaml": DEFINITION}
        workflow = (await made(client, f"/projects/{project['id']}/workflows", body))["id"]
        await made(client, f"/workflows/{workflow}/deploy", {})
        asked = [(await made(client, f"/workflows/{workflow}/trigger", {}))["id"]]
        async with (
            running(after, empty, **settings) as new,
            httpx.AsyncClient(base_url=await new.url(), timeout=PATIENCE, headers=authorized) as replacing,
        ):
            turns = (client, replacing, client)
            asked += [(await made(each, f"/workflows/{workflow}/trigger", {}))["id"] for each in turns]
            assert await old.stop() == 0
            asked.append((await made(replacing, f"/workflows/{workflow}/trigger", {}))["id"])
            await until_listening(replacing, workflow, asked)
            event = {"specversion": "1.0", "id": "1", "source": "test", "type": "go"}
            kind = {"Content-Type": "application/cloudevents+json"}
            await made(replacing, f"/projects/{project['id']}/events", event, **kind)
            await until_ended(replacing, asked)
            code, said = await refusal(before, empty, **settings)
    assert code == 1
    assert "written by a newer Penstock" in said
    assert "Traceback" not in said


async def until_listening(client: httpx.AsyncClient, workflow: str, execution_ids: list[str]) -> None:
    """Who comes to listen when one of the others has consumed the event waits for the next."""
    path, of = f"/api/v1/workflows/{workflow}/events", {"type": "workflow.correlation-started", "page_size": "100"}
    async with asyncio.timeout(PATIENCE):
        while True:
            told = (await client.get(path, params=of)).json()["items"]
            if set(execution_ids) <= {each["execution_id"] for each in told}:
                return
            await asyncio.sleep(0.05)


async def until_ended(client: httpx.AsyncClient, execution_ids: list[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        for id_ in execution_ids:
            while (found := (await client.get(f"/api/v1/executions/{id_}")).json())["status"] != "completed":
                assert found["status"] in {"pending", "running"}, found
                await asyncio.sleep(0.05)
