"""Workflows as records: what is promised of their members, filters, visibility, locking and lifecycle."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from penstock.engine.asked import EngineRefused, Pending
from penstock.ids import uuid7
from penstock.platform.workflows import lists
from penstock.storage import Database, now
from penstock.storage.database import Busy, Unavailable
from tests.platform.people import register
from tests.platform.records import add, count, database_of
from tests.platform.scene import VALID, Scene, id_of, set_up

pytestmark = pytest.mark.anyio

MEMBERS = [
    "id", "project_id", "name", "slug", "description", "config_yaml", "version", "status", "deployed_version",
    "created_by", "updated_by", "created_at", "updated_at", "validation",
]  # fmt: skip


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_up(client)


async def _execution(database: Database, workflow_id: str, status: str = "running") -> str:
    id_ = uuid7()
    await add(
        database,
        "executions",
        id=id_,
        workflow_id=workflow_id,
        version=1,
        trigger_type="manual",
        trigger_data="{}",
        status=status,
        created_at=now(),
        completed_at=None if status in {"pending", "running"} else now(),
        metadata="{}",
    )
    return id_


class TestCreate:
    async def test_a_new_workflow_is_a_draft_in_version_1_with_its_members_in_the_contracts_order(
        self, scene: Scene
    ) -> None:
        path = f"/projects/{scene.project['id']}/workflows"
        made = await scene.owner.post(path, {"name": "  Größe & Wert ", "config_yaml": VALID})
        assert made.status_code == 201
        workflow = made.json()
        assert list(workflow) == MEMBERS
        assert made.headers["location"] == f"/api/v1/workflows/{workflow['id']}"
        assert made.headers["etag"] == '"1"'
        me = await id_of(scene.owner)
        assert (workflow["name"], workflow["slug"]) == ("Größe & Wert", "grosse-wert")
        assert (workflow["version"], workflow["status"], workflow["deployed_version"]) == (1, "draft", None)
        assert (workflow["created_by"], workflow["updated_by"]) == (me, me)
        assert workflow["validation"] == {"valid": True, "errors": []}
        assert (await scene.owner.get(f"/workflows/{workflow['id']}")).json() == workflow

    async def test_an_empty_definition_is_valid_and_a_broken_one_is_kept_with_what_is_wrong(self, scene: Scene) -> None:
        assert (await scene.workflow("Empty", ""))["validation"] == {"valid": True, "errors": []}
        broken = await scene.workflow("Broken", "do: [\n")
        assert broken["config_yaml"] == "do: [\n"
        assert broken["validation"]["valid"] is False
        (error,) = broken["validation"]["errors"]
        assert error["path"] == ""
        assert error["message"].startswith("not YAML")
        assert error["line"] >= 1

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"name": " "},
            {"name": "x" * 256},
            {"name": "a\u0000b"},
            {"name": "a", "slug": "Not A Slug"},
            {"name": "a", "slug": ""},
            {"name": "a", "config_yaml": "a\u0000"},
            {"name": "a", "config_yaml": None},
            {"name": "a", "description": "x" * 10_001},
            {"name": "a", "status": "active"},
            {"name": "a", "id": "0192d3a4-5b6c-7d8e-9f00-112233445566"},
            {"name": "a", "version": 3},
            {"name": 1},
            [],
        ],
    )
    async def test_what_is_not_valid_or_not_ours_to_set_is_400(self, scene: Scene, body: Any) -> None:
        answer = await scene.owner.post(f"/projects/{scene.project['id']}/workflows", body)
        assert answer.status_code == 400
        assert answer.json()["errors"]

    async def test_a_definition_of_256_kib_is_taken_and_one_byte_more_is_413(self, scene: Scene) -> None:
        most = 256 * 1024
        workflow = await scene.workflow("Long", "#" * most)
        path = f"/projects/{scene.project['id']}/workflows"
        # é takes two bytes: it is bytes that count.
        for text in ("#" * (most + 1), "é" * (most // 2) + "#"):
            assert (await scene.owner.post(path, {"name": "x", "config_yaml": text})).status_code == 413
            put = await scene.owner.put(f"/workflows/{workflow['id']}", {"config_yaml": text})
            assert put.status_code == 413
        assert (await scene.owner.post(path, {"name": "x", "config_yaml": "#" * 1024 * 1024})).status_code == 413

    async def test_slugs_are_unique_in_the_project_only(self, scene: Scene) -> None:
        await scene.workflow("Greet")
        path = f"/projects/{scene.project['id']}/workflows"
        assert (await scene.owner.post(path, {"name": "GREET"})).status_code == 409
        other = await scene.owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
        await scene.owner.made(f"/projects/{other['id']}/workflows", {"name": "Greet"})
        second = await scene.workflow("Second")
        assert (await scene.owner.put(f"/workflows/{second['id']}", {"slug": "greet"})).status_code == 409

    async def test_of_many_who_take_one_slug_at_once_one_gets_it(self, scene: Scene) -> None:
        path = f"/projects/{scene.project['id']}/workflows"
        answers = await asyncio.gather(*(scene.owner.post(path, {"name": "Same"}) for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]


class TestAccess:
    @pytest.mark.parametrize(
        ("method", "path", "least"),
        [
            ("GET", "/workflows/{w}", "viewer"),
            ("PUT", "/workflows/{w}", "editor"),
            ("DELETE", "/workflows/{w}", "owner"),
            ("POST", "/workflows/{w}/deploy", "admin"),
            ("POST", "/workflows/{w}/stop", "admin"),
            ("GET", "/workflows/{w}/status", "viewer"),
            ("GET", "/workflows/{w}/versions", "viewer"),
            ("GET", "/workflows/{w}/versions/1", "viewer"),
            ("GET", "/projects/{p}/workflows", "viewer"),
            ("POST", "/projects/{p}/workflows", "editor"),
        ],
    )
    async def test_one_role_below_is_403_and_none_too(self, scene: Scene, method: str, path: str, least: str) -> None:
        workflow = await scene.workflow()
        path = path.format(w=workflow["id"], p=scene.project["id"])
        roles = ["viewer", "editor", "admin", "owner"]
        below = roles[: roles.index(least)]
        for name, role in (("stranger", None), *((f"the-{role}", role) for role in below[-1:])):
            person = await scene.joined(name, role)
            body: dict[str, Any] = {"json": {}} if method in {"PUT", "POST"} else {}
            assert (await person.request(method, path, **body)).status_code == 403, role
        allowed = await scene.joined("allowed", least)
        body = {"json": {"name": "x"}} if method in {"PUT", "POST"} and "deploy" not in path else {}
        if "stop" not in path:
            assert (await allowed.request(method, path, **body)).status_code in {200, 201, 204}

    @pytest.mark.parametrize("id_", ["nope", "0192d3a4-5b6c-7d8e-9f00-112233445566", "%00", "1" * 5000])
    async def test_an_id_of_nothing_is_404(self, scene: Scene, id_: str) -> None:
        for suffix in ("", "/status", "/versions", "/permissions", "/links"):
            assert (await scene.owner.get(f"/workflows/{id_}{suffix}")).status_code == 404
        assert (await scene.client.get(f"/api/v1/workflows/{id_}")).status_code == 401

    async def test_an_id_in_capitals_is_the_same_id(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        answer = await scene.owner.put(f"/workflows/{workflow['id'].upper()}", {"description": "x"})
        assert answer.json()["id"] == workflow["id"]


class TestLists:
    async def test_newest_first_in_pages_with_definitions_and_validation(self, scene: Scene) -> None:
        for number in range(5):
            await scene.workflow(f"W{number}", VALID if number else "a: [")
        path = f"/projects/{scene.project['id']}/workflows"
        for where in (path, "/workflows"):
            first = (await scene.owner.get(f"{where}?page_size=3")).json()
            assert [item["name"] for item in first["items"]] == ["W4", "W3", "W2"]
            assert (first["total"], first["page"], first["page_size"]) == (5, 1, 3)
            second = (await scene.owner.get(f"{where}?page_size=3&page=2")).json()
            assert [item["name"] for item in second["items"]] == ["W1", "W0"]
            assert list(second["items"][0]) == MEMBERS
            assert second["items"][0]["config_yaml"] == VALID
            assert second["items"][1]["validation"]["valid"] is False

    async def test_a_list_shows_the_newest_definition(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        await scene.owner.put(f"/workflows/{workflow['id']}", {"config_yaml": "", "name": "New"})
        (item,) = (await scene.owner.get("/workflows")).json()["items"]
        assert (item["config_yaml"], item["version"], item["name"]) == ("", 2, "New")

    async def test_filters_by_status_and_by_part_of_the_texts_whatever_their_case(self, scene: Scene) -> None:
        await scene.workflow("Ärger", slug="first", description="straße")
        await scene.workflow("50%_off\\", slug="second")
        await scene.workflow("500 off", slug="third")
        deployed = await scene.workflow("İstanbul ΣΊΣΥΦΟΣ", slug="fourth")
        await scene.owner.post(f"/workflows/{deployed['id']}/deploy")
        for where in (f"/projects/{scene.project['id']}/workflows", "/workflows"):

            async def found(where: str = where, **params: str) -> list[str]:
                answer = await scene.owner.get(where, params=params)
                assert answer.status_code == 200, answer.text
                assert answer.json()["total"] == len(answer.json()["items"])
                return [item["slug"] for item in answer.json()["items"]]

            assert await found(q="ÄRG") == await found(q="ärg") == ["first"]
            assert await found(q="STRASSE") == ["first"]
            assert await found(q="σίσυφος") == ["fourth"]
            assert await found(q="FIRST") == ["first"]
            assert await found(q="0%_O") == ["second"]
            assert await found(q="\\") == ["second"]
            assert await found(q="%") == ["second"]
            assert await found(q="_") == ["second"]
            assert await found(q="ärger\x01first") == []
            assert await found(q="nothing") == []
            assert await found(q="") == ["fourth", "third", "second", "first"]
            assert await found(status="active") == ["fourth"]
            assert await found(status="active", q="off") == []
            assert await found(status="draft", q="off") == ["third", "second"]

    @pytest.mark.parametrize("query", ["status=gone", "q=" + "x" * 201, "page=0", "page_size=101", "what=1", "q=%00"])
    async def test_a_bad_filter_is_400(self, scene: Scene, query: str) -> None:
        assert (await scene.owner.get(f"/workflows?{query}")).status_code == 400

    async def test_a_search_follows_a_change(self, scene: Scene) -> None:
        workflow = await scene.workflow("Before")
        await scene.owner.put(f"/workflows/{workflow['id']}", {"name": "After", "slug": "after"})
        assert (await scene.owner.get("/workflows?q=after")).json()["total"] == 1
        assert (await scene.owner.get("/workflows?q=before")).json()["total"] == 0

    async def test_one_sees_what_one_has_a_role_on_at_any_level_once_and_nothing_else(self, scene: Scene) -> None:
        company, owner = scene.company["id"], scene.owner
        organization = await owner.made(f"/companies/{company}/organizations", {"name": "Org"})
        inner = await owner.made(f"/organizations/{organization['id']}/projects", {"name": "Inner"})
        a = await scene.workflow("A")
        b = await scene.workflow("B")
        c = await owner.made(f"/projects/{inner['id']}/workflows", {"name": "C"})

        async def seen(name: str, *grants: tuple[str, str]) -> set[str]:
            person = await register(scene.client, name)
            for path, key in grants:
                body = {"role": "viewer"} | ({"user_id": await id_of(person)} if key else {"email": person.email})
                assert (await owner.post(path, body)).status_code == 201
            answer = (await person.get("/workflows")).json()
            assert answer["total"] == len(answer["items"])
            return {item["name"] for item in answer["items"]}

        project = f"/projects/{scene.project['id']}/members"
        assert await seen("nobody") == set()
        assert await seen("at-workflow", (f"/workflows/{b['id']}/permissions", "user_id")) == {"B"}
        assert await seen("at-project", (project, "")) == {"A", "B"}
        assert await seen("at-organization", (f"/companies/{organization['id']}/members", "")) == {"C"}
        assert await seen("at-company", (f"/companies/{company}/members", "")) == {"A", "B", "C"}
        everywhere = [
            (f"/companies/{company}/members", ""),
            (f"/companies/{organization['id']}/members", ""),
            (project, ""),
            (f"/workflows/{a['id']}/permissions", "user_id"),
            (f"/workflows/{c['id']}/permissions", "user_id"),
        ]
        assert await seen("everywhere", *everywhere) == {"A", "B", "C"}

    async def test_no_list_scans_the_table_of_workflows(self, scene: Scene) -> None:
        await scene.workflow()
        database = database_of(scene.client)
        params = {"user_id": await id_of(scene.owner), "limit": 50, "offset": 0, "project_id": scene.project["id"]}
        for made in (lists.MINE, lists.OF_PROJECT):
            plan = await _plan(database, made.statement({}), params)
            assert "SCAN workflows" not in plan, plan
            assert "Seq Scan on workflows" not in plan, plan


async def _plan(database: Database, statement: Any, params: dict[str, Any]) -> str:
    if database.dialect == "sqlite":
        sql, values = statement.for_sqlite(params)
        rows = database._reader.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()  # type: ignore[attr-defined]
        return "\n".join(str(row[3]) for row in rows)
    sql, positional = statement.for_postgresql(params)
    async with database._pool.acquire() as connection, connection.transaction():  # type: ignore[attr-defined]
        # A table of one row is cheapest read whole; what matters is whether an index could serve.
        await connection.execute("SET LOCAL enable_seqscan = off")
        return "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {sql}", *positional))


class TestLocking:
    async def test_a_change_with_the_etag_that_was_read_goes_through_and_moves_it(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        tag = (await scene.owner.get(path)).headers["etag"]
        changed = await scene.owner.put(path, {"name": "Other"}, headers={"If-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != tag
        assert (await scene.owner.get(path)).headers["etag"] == changed.headers["etag"]
        stale = await scene.owner.put(path, {"name": "Lost"}, headers={"If-Match": tag})
        assert stale.status_code == 412
        assert stale.json()["type"] == "urn:penstock:problem:precondition-failed"
        assert (await scene.owner.get(path)).json()["name"] == "Other"

    async def test_every_write_honours_it(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        stale = {"If-Match": '"99"'}
        assert (await scene.owner.delete(path, headers=stale)).status_code == 412
        assert (await scene.owner.post(f"{path}/deploy", headers=stale)).status_code == 412
        deployed = await scene.owner.post(f"{path}/deploy", headers={"If-Match": '"1"'})
        assert deployed.status_code == 200
        assert (await scene.owner.post(f"{path}/stop", headers={"If-Match": '"1"'})).status_code == 412
        stopped = await scene.owner.post(f"{path}/stop", headers={"If-Match": deployed.headers["etag"]})
        assert stopped.status_code == 200
        assert (await scene.owner.delete(path, headers={"If-Match": stopped.headers["etag"]})).status_code == 204

    @pytest.mark.parametrize(
        ("header", "status"),
        [
            ("*", 200),
            (" * ", 200),
            ('"1"', 200),
            ('"7", "1"', 200),
            ('"7" ,W/"9","1"', 200),
            ('W/"1"', 412),
            ('"2"', 412),
            ('""', 412),
            ("1", 400),
            ('"1', 400),
            ('"1" "2"', 400),
            ('"1",', 400),
            ("é", 400),
            ('"' + "x" * 5000 + '"', 400),
            ('"1", ' * 2000, 400),
        ],
    )
    async def test_what_an_if_match_means(self, scene: Scene, header: str, status: int) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        answer = await scene.owner.put(path, {"name": "x"}, headers={"If-Match": header.encode()})
        assert answer.status_code == status

    async def test_of_many_with_the_same_etag_exactly_one_wins(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        answers = await asyncio.gather(
            *(scene.owner.put(path, {"config_yaml": f"# {number}"}, headers={"If-Match": '"1"'}) for number in range(8))
        )
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
        (winner,) = [answer.json() for answer in answers if answer.status_code == 200]
        assert (await scene.owner.get(path)).json()["config_yaml"] == winner["config_yaml"]
        assert (await scene.owner.get(f"{path}/versions")).json()["total"] == 2

    async def test_without_it_the_last_wins_and_every_definition_is_kept(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow(config_yaml=''))['id']}"
        texts = [f"# {number}" for number in range(8)]
        answers = await asyncio.gather(*(scene.owner.put(path, {"config_yaml": text}) for text in texts))
        assert {answer.status_code for answer in answers} == {200}
        versions = (await scene.owner.get(f"{path}/versions")).json()["items"]
        assert [item["version"] for item in versions] == list(range(9, 0, -1))
        assert sorted(item["config_yaml"] for item in versions) == sorted(["", *texts])
        assert (await scene.owner.get(path)).json()["config_yaml"] == versions[0]["config_yaml"]

    async def test_changes_of_different_members_at_once_are_all_kept(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        await asyncio.gather(
            scene.owner.put(path, {"name": "Name"}),
            scene.owner.put(path, {"description": "Description"}),
            scene.owner.put(path, {"slug": "slug"}),
            scene.owner.put(path, {"config_yaml": "# new"}),
        )
        after = (await scene.owner.get(path)).json()
        assert [after[name] for name in ("name", "description", "slug", "config_yaml")] == [
            "Name",
            "Description",
            "slug",
            "# new",
        ]


class TestUpdate:
    async def test_an_empty_body_changes_nothing_at_all(self, scene: Scene) -> None:
        made = await scene.workflow()
        path = f"/workflows/{made['id']}"
        for body in ({}, {"name": made["name"]}, {"config_yaml": made["config_yaml"]}):
            answer = await scene.owner.put(path, body)
            assert (answer.status_code, answer.json(), answer.headers["etag"]) == (200, made, '"1"')

    async def test_who_changed_it_is_said(self, scene: Scene) -> None:
        editor = await scene.joined("eddy", "editor")
        path = f"/workflows/{(await scene.workflow())['id']}"
        after = (await editor.put(path, {"description": "x"})).json()
        assert after["updated_by"] == await id_of(editor)
        assert after["created_by"] == await id_of(scene.owner)
        assert after["updated_at"] > after["created_at"]

    async def test_every_write_is_in_the_audit_log_without_the_definition(self, scene: Scene) -> None:
        workflow = await scene.workflow(config_yaml="# hush-hush")
        path = f"/workflows/{workflow['id']}"
        await scene.owner.put(path, {"config_yaml": VALID, "name": "New"})
        await scene.owner.post(f"{path}/deploy")
        await scene.owner.post(f"{path}/stop")
        await scene.owner.delete(path)
        items = (await scene.owner.get(f"/companies/{scene.company['id']}/audit?resource_id={workflow['id']}")).json()
        verbs = [item["action"] for item in items["items"]]
        assert sorted(verbs) == [f"workflow.{verb}" for verb in ("create", "delete", "deploy", "stop", "update")]
        (update,) = [item for item in items["items"] if item["action"] == "workflow.update"]
        assert update["details"] == {
            "name": {"before": "Greet", "after": "New"},
            "version": {"before": 1, "after": 2},
        }
        assert "hush-hush" not in str(items)


class _Engine:
    """What an engine does, written down; it refuses when told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[tuple[Any, ...]] = []

    async def _ask(self, *what: Any) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error

    async def deploy(self, workflow_id: str, version: int) -> None:
        await self._ask("deploy", workflow_id, version)

    async def stop(self, workflow_id: str, cancel_running: bool) -> None:
        await self._ask("stop", workflow_id, cancel_running)

    async def trigger(self, pending: Pending) -> None:
        await self._ask("trigger", pending.id)

    async def cancel(self, execution_id: str) -> None:
        await self._ask("cancel", execution_id)


def _with_engine(scene: Scene, engine: _Engine | None) -> None:
    scene.set_parts(msgspec.structs.replace(scene.parts, engine=engine))


class TestLifecycle:
    async def test_deploy_pins_the_newest_version_and_again_moves_the_pin(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path = f"/workflows/{workflow['id']}"
        deployed = await scene.owner.post(f"{path}/deploy")
        assert (deployed.status_code, list(deployed.json())) == (200, MEMBERS)
        assert (deployed.json()["status"], deployed.json()["deployed_version"]) == ("active", 1)
        changed = (await scene.owner.put(path, {"config_yaml": VALID + "# more\n"})).json()
        assert (changed["version"], changed["deployed_version"], changed["status"]) == (2, 1, "active")
        assert (await scene.owner.post(f"{path}/deploy")).json()["deployed_version"] == 2
        assert await count(database_of(scene.client), "events", "type = 'workflow.deployed'") == 2
        # Who believes that this would bring back version 1 must not be told that it did.
        assert (await scene.owner.post(f"{path}/deploy", {"version": 1})).status_code == 400
        assert (await scene.owner.post(f"{path}/deploy", {})).json()["deployed_version"] == 2

    async def test_an_invalid_definition_is_not_deployed_and_all_that_is_wrong_is_said(self, scene: Scene) -> None:
        workflow = await scene.workflow(config_yaml="document: {}\ndo:\n  - a: {jump: 1}\n")
        answer = await scene.owner.post(f"/workflows/{workflow['id']}/deploy")
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["errors"] == workflow["validation"]["errors"]
        paths = {error["path"] for error in answer.json()["errors"]}
        assert {"/document", "/do/0/a"} <= paths
        after = (await scene.owner.get(f"/workflows/{workflow['id']}")).json()
        assert (after["status"], after["deployed_version"]) == ("draft", None)

    async def test_stop_ends_it_and_again_changes_nothing(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path = f"/workflows/{workflow['id']}"
        assert (await scene.owner.post(f"{path}/stop")).status_code == 409
        await scene.owner.post(f"{path}/deploy")
        stopped = await scene.owner.post(f"{path}/stop")
        assert (stopped.json()["status"], stopped.json()["deployed_version"]) == ("stopped", 1)
        again = await scene.owner.post(f"{path}/stop", {})
        assert (again.status_code, again.headers["etag"]) == (200, stopped.headers["etag"])
        assert await count(database_of(scene.client), "events", "type = 'workflow.stopped'") == 1
        assert (await scene.owner.post(f"{path}/deploy")).json()["status"] == "active"

    async def test_stop_lets_executions_go_on_unless_they_are_to_be_cancelled(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path, database = f"/workflows/{workflow['id']}", database_of(scene.client)
        await scene.owner.post(f"{path}/deploy")
        for status in ("pending", "running", "completed"):
            await _execution(database, workflow["id"], status)
        await scene.owner.post(f"{path}/stop")
        assert (await scene.owner.get(f"{path}/status")).json()["running"] == 2
        await scene.owner.post(f"{path}/stop", {"cancel_running": True})
        assert (await scene.owner.get(f"{path}/status")).json()["running"] == 0
        assert await count(database, "executions", "status = 'cancelled' AND completed_at IS NOT NULL") == 2
        assert await count(database, "executions", "status = 'completed'") == 1
        assert await count(database, "events", "type = 'workflow.cancelled' AND data LIKE '%cancelledAt%'") == 2
        assert await count(database, "log_entries", "message = 'execution cancelled'") == 2

    @pytest.mark.parametrize("body", [{"cancel_running": "yes"}, {"cancel": True}, [], "x"])
    async def test_a_stop_with_a_body_that_is_not_valid_is_400(self, scene: Scene, body: Any) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        assert (await scene.owner.post(f"{path}/stop", body)).status_code == 400

    async def test_status_says_what_there_is(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path = f"/workflows/{workflow['id']}"
        answer = (await scene.owner.get(f"{path}/status")).json()
        assert list(answer.items()) == [
            ("id", workflow["id"]),
            ("status", "draft"),
            ("version", 1),
            ("deployed_version", None),
            ("running", 0),
            ("next_run_at", None),
        ]
        await _execution(database_of(scene.client), workflow["id"], "pending")
        assert (await scene.owner.get(f"{path}/status")).json()["running"] == 1

    async def test_the_engine_is_asked_with_what_was_pinned(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path, engine = f"/workflows/{workflow['id']}", _Engine()
        _with_engine(scene, engine)
        assert (await scene.owner.post(f"{path}/deploy")).json()["status"] == "active"
        database = database_of(scene.client)
        await _execution(database, workflow["id"], "running")
        assert (await scene.owner.post(f"{path}/stop", {"cancel_running": True})).json()["status"] == "stopped"
        assert engine.asked == [("deploy", workflow["id"], 1), ("stop", workflow["id"], True)]
        assert await count(database, "audit_entries", "action = 'execution.cancel'") == 1
        assert await count(database, "events", "type IN ('workflow.deployed', 'workflow.stopped')") == 2

    @pytest.mark.parametrize("verb", ["deploy", "stop"])
    async def test_an_engine_that_refuses_is_502_and_status_error(self, scene: Scene, verb: str) -> None:
        workflow = await scene.workflow()
        path = f"/workflows/{workflow['id']}"
        await scene.owner.post(f"{path}/deploy")
        before = await count(database_of(scene.client), "events")
        for error, told in ((EngineRefused("no room"), "no room"), (RuntimeError("password=1234"), "log")):
            _with_engine(scene, _Engine(error))
            answer = await scene.owner.post(f"{path}/{verb}")
            assert answer.status_code == 502
            assert told in answer.json()["detail"]
            assert "1234" not in answer.text
            assert (await scene.owner.get(path)).json()["status"] == "error"
        assert await count(database_of(scene.client), "events") == before
        _with_engine(scene, None)
        assert (await scene.owner.post(f"{path}/deploy")).json()["status"] == "active"

    async def test_a_database_that_is_away_while_the_engine_is_asked_is_no_refusal(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        for error in (Unavailable("it is restarted"), Busy("it is locked")):
            _with_engine(scene, _Engine(error))
            assert (await scene.owner.post(f"{path}/deploy")).status_code == 503
            assert (await scene.owner.get(path)).json()["status"] == "active"

    async def test_deploys_and_changes_at_once_pin_a_version_that_there_is(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path = f"/workflows/{workflow['id']}"
        texts = [VALID + f"# {number}\n" for number in range(4)]
        answers = await asyncio.gather(
            *(scene.owner.put(path, {"config_yaml": text}) for text in texts),
            *(scene.owner.post(f"{path}/deploy") for _ in range(4)),
        )
        assert {answer.status_code for answer in answers} == {200}
        after = (await scene.owner.get(path)).json()
        assert after["version"] == 5
        assert 1 <= after["deployed_version"] <= 5


class TestDelete:
    async def test_not_while_it_is_active_unless_forced(self, scene: Scene) -> None:
        path = f"/workflows/{(await scene.workflow())['id']}"
        await scene.owner.post(f"{path}/deploy")
        assert (await scene.owner.delete(path)).status_code == 409
        engine = _Engine()
        _with_engine(scene, engine)
        assert (await scene.owner.delete(f"{path}?force=true")).status_code == 204
        assert [what[0] for what in engine.asked] == ["stop"]
        assert (await scene.owner.get(path)).status_code == 404

    async def test_not_while_an_execution_runs_unless_forced(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        path, database = f"/workflows/{workflow['id']}", database_of(scene.client)
        execution = await _execution(database, workflow["id"], "pending")
        assert (await scene.owner.delete(path)).status_code == 409
        assert (await scene.owner.delete(f"{path}?force=0")).status_code == 409
        engine = _Engine()
        _with_engine(scene, engine)
        assert (await scene.owner.delete(f"{path}?force=1")).status_code == 204
        assert engine.asked == [("cancel", execution)]
        assert await count(database, "executions") == 0
        assert await count(database, "workflow_versions") == 0

    async def test_its_slug_is_free_again(self, scene: Scene) -> None:
        workflow = await scene.workflow()
        assert (await scene.owner.delete(f"/workflows/{workflow['id']}")).status_code == 204
        await scene.workflow()
