"""A company with a project and a workflow, and someone who owns it all: where most stories begin."""

from dataclasses import dataclass
from typing import Any

import httpx

from penstock.storage import Database
from penstock.streams import Hub, Level, NewEvent, NewLog, append
from tests.platform.people import Person, register

VALID = """
document: {dsl: 1.0.0, namespace: tests, name: greet, version: 0.1.0}
do:
  - greet: {set: {hello: world}}
"""


@dataclass
class Scene:
    client: httpx.AsyncClient
    owner: Person
    company_id: str
    project_id: str
    workflow_id: str

    @property
    def path(self) -> str:
        return f"/workflows/{self.workflow_id}"

    @property
    def database(self) -> Database:
        database: Database = self.client.app.app.state.database  # type: ignore[attr-defined]
        return database

    @property
    def hub(self) -> Hub:
        hub: Hub = self.client.app.app.state.platform.streams  # type: ignore[attr-defined]
        return hub

    async def another_workflow(self, name: str, config_yaml: str = VALID) -> str:
        body = {"name": name, "config_yaml": config_yaml}
        workflow = await self.owner.made(f"/projects/{self.project_id}/workflows", body)
        return str(workflow["id"])

    async def trigger(self, data: Any = None, **headers: str) -> Any:
        answer = await self.owner.post(f"{self.path}/trigger", {"trigger_data": data}, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    async def log(self, *messages: str, level: Level = Level.INFO, **members: Any) -> None:
        async with self.database.transaction() as tx:
            await append(tx, logs=[NewLog(self.workflow_id, level, message, **members) for message in messages])

    async def event(self, *types: str, **members: Any) -> None:
        async with self.database.transaction() as tx:
            await append(tx, events=[NewEvent(self.workflow_id, type_, **members) for type_ in types])

    async def member(self, name: str, role: str) -> Person:
        person = await register(self.client, name)
        await self.owner.made(f"/projects/{self.project_id}/members", {"email": person.email, "role": role})
        return person


async def set_scene(client: httpx.AsyncClient) -> Scene:
    owner = await register(client, "owner")
    company = await owner.made("/companies", {"name": "Acme"})
    project = await owner.made(f"/organizations/{company['id']}/projects", {"name": "Mill"})
    body = {"name": "Greet", "config_yaml": VALID}
    workflow = await owner.made(f"/projects/{project['id']}/workflows", body)
    return Scene(client, owner, company["id"], project["id"], workflow["id"])
