"""A project on a running engine, and short words for what tests of executions do there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx

from tests.conftest import Serve
from tests.engine.embedded.running import came, ended, until
from tests.platform.people import API, PASSWORD, Person
from tests.platform.scene import Scene, set_up

STRUCTURED = {"content-type": "application/cloudevents+json"}


class Shop:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.owner = scene.owner
        self.project = str(scene.project["id"])

    async def workflow(
        self, name: str, rest: str, *, project: str = "", metadata: str = "{}", deploy: bool = False
    ) -> str:
        """The id of a workflow of this name; `rest` is all of its definition but the document."""
        place = project or self.project
        body = {"name": name, "config_yaml": definition(name, rest, metadata)}
        id_ = str((await self.owner.made(f"/projects/{place}/workflows", body))["id"])
        if deploy:
            await self.deploy(id_)
        return id_

    async def deploy(self, workflow: str) -> None:
        answer = await self.owner.post(f"/workflows/{workflow}/deploy")
        assert answer.status_code == 200, answer.text

    async def trigger(self, workflow: str, data: Any = None) -> str:
        body = {"trigger_data": {} if data is None else data}
        return str((await self.owner.made(f"/workflows/{workflow}/trigger", body))["id"])

    async def run(self, workflow: str, data: Any = None) -> Any:
        """The execution, when it has ended."""
        return await ended(self.owner, await self.trigger(workflow, data))

    async def output(self, workflow: str, data: Any = None) -> Any:
        execution = await self.run(workflow, data)
        assert execution["status"] == "completed", execution
        return execution["output_data"]

    async def execution(self, id_: str) -> Any:
        return (await self.owner.get(f"/executions/{id_}")).json()

    async def ended(self, id_: str) -> Any:
        return await ended(self.owner, id_)

    async def post(self, path: str, body: Any = None) -> httpx.Response:
        return await self.owner.post(path, body)

    async def executions(self, workflow: str, **filters: str) -> list[Any]:
        """Oldest first."""
        answer = await self.owner.get(f"/workflows/{workflow}/executions", params={"page_size": 100, **filters})
        return list(reversed(answer.json()["items"]))

    async def started(self, workflow: str, many: int = 1) -> list[Any]:
        """Its executions, when there are so many of them that have ended."""

        async def there() -> bool:
            found = await self.executions(workflow)
            return len([each for each in found if each["completed_at"] is not None]) >= many

        await came(there)
        return await self.executions(workflow)

    async def steps(self, execution: str) -> list[Any]:
        answer = await self.owner.get(f"/executions/{execution}/steps", params={"page_size": 100})
        items: list[Any] = answer.json()["items"]
        return items

    async def at(self, execution: str, step: str) -> None:
        """Wait until the step runs."""

        async def runs() -> bool:
            return any(
                each["step_name"] == step and each["status"] == "running" for each in await self.steps(execution)
            )

        await came(runs)

    async def listens(self, *executions: str) -> None:
        """Wait until each is told of what comes. A step that runs may have yet to begin to listen."""

        async def tells(execution: str) -> bool:
            workflow = (await self.execution(execution))["workflow_id"]
            told = (await self.owner.get(f"/workflows/{workflow}/events", params={"page_size": 100})).json()["items"]
            began = {each["execution_id"] for each in told if each["type"] == "workflow.correlation-started"}
            return execution in began

        for execution in executions:
            await came(partial(tells, execution))

    async def logs(self, workflow: str, **filters: str) -> list[Any]:
        answer = await self.owner.get(f"/workflows/{workflow}/logs", params={"page_size": 100, **filters})
        return list(reversed(answer.json()["items"]))

    async def send(self, type_: str, data: Any = None, *, project: str = "", **attributes: Any) -> None:
        event = {"specversion": "1.0", "id": type_, "source": "https://shop.example", "type": type_, "data": data}
        place = f"/projects/{project or self.project}/events"
        answer = await self.owner.post(place, event | attributes, headers=STRUCTURED)
        assert answer.status_code == 202, answer.text

    async def secret(self, name: str, value: str) -> None:
        answer = await self.owner.put(f"/projects/{self.project}/secrets/{name}", {"value": value})
        assert answer.is_success, answer.text

    async def paused(self, execution: str) -> Any:
        return await until(self.owner, execution, lambda each: "paused_at" in each["metadata"])


def definition(name: str, rest: str, metadata: str = "{}", version: str = "1.0.0") -> str:
    document = f"{{dsl: '1.0.3', namespace: shop, name: {name}, version: '{version}', metadata: {metadata}}}"
    return f"document: {document}\n{rest}\n"


@asynccontextmanager
async def shop(serve: Serve, **settings: Any) -> AsyncIterator[Shop]:
    async with serve(**{"engine": "embedded", **settings}) as client:
        yield Shop(await set_up(client))


@asynccontextmanager
async def reopened(serve: Serve, before: Shop, **settings: Any) -> AsyncIterator[Shop]:
    """The same shop, on a server that was started anew."""
    async with serve(**{"engine": "embedded", **settings}) as client:
        body = {"email": before.owner.email, "password": PASSWORD}
        tokens = (await client.post(f"{API}/auth/login", json=body)).json()
        owner = Person(client, tokens, before.owner.email)
        yield Shop(Scene(client, owner, before.scene.company, before.scene.project))
