"""A project with its people, for tests of what stands inside projects."""

from typing import Any

import httpx

from penstock.platform.parts import Parts
from tests.platform.people import Person, register

VALID = """\
document:
  dsl: 1.0.0
  namespace: shop
  name: greet
  version: 0.1.0
do:
  - hello:
      set:
        message: Hello
"""


class Scene:
    """A company, its project, and its owner; more people come with `joined`."""

    def __init__(self, client: httpx.AsyncClient, owner: Person, company: Any, project: Any) -> None:
        self.client, self.owner, self.company, self.project = client, owner, company, project

    @property
    def parts(self) -> Parts:
        parts: Parts = self.client.app.app.state.platform  # type: ignore[attr-defined]
        return parts

    def set_parts(self, parts: Parts) -> None:
        self.client.app.app.state.platform = parts  # type: ignore[attr-defined]

    async def workflow(self, name: str = "Greet", config_yaml: str = VALID, **members: Any) -> Any:
        body = {"name": name, "config_yaml": config_yaml, **members}
        return await self.owner.made(f"/projects/{self.project['id']}/workflows", body)

    async def joined(self, name: str, role: str | None = None) -> Person:
        """Someone with this role in the project; with none, a stranger."""
        person = await register(self.client, name)
        if role is not None:
            await self.owner.made(f"/projects/{self.project['id']}/members", {"email": person.email, "role": role})
        return person


async def id_of(person: Person) -> str:
    return str((await person.get("/auth/me")).json()["id"])


async def set_up(client: httpx.AsyncClient) -> Scene:
    owner = await register(client, "olga")
    company = await owner.made("/companies", {"name": "Acme"})
    project = await owner.made(f"/organizations/{company['id']}/projects", {"name": "Shop"})
    return Scene(client, owner, company, project)
