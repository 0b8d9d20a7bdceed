"""A server is lost; what remains is its backup, made while it ran. Elsewhere, everything goes on from there."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.server import PATIENCE, Server, running
from tests.cli.running import penstock
from tests.postgresql import Databases, _programs

pytestmark = pytest.mark.anyio

EMAIL, PASSWORD = "ann@example.com", "correct horse battery"
DEFINITION = """
document: {dsl: '1.0.3', namespace: t, name: waits, version: '1.0.0'}
use: {secrets: [word]}
do:
- before: {set: {began: true}}
- hear: {listen: {to: {one: {with: {type: go}}}}, output: {as: '${ {} }'}}
- after: {set: {opened: '${ $secrets.word == "open sesame" }'}}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def moved(
    request: pytest.FixtureRequest, tmp_path: Path, databases: Databases
) -> Iterator[tuple[str, Callable[[], str]]]:
    """The address of a database, and what makes a backup of it and restores that at another address."""
    if request.param == "sqlite":
        there = f"sqlite:///{tmp_path}/there/penstock.db"

        def by_penstock() -> str:
            file = tmp_path / "backup.db"
            for command, url in (("backup", here), ("restore", there)):
                done = penstock(command, file, "--database", url, cwd=tmp_path)
                assert done.returncode == 0, done.stderr
                assert "Traceback" not in done.stderr
            assert file.stat().st_mode & 0o077 == 0, "it holds the server's secret"
            return there

        here = f"sqlite:///{tmp_path}/here/penstock.db"
        yield here, by_penstock
        return
    programs, _ = _programs()
    with databases.empty() as here, databases.empty() as there:

        def by_postgresql() -> str:
            file = tmp_path / "backup.dump"
            subprocess.run([programs / "pg_dump", "--format=custom", f"--file={file}", here], check=True)
            onto = ["--no-owner", "--exit-on-error", f"--dbname={there}"]
            subprocess.run([programs / "pg_restore", *onto, file], check=True)
            return there

        yield here, by_postgresql


class Person:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def login(self) -> None:
        answer = await self.client.post("/auth/login", json={"email": EMAIL, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        self.client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"

    async def made(self, path: str, body: Any) -> Any:
        answer = await self.client.post(path, json=body)
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()

    async def get(self, path: str) -> Any:
        answer = await self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def person_at(server: Server) -> AsyncIterator[Person]:
    async with httpx.AsyncClient(base_url=f"{await server.url()}/api/v1", timeout=PATIENCE) as client:
        yield Person(client)


async def until_all(person: Person, workflow: str, holds: Callable[[Any], bool]) -> list[Any]:
    """The executions of a workflow, once that holds for each."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found: list[Any] = (await person.get(f"/workflows/{workflow}/executions?page_size=100"))["items"]
            if all(holds(each) for each in found):
                return found
            await asyncio.sleep(0.05)


async def until_listening(person: Person, workflow: str, executions: set[str]) -> None:
    """Who comes to listen when one of the others has consumed the event waits for the next."""
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await person.get(f"/workflows/{workflow}/events?page_size=100&type=workflow.correlation-started")
            if executions <= {each["execution_id"] for each in told["items"]}:
                return
            await asyncio.sleep(0.05)


async def test_what_was_acknowledged_before_a_backup_goes_on_elsewhere(
    tmp_path: Path, moved: tuple[str, Callable[[], str]]
) -> None:
    here, move = moved
    async with running(tmp_path / "a", here, expression_processes="1") as server, person_at(server) as ann:
        await ann.made("/auth/register", {"email": EMAIL, "password": PASSWORD})
        await ann.login()
        company = await ann.made("/companies", {"name": "Acme"})
        project = await ann.made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
        answer = await ann.client.put(f"/projects/{project['id']}/secrets/word", json={"value": "open sesame"})
        assert answer.status_code in {200, 201, 204}, answer.text
        body = {"name": "Waits", "config_yaml": DEFINITION}
        workflow = (await ann.made(f"/projects/{project['id']}/workflows", body))["id"]
        await ann.made(f"/workflows/{workflow}/deploy", {})
        acknowledged = {(await ann.made(f"/workflows/{workflow}/trigger", {}))["id"] for _ in range(5)}
        audited = (await ann.get(f"/companies/{company['id']}/audit"))["total"]
        token = ann.client.headers["Authorization"]
        moving = asyncio.create_task(asyncio.to_thread(move))
        meanwhile: set[str] = set()
        while not moving.done() and len(meanwhile) < 20:
            meanwhile.add((await ann.made(f"/workflows/{workflow}/trigger", {}))["id"])
        there = await moving
        await server.kill()

    async with running(tmp_path / "b", there, expression_processes="1") as server, person_at(server) as ann:
        ann.client.headers["Authorization"] = token
        assert (await ann.get("/auth/me"))["email"] == EMAIL, "who was signed in still is"
        await ann.login()
        assert (await ann.get(f"/companies/{company['id']}/audit"))["total"] >= audited
        restored = {each["id"] for each in await until_all(ann, workflow, lambda _: True)}
        assert acknowledged <= restored <= acknowledged | meanwhile
        await until_listening(ann, workflow, restored)
        event = {"specversion": "1.0", "id": "1", "source": "test", "type": "go", "data": {}}
        headers = {"Content-Type": "application/cloudevents+json"}
        answer = await ann.client.post(f"/projects/{project['id']}/events", json=event, headers=headers)
        assert answer.status_code == 202, answer.text
        ended = await until_all(ann, workflow, lambda each: each["completed_at"] is not None)
        assert [each["output_data"] for each in ended] == [{"opened": True}] * len(restored)
        for id_ in acknowledged:
            steps = (await ann.get(f"/executions/{id_}/steps"))["items"]
            assert sorted(step["step_name"] for step in steps) == ["after", "before", "hear"], "nothing ran twice"
