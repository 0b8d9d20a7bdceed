"""Up, ready, or neither: what an orchestrator is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.app import create_app
from penstock.settings import load
from penstock.storage import postgresql
from tests.conftest import client_of, started

pytestmark = pytest.mark.anyio


async def test_a_server_with_its_database_is_up_and_ready(client: httpx.AsyncClient) -> None:
    for url, status in (("/healthz", "ok"), ("/readyz", "ready")):
        answer = await client.get(url)
        assert (answer.status_code, answer.json()) == (200, {"status": status})


@asynccontextmanager
async def away(database_url: str) -> AsyncIterator[None]:
    """PostgreSQL throws everyone out and lets nobody in."""
    name = urlsplit(database_url).path.removeprefix("/")
    admin = await asyncpg.connect(database_url.replace(f"/{name}?", "/postgres?"))
    try:
        await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await admin.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1", name)
        yield
        await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    finally:
        await admin.close()


def assert_away(answer: httpx.Response) -> None:
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:penstock:problem:unavailable"
    assert answer.json()["detail"].startswith("the database cannot be reached")
    assert "test_" not in answer.text
    assert int(answer.headers["retry-after"]) > 0


async def test_a_server_whose_file_is_gone_is_up_but_not_ready(tmp_path: Path) -> None:
    settings = load(environ={}, overrides={"database": f"sqlite:///{tmp_path}/penstock.db"}).settings
    async with started(create_app(settings)) as app, client_of(app) as client:
        (tmp_path / "penstock.db").rename(tmp_path / "gone.db")
        assert_away(await client.get("/readyz"))
        assert (await client.get("/healthz")).status_code == 200
        (tmp_path / "gone.db").rename(tmp_path / "penstock.db")
        assert (await client.get("/readyz")).status_code == 200


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_while_postgresql_is_away_what_needs_it_is_503_and_works_when_it_is_back(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setattr(postgresql, "delays", lambda **_: iter([0.001]))
    client.cookies["session"] = "x" * 64
    async with away(database_url):
        assert_away(await client.get("/readyz"))
        assert_away(await client.get("/user/get"))
        assert_away(await client.post("/project", json={"name": "apollo"}))
        assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/readyz")).status_code == 200
    assert (await client.post("/project", json={"name": "apollo"})).status_code == 201


async def test_metrics_are_readable(client: httpx.AsyncClient) -> None:
    await client.get("/healthz")
    names = {family.name for family in text_string_to_metric_families((await client.get("/metrics")).text)}
    assert {"penstock_http_request_seconds", "penstock_http_requests_in_flight"} <= names
