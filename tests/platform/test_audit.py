"""The audit log: everything is in it, nobody changes it, and it is read quickly however long it grows."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator
from itertools import combinations, product
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest
from sqlalchemy import bindparam, insert, select

from penstock.accounts.sessions import Visitor
from penstock.http.times import micros, rfc3339
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.audit import counting, queries
from penstock.platform.companies import queries as companies
from penstock.platform.paging import END_OF_TIME
from penstock.platform.retention import BATCH, Retention, sweep_audit
from penstock.settings import Settings
from penstock.storage import Database, Statement, StorageError, now
from penstock.storage.opening import sqlite_path
from penstock.storage.platform_tables import audit_entries
from tests.conftest import Serve
from tests.platform.people import API, PASSWORD, Person, register
from tests.platform.records import count, database_of, id_of

pytestmark = pytest.mark.anyio

ENTRY = ["id", "user_id", "action", "resource_type", "resource_id", "details", "ip_address", "user_agent", "created_at"]
ADD = Statement(insert(audit_entries).values({column.name: bindparam(column.name) for column in audit_entries.c}))


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """It sweeps nothing: entries here are from 1970, and a server that has just started looks for such at any time."""
    async with serve(limit_create=1000, auth_rate_limit=1000, audit_retention="0s") as opened:
        yield opened


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> Person:
    return await register(client, "ann")


@pytest.fixture
async def acme(ann: Person) -> str:
    return str((await ann.made("/companies", {"name": "Acme"}))["id"])


async def log_of(person: Person, company_id: str, query: str = "") -> list[dict[str, Any]]:
    answer = await person.get(f"/companies/{company_id}/audit?page_size=100&{query}")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


async def actions(person: Person, company_id: str, query: str = "") -> list[str]:
    return [entry["action"] for entry in await log_of(person, company_id, query)]


def entry(**values: Any) -> dict[str, Any]:
    """A row as stored."""
    blank = {column.name: None if column.nullable else "" for column in audit_entries.c}
    return blank | {"id": uuid7(), "details": "{}", "created_at": now()} | values


async def write(database: Database, rows: list[dict[str, Any]]) -> None:
    async with database.transaction() as tx:
        await tx.run_many(ADD, rows)


# --- what is in it


async def test_every_write_leaves_an_entry_with_what_changed(client: httpx.AsyncClient, ann: Person, acme: str) -> None:
    bob = await register(client, "bob")
    bob_id = await id_of(bob)
    await ann.put(f"/companies/{acme}", {"name": "Ajax", "metadata": {"api_token": "hush", "tier": 1}})
    await ann.made(f"/companies/{acme}/members", {"user_id": bob_id, "role": "viewer"})
    await ann.put(f"/companies/{acme}/members/{bob_id}", {"role": "editor"})
    north = (await ann.made(f"/companies/{acme}/organizations", {"name": "North"}))["id"]
    await ann.put(f"/organizations/{north}", {"slug": "n"})
    project = (await ann.made(f"/organizations/{north}/projects", {"name": "Apollo"}))["id"]
    await ann.put(f"/projects/{project}", {"description": "moon"})
    await ann.made(f"/projects/{project}/members", {"user_id": bob_id, "role": "viewer"})
    await ann.post(f"/projects/{project}/members", {"user_id": bob_id, "role": "admin"})
    await bob.delete(f"/projects/{project}/members/{bob_id}")
    await ann.delete(f"/projects/{project}")
    await ann.delete(f"/organizations/{north}")
    await ann.delete(f"/companies/{acme}/members/{bob_id}")
    entries = (await log_of(ann, acme))[::-1]
    assert [one["action"] for one in entries] == [
        "company.create",
        "company.update",
        "member.add",
        "member.update",
        "organization.create",
        "organization.update",
        "project.create",
        "project.update",
        "member.add",
        "member.update",
        "member.remove",
        "project.delete",
        "organization.delete",
        "member.remove",
    ]
    created, updated = entries[:2]
    assert list(created) == ENTRY
    assert (created["user_id"], created["resource_type"], created["resource_id"]) == (await id_of(ann), "company", acme)
    assert created["ip_address"] == "198.51.100.68"
    assert created["user_agent"].startswith("python-httpx/")
    assert updated["details"]["name"] == {"before": "Acme", "after": "Ajax"}
    assert updated["details"]["metadata"]["after"] == {"api_token": "********", "tier": 1}
    assert "slug" not in updated["details"]
    assert entries[3]["details"]["role"] == {"before": "viewer", "after": "editor"}
    assert entries[10]["user_id"] == bob_id
    assert [one["created_at"] for one in entries] == sorted(one["created_at"] for one in entries)


async def test_what_changes_nothing_leaves_no_entry(ann: Person, acme: str) -> None:
    await ann.put(f"/companies/{acme}", {})
    await ann.put(f"/companies/{acme}", {"name": "Acme"})
    await ann.put(f"/companies/{acme}/members/{await id_of(ann)}", {"role": "owner"})
    await ann.post("/companies", {"name": "Acme"})
    await ann.get(f"/companies/{acme}")
    assert await actions(ann, acme) == ["company.create"]


async def test_sign_ins_of_members_stand_in_the_log_of_every_company_they_are_in(
    client: httpx.AsyncClient, ann: Person, acme: str
) -> None:
    bob = await register(client, "bob")
    other = (await ann.made("/companies", {"name": "Other"}))["id"]
    north = (await ann.made(f"/companies/{other}/organizations", {"name": "North"}))["id"]
    body = {"user_id": await id_of(bob), "role": "viewer"}
    await client.post(f"{API}/auth/login", json={"email": bob.email, "password": PASSWORD})
    assert "auth.login" not in await actions(ann, acme), "where they signed in before they joined is nobody's business"
    await ann.made(f"/companies/{acme}/members", body)
    await ann.made(f"/companies/{north}/members", body)
    agent = {"user-agent": "door/1"}
    await client.post(f"{API}/auth/login", json={"email": bob.email, "password": PASSWORD}, headers=agent)
    await client.post(f"{API}/auth/login", json={"email": bob.email, "password": "wrong wrong"}, headers=agent)
    await client.post("/user/auth", data={"email": bob.email, "password": PASSWORD}, headers=agent)
    await client.post("/user/auth", data={"email": bob.email, "password": "wrong wrong"}, headers=agent)
    for company_id in (acme, other):
        entries = [one for one in await log_of(ann, company_id) if one["action"].startswith("auth.")]
        assert sorted(one["action"] for one in entries) == ["auth.login", "auth.login", *["auth.login_failed"] * 2]
        assert {one["user_id"] for one in entries} == {await id_of(bob)}
        assert {one["ip_address"] for one in entries} == {"203.0.113.7"}
        assert {one["user_agent"] for one in entries} == {"door/1"}
        assert "wrong wrong" not in msgspec.json.encode(entries).decode()
    assert not [one for one in await actions(ann, north) if one.startswith("auth.")]
    await ann.delete(f"/companies/{acme}/members/{await id_of(bob)}")
    assert (await actions(ann, acme)).count("auth.login") == 2, "what was seen stays when they leave"


async def test_a_refusal_is_noted_whether_the_guard_or_a_closer_rule_refused(
    client: httpx.AsyncClient, ann: Person, acme: str
) -> None:
    bob, eve = await register(client, "bob"), await register(client, "eve")
    await ann.made(f"/companies/{acme}/members", {"user_id": await id_of(bob), "role": "admin"})
    north = (await ann.made(f"/companies/{acme}/organizations", {"name": "North"}))["id"]
    assert (await eve.get(f"/companies/{acme}")).status_code == 403
    refused = await bob.put(f"/companies/{acme}/members/{await id_of(ann)}", {"role": "viewer"})
    assert refused.status_code == 403
    assert (await bob.delete(f"/organizations/{north}")).status_code == 403
    denials = await log_of(ann, acme, "action=access.denied")
    assert [(one["user_id"], one["resource_type"], one["resource_id"]) for one in denials] == [
        (await id_of(bob), "company", north),
        (await id_of(bob), "company", acme),
        (await id_of(eve), "company", acme),
    ]
    assert denials[1]["details"]["method"] == "PUT"
    assert denials[1]["details"]["reason"] == refused.json()["detail"]
    assert await actions(ann, north, "action=access.denied") == ["access.denied"]


async def test_the_log_of_an_organization_holds_its_own_entries_and_that_of_the_company_holds_all(
    ann: Person, acme: str
) -> None:
    north, south = [
        (await ann.made(f"/companies/{acme}/organizations", {"name": name}))["id"] for name in ("North", "South")
    ]
    project = (await ann.made(f"/organizations/{north}/projects", {"name": "Apollo"}))["id"]
    await ann.put(f"/projects/{project}", {"name": "Artemis"})
    await ann.made(f"/organizations/{acme}/projects", {"name": "Direct"})
    assert await actions(ann, north) == ["project.update", "project.create", "organization.create"]
    assert await actions(ann, south) == ["organization.create"]
    assert len(await actions(ann, acme)) == 6
    await ann.delete(f"/organizations/{north}")
    assert (await actions(ann, acme))[0] == "organization.delete"
    assert "project.update" in await actions(ann, acme), "what happened in it stays"


async def test_nothing_remains_of_an_operation_that_fails_after_its_entry(
    ann: Person, acme: str, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = database_of(client)
    before = await count(database, "audit_entries")
    monkeypatch.setattr(companies, "DELETE", companies.UPDATE)  # lacks its parameters, so it fails
    assert (await ann.delete(f"/companies/{acme}")).status_code == 500
    assert await count(database, "audit_entries") == before
    monkeypatch.undo()

    async def broken(*_: Any, **__: Any) -> None:
        raise StorageError("no entry, no deed")

    monkeypatch.setattr(audit, "by", broken)
    assert (await ann.put(f"/companies/{acme}", {"name": "Ajax"})).status_code == 500
    assert (await ann.get(f"/companies/{acme}")).json()["name"] == "Acme"


async def test_an_entry_can_be_written_without_a_request_and_strange_headers_do_no_harm(database: Database) -> None:
    visitor = Visitor("203.0.113.9", "a\0b" + "x" * 900, "", False, "some-request")
    async with database.transaction() as tx:
        await audit.record(tx, visitor, "auth.login", user_id=None, details={"password": "x", "n": {"token": ["y"]}})
    row = (await database.all(Statement(audit_entries.select())))[0]
    assert (row["ip_address"], row["request_id"], row["resource_type"]) == ("203.0.113.9", "some-request", "auth")
    assert row["user_agent"].startswith("abxxx")
    assert len(row["user_agent"]) < 501
    assert msgspec.json.decode(row["details"]) == {"password": "********", "n": {"token": ["********"]}}


# --- reading it


async def test_filters_each_and_together(client: httpx.AsyncClient, ann: Person, acme: str) -> None:
    bob_id, resource = uuid7(), uuid7()
    rows = [
        entry(company_id=acme, action=action, resource_type=kind, resource_id=res, user_id=user, created_at=at)
        for at, (action, kind, res, user) in enumerate(
            (a, k, r, u) for a in ("x.a", "x.b") for k in ("k", "l") for r in (resource, None) for u in (bob_id, None)
        )
    ]
    await write(database_of(client), rows)
    values = {"action": "x.a", "resource_type": "k", "resource_id": resource.upper(), "user_id": bob_id.upper()}
    for size in range(5):
        for chosen in combinations(values, size):
            query = "&".join(f"{name}={values[name]}" for name in chosen)
            answer = (await ann.get(f"/companies/{acme}/audit?until=1970-01-02T00:00:00Z&{query}")).json()
            assert answer["total"] == len(answer["items"]) == 16 // 2**size, chosen
            assert [one["created_at"] for one in answer["items"]] == sorted(
                (one["created_at"] for one in answer["items"]), reverse=True
            )
    for query in ("action=nothing", "user_id=nobody", f"user_id={uuid7()}", "resource_id=x", "action=%25"):
        assert await log_of(ann, acme, query) == [], query


async def test_since_is_inclusive_until_is_exclusive_and_pages_follow_each_other(
    client: httpx.AsyncClient, ann: Person, acme: str
) -> None:
    await write(database_of(client), [entry(company_id=acme, action="x.y", created_at=at) for at in range(10)])
    path = f"/companies/{acme}/audit?action=x.y"
    times = [rfc3339(at) for at in range(10)]
    answer = (await ann.get(f"{path}&since={times[3]}&until={times[7]}&page=2&page_size=3")).json()
    assert (answer["total"], answer["page"], answer["page_size"]) == (4, 2, 3)
    assert [one["created_at"] for one in answer["items"]] == [times[3]]
    # The same instant in another zone, and finer than we store.
    for since in (
        "1970-01-01T02:00:00.000003%2B02:00",
        "1970-01-01t00:00:00.0000021z",
        "1969-12-31T22:30:00.000003-01:30",
    ):
        assert (await ann.get(f"{path}&since={since}")).json()["total"] == 7, since
    for bad in (
        "yesterday",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "",
        "0",
        "2026-01-01T00:00:00+02:00",
    ):
        for name in ("since", "until"):
            answer = await ann.get(f"{path}&{name}={bad}")
            assert answer.status_code == 400, bad
            assert answer.json()["errors"][0]["path"] == f"/{name}"
    for bad in ("page=0", "page_size=101", "company_id=x", "action=a&action=b", "action=%00"):
        assert (await ann.get(f"/companies/{acme}/audit?{bad}")).status_code == 400, bad


def test_times_of_rfc_3339_are_read_to_the_microsecond() -> None:
    assert micros("1970-01-01T00:00:00Z") == 0
    assert micros("2026-11-15T08:53:05.123456Z") == micros("2026-11-15T10:53:05.123456+02:00")
    assert micros("1970-01-01T00:00:00.9999991Z") == 1_000_000
    assert micros("1970-01-01T00:00:00.5Z") == 500_000
    for text in (
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "٢026-01-01T00:00:00Z",
        "2026-W01-1T00:00:00Z",
    ):
        try:
            micros(text)
        except ValueError:
            continue
        assert text.startswith(("0001", "9999"))


async def test_no_filter_makes_the_database_read_the_whole_table(
    client: httpx.AsyncClient, database_url: str, acme: str
) -> None:
    database = database_of(client)
    rows = [
        entry(
            company_id=acme if at % 40 == 0 else uuid7(),
            organization_id=None,
            action=f"x.{at % 50}",
            resource_type=f"k{at % 9}",
            resource_id=str(at % 300),
            user_id=None,
            created_at=at,
        )
        for at in range(6000)
    ]
    await write(database, rows)
    names = ("organization_id", *queries.FILTERS)
    values: dict[str, Any] = {name: uuid7() if name in {"organization_id", "user_id"} else "1" for name in names}
    values |= {"company_id": acme, "since": 0, "until": 2**62, "limit": 50, "offset": 0}
    values |= {"after_at": 0, "after_id": uuid7(), "older_than": 5}
    connection: Any = None
    if database.dialect == "postgresql":
        connection = await asyncpg.connect(database_url)
        await connection.execute("ANALYZE audit_entries")
        # So small a table it would rather read whole; what we promise is that it never has to.
        await connection.execute("SET enable_seqscan = off")
    for size in range(len(names) + 1):
        for chosen in combinations(names, size):
            given = frozenset(chosen)
            for statement in (queries.page_of(given), counting.count_of(given), queries.batch_of(given)):
                plan = await _plan(statement, values, connection, database_url)
                assert "Seq Scan" not in plan, (chosen, plan)
                assert "SCAN audit_entries" not in plan, (chosen, plan)
                assert "ix_audit_entries_company_id" in plan, (chosen, plan)
    if connection is not None:
        await connection.close()


async def _plan(statement: Statement, values: dict[str, Any], connection: Any, url: str) -> str:
    if connection is None:
        path = sqlite_path(url)
        assert path is not None
        text, params = statement.for_sqlite(values)
        file = sqlite3.connect(path)
        try:
            return "\n".join(row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {text}", params))
        finally:
            file.close()
    text, ordered = statement.for_postgresql(values)
    return "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {text}", *ordered))


async def test_totals_equal_a_count_whatever_is_asked_whoever_wrote_at_once_and_whatever_retention_took(
    database: Database, settings_with: Any
) -> None:
    """Eight at once, each with several entries in two logs, and not in the same order."""
    chance, start = random.Random(1), now() // counting.DAY * counting.DAY - 40 * counting.DAY
    logs, users = sorted(uuid7() for _ in range(2)), [uuid7() for _ in range(3)]
    organization = uuid7()

    async def writer() -> None:
        for _ in range(15):
            rows = [
                entry(
                    company_id=company,
                    organization_id=chance.choice([None, organization]) if company == logs[0] else None,
                    action=chance.choice(["x.a", "x.b", "y.a"]),
                    resource_type=chance.choice(["x", "y"]),
                    user_id=chance.choice([*users, None]),
                    created_at=start + chance.randrange(5 * counting.DAY) if chance.random() < 0.8 else now(),
                )
                for company in logs
                for _ in range(3)
            ]
            await write(database, rows)

    await asyncio.gather(*(writer() for _ in range(8)))
    await _check_totals(database, logs, organization, users[0], start)
    day = now() // counting.DAY - 38
    await Retention(settings_with(audit_retention="37d"), database).sweep()
    assert 0 < await count(database, "audit_entries") < 8 * 15 * 6
    await _check_totals(database, logs, organization, users[0], start)
    assert await count(database, "audit_counts", "day BETWEEN 0 AND :day", day=day) == 0
    await Retention(settings_with(audit_retention="1s"), database).sweep()
    assert await count(database, "audit_entries", "created_at < :start", start=start + 5 * counting.DAY) == 0


async def _check_totals(database: Database, logs: list[str], organization: str, user: str, start: int) -> None:
    rows = await database.all(Statement(select(audit_entries)))
    noon = start + 2 * counting.DAY + counting.DAY // 2
    periods = [(0, END_OF_TIME), (noon, END_OF_TIME), (0, noon), (start, noon + 2 * counting.DAY), (noon, noon + 1)]
    places: list[dict[str, Any]] = [{"company_id": logs[0]}, {"company_id": logs[1]}]
    places.append({"company_id": logs[0], "organization_id": organization})
    filters: list[dict[str, Any]] = [{}, {"action": "x.a"}, {"resource_type": "y"}, {"user_id": user}]
    filters += [{"action": "x.b", "resource_type": "y"}, {"action": "y.a", "user_id": user}, {"action": "none"}]
    for place, chosen, (since, until) in product(places, filters, periods):
        given = place | chosen
        expected = sum(
            since <= row["created_at"] < until and all(str(row[name]) == value for name, value in given.items())
            for row in rows
        )
        assert await counting.total(database, given, since, until) == expected, (given, since, until)


# --- taking it away


async def test_the_export_is_one_entry_on_each_line_oldest_first_and_all_of_them(
    client: httpx.AsyncClient, ann: Person, acme: str
) -> None:
    # Many of one instant, so that a batch ends in the middle of them.
    rows = [entry(company_id=acme, action="x.y", created_at=at // 1500) for at in range(3500)]
    await write(database_of(client), rows)
    answer = await ann.get(f"/companies/{acme}/audit/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    assert [one["id"] for one in lines[:3500]] == sorted(one["id"] for one in rows[:1500]) + sorted(
        one["id"] for one in rows[1500:3000]
    ) + sorted(one["id"] for one in rows[3000:])
    assert lines[3500]["action"] == "company.create"
    assert list(lines[0]) == ENTRY
    part = await ann.get(f"/companies/{acme}/audit/export?since={rfc3339(1)}&until={rfc3339(2)}")
    assert len(part.content.splitlines()) == 1500
    none = await ann.get(f"/companies/{acme}/audit/export?until={rfc3339(0)}")
    assert (none.status_code, none.content) == (200, b"")
    for query, lines_left in (("action=x.y", 3500), (f"action=x.y&since={rfc3339(2)}", 500), ("user_id=nobody", 0)):
        part = await ann.get(f"/companies/{acme}/audit/export?{query}")
        assert (part.status_code, len(part.content.splitlines())) == (200, lines_left)
    for query in ("since=x", "until=", "actions=x.y", "page=1"):
        assert (await ann.get(f"/companies/{acme}/audit/export?{query}")).status_code == 400


async def test_the_export_holds_one_batch_at_a_time_and_ends_when_the_client_goes(
    client: httpx.AsyncClient, ann: Person, acme: str
) -> None:
    await write(database_of(client), [entry(company_id=acme, action="x.y", created_at=at) for at in range(5000)])
    sent: list[int] = []
    gone = asyncio.Event()
    app: Any = client.app  # type: ignore[attr-defined]

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message.get("body"):
            sent.append(message["body"].count(b"\n"))
            if len(sent) == 2:
                gone.set()
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    path = f"{API}/companies/{acme}/audit/export"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"authorization", f"Bearer {ann.tokens['access_token']}".encode())],
        "client": ("203.0.113.7", 50000),
        "server": ("localhost", 80),
        "state": {},
    }
    await asyncio.wait_for(app(scope, receive, send), 60)
    assert sent in ([1000, 1000], [1000, 1000, 1000]), "a batch may be on its way when the client is found gone"


# --- keeping it


async def test_nobody_changes_or_deletes_an_entry_with_whatever_statement(database: Database) -> None:
    row = entry(action="x.y")
    await write(database, [row, entry(action="x.z")])
    attacks = [
        "UPDATE audit_entries SET action = 'nothing'",
        f"UPDATE audit_entries SET user_id = NULL WHERE id = '{row['id']}'",
        "DELETE FROM audit_entries",
        f"DELETE FROM audit_entries WHERE id = '{row['id']}'",
        (
            f"INSERT INTO audit_entries SELECT * FROM audit_entries WHERE id = '{row['id']}' "
            "ON CONFLICT (id) DO UPDATE SET action = 'nothing'"
        ),
    ]
    if database.dialect == "sqlite":
        columns = ", ".join(column.name for column in audit_entries.c)
        shown = columns.replace("action", "'nothing'")
        attacks += [
            f"INSERT OR REPLACE INTO audit_entries ({columns}) SELECT {shown} FROM audit_entries LIMIT 1",
            (
                f"REPLACE INTO audit_entries (rowid, {columns}) "
                f"SELECT rowid, {shown.replace('id,', 'hex(randomblob(16)),', 1)} FROM audit_entries LIMIT 1"
            ),
            "UPDATE OR REPLACE audit_entries SET id = (SELECT max(id) FROM audit_entries)",
        ]
    else:
        attacks += ["TRUNCATE audit_entries", "TRUNCATE audit_entries CASCADE"]
    for attack in attacks:
        with pytest.raises(StorageError):
            async with database.transaction() as tx:
                await tx.run_text(attack)
        assert await count(database, "audit_entries") == 2, attack
        assert await count(database, "audit_entries", "action IN ('x.y', 'x.z')") == 2, attack


async def test_retention_shuts_the_door_behind_it(database: Database) -> None:
    await write(database, [entry(action="x.old", created_at=1), entry(action="x.new")])

    async def sweep_and_more() -> None:
        async with database.transaction() as tx:
            assert await sweep_audit(tx, older_than=2) == 1
            await tx.run_text("DELETE FROM audit_entries")

    with pytest.raises(StorageError):
        await sweep_and_more()
    assert await count(database, "audit_entries") == 2
    async with database.transaction() as tx:
        assert await sweep_audit(tx, older_than=2) == 1
    for attack in ("DELETE FROM audit_entries", "UPDATE audit_entries SET action = 'x'"):
        with pytest.raises(StorageError):
            async with database.transaction() as tx:
                await tx.run_text(attack)
    assert await count(database, "audit_entries") == 1


async def test_what_is_older_than_its_keep_goes_in_small_batches(
    database: Database, settings_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 86_400 * 1_000_000
    old = [entry(action="x.old", created_at=now() - 366 * day) for _ in range(2 * BATCH + 1)]
    await write(database, [*old, entry(action="x.new", created_at=now() - 364 * day)])
    settings: Settings = settings_with()
    batches: list[int] = []

    async def counted(tx: Any, older_than: int) -> int:
        batches.append(await sweep_audit(tx, older_than))
        return batches[-1]

    monkeypatch.setattr("penstock.platform.retention.sweep_audit", counted)
    await Retention(settings, database).sweep()
    assert batches == [BATCH, BATCH, 1]
    assert await count(database, "audit_entries") == 1
    await Retention(settings_with(audit_retention="0s"), database).sweep()
    await Retention(settings_with(audit_retention="365d"), database).sweep()
    assert await count(database, "audit_entries") == 1
    await Retention(settings_with(audit_retention="30d"), database).sweep()
    assert await count(database, "audit_entries") == 0


async def test_the_server_sweeps_by_itself_when_it_starts(serve: Serve) -> None:
    async with serve(audit_retention="0s") as client:
        await write(database_of(client), [entry(action="x.old", created_at=1)])
    async with serve() as client:
        async with asyncio.timeout(60):
            while await count(database_of(client), "audit_entries"):
                await asyncio.sleep(0.01)
