"""Somebody of every role, trees of resources in which they have it, and requests down to the bare ASGI."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import httpx

from penstock.ids import uuid7
from penstock.platform.roles import Role
from penstock.storage import Database
from tests.platform.people import PASSWORD, Person, register
from tests.platform.records import (
    add_company,
    add_execution,
    add_grant,
    add_project,
    add_provider,
    add_workflow,
    database_of,
    id_of,
)


class World:
    """Somebody of every role, and trees of resources in which they have it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.app: Any = client.app  # type: ignore[attr-defined]
        self.client = client
        self.database: Database = database_of(client)
        self.people: dict[str, Person] = {}
        self.ids: dict[str, str] = {}
        self.cookies: dict[str, str] = {}

    async def settle(self) -> "World":
        for name in ("outsider", "viewer", "editor", "admin", "owner", "victim", "founder"):
            self.people[name] = await register(self.client, name)
            self.ids[name] = await id_of(self.people[name])
        return self

    async def plant(self, resource: str | None, level: str) -> dict[str, str]:
        """A fresh tree, in which everybody has their role at this level; what to write for each path parameter."""
        founder = self.ids["founder"]
        async with self.database.transaction() as tx:
            company = await add_company(tx, founder)
            organization = await add_company(tx, founder, company)
            project = await add_project(tx, organization)
            workflow = await add_workflow(tx, project, founder)
            execution = await add_execution(tx, workflow)
            provider, mapping = await add_provider(tx, company)
            places = {
                "company": ("company_id", company),
                "organization": ("company_id", organization),
                "project": ("project_id", project),
                "workflow": ("workflow_id", workflow),
            }
            column, place = places[level]
            for role in Role:
                await add_grant(tx, self.ids[role.label], int(role), **{column: place})
        targets = {
            "company": organization if level == "organization" else company,
            "project": project,
            "workflow": workflow,
            "execution": execution,
            "iam_provider": provider,
            "iam_mapping": mapping,
        }
        target = targets.get(resource or "", "")
        if resource in {"company", "project", "workflow"}:
            await add_grant(self.database, self.ids["victim"], 1, **{f"{resource}_id": target})
        return (
            dict.fromkeys(("id", "cid", "oid", "pid"), target)
            | {
                "uid": self.ids["victim"],
                "linkId": uuid7(),
                "sid": uuid7(),
                "number": "1",
                "v": "latest",
                "name": "TOKEN",
                "provider": "github",
                "provider_id": provider,
            }
            | {name: id_ for name, id_ in targets.items() if name in {"project", "workflow", "execution"}}
        )

    async def invite_guest(self) -> None:
        """Somebody new, signed in at both doors."""
        name = f"guest{len(self.ids)}"
        self.people["guest"] = guest = await register(self.client, name)
        self.ids[name] = await id_of(guest)
        form = {"email": guest.email, "password": PASSWORD}
        self.cookies["guest"] = str((await guest.client.post("/user/auth", data=form)).cookies["session"])

    def credentials(self, who: str) -> dict[str, str]:
        headers = {}
        if who in self.people:
            headers["authorization"] = f"Bearer {self.people[who].tokens['access_token']}"
        if who in self.cookies:
            headers["cookie"] = f"session={self.cookies[who]}"
        return headers

    async def status(self, who: str, method: str, path: str) -> int:
        """The status alone, after an empty object was sent."""
        headers = {"content-type": "application/json"} | self.credentials(who)
        body = b"{}" if method in {"POST", "PUT"} else b""
        return (await ask(self.app, method, path, headers, body)).status_code


async def ask(app: Any, method: str, target: str, headers: dict[str, str], body: bytes) -> httpx.Response:
    """The answer to a request that is sent as it is; a stream is left as soon as it begins."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"localhost"), *((k.lower().encode(), v.encode()) for k, v in headers.items())],
        "client": ("203.0.113.7", 50000),
        "server": ("localhost", 80),
        "state": {},
    }
    left = asyncio.Event()
    requests = iter([{"type": "http.request", "body": body}])
    start: dict[str, Any] = {}
    chunks: list[bytes] = []

    async def receive() -> dict[str, Any]:
        if (message := next(requests, None)) is not None:
            return message
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
            if any(value.startswith(b"text/event-stream") for _, value in message["headers"]):
                left.set()
        else:
            chunks.append(message.get("body", b""))
            if not message.get("more_body"):
                left.set()

    await asyncio.wait_for(app(scope, receive, send), 60)
    request = httpx.Request(method, f"http://localhost{target}")
    answer = httpx.Response(start["status"], headers=start["headers"], content=b"".join(chunks), request=request)
    answer.elapsed = timedelta()
    return answer


def written(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, path
    return f"/api/v1{path}"
