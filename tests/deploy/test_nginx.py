"""Two real servers on one PostgreSQL behind a real nginx, with the configuration that we hand out."""

import asyncio
import json
import re
import socket
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.platform.access import ROUTES
from tests.acceptance.server import PATIENCE, Server, until
from tests.deploy import nginx
from tests.deploy.nginx import NAME, Nginx
from tests.postgresql import Databases

pytestmark = pytest.mark.anyio

ME = "127.0.0.9"  # where the client is; nginx is at 127.0.0.1, and the only one whose word on others counts
PASSWORD = "correct horse battery"
DEFINITION = """
document: {dsl: '1.0.3', namespace: t, name: greet, version: '1.0.0'}
do:
- hello: {set: {greeting: hello}}
"""


class Site(msgspec.Struct, frozen=True):
    nginx: Nginx
    servers: dict[str, Server]
    """By the address that nginx knows them by."""

    def logs(self) -> list[str]:
        return [server.log.read_text() for server in self.servers.values()]

    def client(self, **headers: str) -> httpx.AsyncClient:
        transport = httpx.AsyncHTTPTransport(verify=self.nginx.trust, local_address=ME)
        client = httpx.AsyncClient(
            transport=transport, base_url=self.nginx.url, headers={"Host": NAME, **headers}, timeout=PATIENCE
        )
        client.event_hooks["request"] = [_name_the_host]
        return client


async def _name_the_host(request: httpx.Request) -> None:
    request.extensions["sni_hostname"] = NAME


@pytest.fixture(scope="module")
def site(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    nginx.program()
    folder = tmp_path_factory.mktemp("site")
    with databases.migrated() as url:
        started = [
            Server(folder / name, url, trusted_proxies="127.0.0.1/32", expression_processes="1") for name in ("a", "b")
        ]
        try:
            servers = {asyncio.run(server.url()).removeprefix("http://"): server for server in started}
            with nginx.running(folder / "nginx", list(servers)) as running:
                yield Site(running, servers)
        finally:
            for server in started:
                server.process.kill()
                server.process.wait()


class Signed(msgspec.Struct, frozen=True):
    client: httpx.AsyncClient
    company: str
    workflow: str

    async def trigger(self) -> Any:
        answer = await self.client.post(f"/api/v1/workflows/{self.workflow}/trigger", json={})
        assert answer.status_code == 201, answer.text
        return answer.json()


@asynccontextmanager
async def signed_in(site: Site, **headers: str) -> AsyncIterator[Signed]:
    """Somebody with a workflow that can be triggered."""
    async with site.client(**headers) as client:

        async def made(path: str, body: Any) -> Any:
            answer = await client.post(f"/api/v1{path}", json=body)
            assert answer.status_code == 201, answer.text
            return answer.json()

        email = f"{uuid.uuid4()}@example.com"
        tokens = await made("/auth/register", {"email": email, "password": PASSWORD})
        client.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        company = await made("/companies", {"name": "Acme"})
        project = await made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
        body = {"name": "Greet", "config_yaml": DEFINITION}
        workflow = await made(f"/projects/{project['id']}/workflows", body)
        assert (await client.post(f"/api/v1/workflows/{workflow['id']}/deploy")).status_code == 200
        yield Signed(client, company["id"], workflow["id"])


async def test_who_asked_is_the_real_address_whatever_the_caller_writes(site: Site) -> None:
    forged = {
        "X-Forwarded-For": "203.0.113.66",
        "Forwarded": "for=203.0.113.66;host=evil.example;proto=http",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "http",
        "X-Real-IP": "203.0.113.66",
    }
    async with signed_in(site, **forged) as person:
        entries = (await person.client.get(f"/api/v1/companies/{person.company}/audit")).json()["items"]
        assert {entry["ip_address"] for entry in entries} == {ME}
        answer = await person.client.post(
            "/user/create", data={"email": f"{uuid.uuid4()}@example.com", "password": PASSWORD, "signin": "1"}
        )
        assert answer.status_code == 200
        assert "secure" in answer.headers["set-cookie"].lower()


async def test_a_request_has_one_id_in_the_answer_and_in_both_logs(site: Site) -> None:
    own = str(uuid.uuid4())
    async with site.client() as client:
        made = (await client.post("/user/auth?email=hush@example.com", data={})).headers["x-request-id"]
        assert str(uuid.UUID(made)) == made
        kept = await client.post("/user/auth", headers={"X-Request-ID": own})
        assert kept.headers["x-request-id"] == own
        foreign = await client.post("/user/auth", headers={"X-Request-ID": '"} forged line'})
        assert str(uuid.UUID(foreign.headers["x-request-id"]))
    await until(lambda: {made, own} <= {line["request_id"] for line in site.nginx.lines()})
    # A server writes its line when the answer has left.
    await until(lambda: all(any(id_ in log for log in site.logs()) for id_ in (made, own)))
    assert "hush" not in (site.nginx.folder / "log").read_text()


async def test_a_body_over_the_limit_is_the_same_problem_from_nginx_as_from_a_server(site: Site) -> None:
    async with site.client(**{"Content-Type": "application/json"}) as client:
        answer = await client.post("/api/v1/auth/login", content=b"x" * (1024 * 1024 + 1))
        fits = await client.post("/api/v1/auth/login", content=b"x" * (1024 * 1024))
    server = next(server for server in site.servers.values() if server.process.poll() is None)
    async with httpx.AsyncClient(base_url=server.announced(), timeout=PATIENCE) as client:
        direct = await client.post("/api/v1/auth/login", content=b"x" * (1024 * 1024 + 1))
    assert (answer.status_code, direct.status_code, fits.status_code) == (413, 413, 400)
    assert answer.headers["content-type"] == direct.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == answer.json()["instance"].removeprefix("urn:uuid:")
    for member in ("type", "title", "status"):
        assert answer.json()[member] == direct.json()[member]


async def test_plain_http_is_sent_to_https_and_metrics_are_for_nobody_outside(site: Site) -> None:
    async with site.client() as client:
        assert (await client.get("/metrics")).status_code == 403
        assert (await client.get("/readyz")).json() == {"status": "ready"}
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        answer = await client.get(f"{site.nginx.plain}/docs?a=b", headers={"Host": NAME})
    assert (answer.status_code, answer.headers["location"]) == (301, f"https://{NAME}/docs?a=b")


async def test_a_stream_hears_what_another_server_was_asked_and_resumes_when_its_own_is_killed(site: Site) -> None:
    async with signed_in(site) as person:
        async with listening(person) as stream:
            listens = await until_found(lambda: server_of_a_stream(site))
            execution = await person.trigger()
            asked = await line_of(site, f"/api/v1/workflows/{person.workflow}/trigger")
            assert asked["server"] in site.servers
            assert asked["server"] != listens, "the other one has nothing to do"
            seen = [await stream.__anext__()]
            while seen[-1]["type"] != "workflow.completed":
                seen.append(await stream.__anext__())
            assert {event["execution_id"] for event in seen} == {execution["id"]}

            await site.servers[listens].kill()
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError, StopAsyncIteration)):
                await stream.__anext__()
        missed = await person.trigger()
        async with listening(person, after=seen[-1]["id"]) as stream:
            later = await person.trigger()
            ended: list[str] = []
            while len(ended) < 2:
                event = await stream.__anext__()
                assert event["id"] not in {each["id"] for each in seen}, "heard twice"
                seen.append(event)
                if event["type"] == "workflow.completed":
                    ended.append(event["execution_id"])
        assert sorted(ended) == sorted([missed["id"], later["id"]])
        path = f"/api/v1/workflows/{person.workflow}/events?page_size=100"
        stored = [each["id"] for each in (await person.client.get(path)).json()["items"] if each["execution_id"]]
        assert [each["id"] for each in seen] == sorted(stored), "everything once, in order"


def test_every_stream_that_there_is_is_passed_on_as_one() -> None:
    place = re.search(r"location ~ (\S+) \{[^}]*proxy_buffering off", nginx.CONFIGURATION.read_text())
    assert place is not None
    streams = [f"/api/v1{path}".replace("{id}", "0") for _, path in ROUTES if path.endswith("/stream")]
    assert len(streams) >= 4
    assert [path for path in streams if not re.search(place[1], path)] == []


@asynccontextmanager
async def listening(person: Signed, after: int | None = None) -> AsyncIterator[AsyncIterator[Any]]:
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    path = f"/api/v1/workflows/{person.workflow}/events/stream"
    async with person.client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        lines = answer.aiter_lines()
        assert await anext(lines) == ": hello", "not kept back until there is more of it"
        yield _events(lines)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Any]:
    async for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def server_of_a_stream(site: Site) -> str | None:
    for address in site.servers:
        async with httpx.AsyncClient(base_url=f"http://{address}") as client:
            with suppress(httpx.TransportError):
                for family in text_string_to_metric_families((await client.get("/metrics")).text):
                    if family.name == "penstock_stream_listeners" and family.samples[0].value == 1:
                        return address
    return None


async def until_found(look: Any) -> Any:
    async with asyncio.timeout(PATIENCE):
        while (found := await look()) is None:
            await asyncio.sleep(0.02)
    return found


async def line_of(site: Site, path: str) -> Any:
    return (await until(lambda: [line for line in site.nginx.lines() if line["path"] == path]))[-1]


class _Quitter:
    """A server that takes a request and is gone before it answers. Who asked cannot know whether it ran."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with closing(connection):
                    self.requests.append(connection.recv(65536).decode().split(" ", 1)[0])

    def close(self) -> None:
        self._socket.close()


async def test_a_post_that_may_have_run_is_never_sent_to_a_second_server(tmp_path: Path) -> None:
    with closing(_Quitter()) as one, closing(_Quitter()) as two:
        with nginx.running(tmp_path / "nginx", [one.address, two.address]) as running:
            async with Site(running, {}).client() as client:
                answer = await client.post("/api/v1/workflows/x/trigger", json={})
                assert [*one.requests, *two.requests] == ["POST"]
                assert (answer.status_code, answer.headers["content-type"]) == (502, "application/problem+json")
                assert answer.json()["type"] == "urn:penstock:problem:unavailable"
                assert answer.headers["x-request-id"] in answer.json()["instance"]
        with nginx.running(tmp_path / "again", [one.address, two.address]) as running:
            async with Site(running, {}).client() as client:
                await client.get("/api/v1/workflows")
                assert [*one.requests, *two.requests].count("GET") == 2, "what only reads may be asked of both"
