"""What editors ask for: what is wrong with a definition that is nobody's workflow yet, and what it would do."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validator_for

from penstock.dsl.parse import LONGEST, parse
from penstock.dsl.schema import json_schema
from penstock.engine.checking import checks
from tests.conftest import Serve
from tests.engine.jq.test_attacks import Heartbeat
from tests.platform.people import Person, register
from tests.platform.scene import VALID

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"
NESTED = """\
document: {dsl: 1.0.3, namespace: shop, name: nested, version: 0.1.0}
do:
  - each:
      for: {in: .items}
      do:
        - both:
            fork:
              branches:
                - one: {set: {x: 1}}
                - two:
                    set:
                      text: |
                        several
                        lines
  - careful:
      try: [{risky: {set: {}}}]
      catch: {do: [{sorry: {set: {}}}]}
  - hear:
      listen: {to: {any: []}}
      foreach: {do: [{note: {set: {}}}]}
"""
SCHEDULED = VALID.replace("do:", "schedule: {cron: 30 2 * * *}\ndo:").replace(
    "version: 0.1.0", "version: 0.1.0\n  metadata: {timezone: Europe/Berlin}"
)


async def checked(person: Person, config_yaml: str) -> Any:
    answer = await person.post("/definitions/check", {"config_yaml": config_yaml})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_definition_is_checked_drawn_and_told_of_and_nothing_is_stored(serve: Serve) -> None:
    async with serve() as client:
        ada = await register(client, "ada")
        found = await checked(ada, NESTED)
        assert (found["valid"], found["errors"], found["schedule"]) == (True, [], None)
        assert found["document"]["name"] == "nested"
        places = {node["reference"]: (node["line"], node["end_line"]) for node in found["graph"]["nodes"]}
        assert places == {
            "": (None, None),
            "/do/0/each": (3, 14),
            "/do/0/each/do/0/both": (6, 14),
            "/do/0/each/do/0/both/fork/branches/0/one": (9, 9),
            "/do/0/each/do/0/both/fork/branches/1/two": (10, 14),
            "/do/1/careful": (15, 17),
            "/do/1/careful/try/0/risky": (16, 16),
            "/do/1/careful/catch": (17, 17),
            "/do/1/careful/catch/do/0/sorry": (17, 17),
            "/do/2/hear": (18, 20),
            "/do/2/hear/foreach/do/0/note": (20, 20),
        }
        nodes = {node["id"]: node for node in found["graph"]["nodes"]}
        assert all(edge["source"] in nodes and edge["target"] in nodes for edge in found["graph"]["edges"])
        assert all(node["parent"] is None or nodes[node["parent"]]["group"] for node in nodes.values())
        assert (await ada.get("/workflows")).json()["total"] == 0
        assert (await ada.get("/definitions/schema")).status_code == 200


async def test_what_is_wrong_is_said_with_its_place_and_warnings_make_nothing_invalid(serve: Serve) -> None:
    async with serve() as client:
        ada = await register(client, "ada")
        broken = await checked(ada, VALID.replace("set:", "sett:"))
        assert (broken["valid"], broken["graph"], broken["document"]) == (False, None, None)
        (error,) = broken["errors"]
        assert error["path"] == "/do/0/hello"
        assert (error["severity"], error["line"]) == ("error", 8)
        warned = await checked(ada, VALID.rstrip() + "\n      then: end\n  - never: {set: {}}\n")
        assert warned["valid"] is True
        assert [(one["severity"], one["code"]) for one in warned["errors"]] == [("warning", "unreachable")]
        assert warned["graph"] is not None
        unreadable = await checked(ada, "do: [")
        assert [one["code"] for one in unreadable["errors"]] == ["yaml"]
        too_long = await ada.post("/definitions/check", {"config_yaml": " " * (LONGEST + 1)})
        assert too_long.status_code == 413


async def test_a_schedule_tells_its_next_runs(serve: Serve) -> None:
    async with serve() as client:
        ada = await register(client, "ada")
        before = datetime.now(UTC)
        schedule = (await checked(ada, SCHEDULED))["schedule"]
        assert (schedule["kind"], schedule["cron"], schedule["timezone"]) == ("cron", "30 2 * * *", "Europe/Berlin")
        runs = [datetime.fromisoformat(run) for run in schedule["next_runs"]]
        assert len(runs) == 5
        assert runs == sorted(runs)
        assert runs[0] > before
        every = (await checked(ada, SCHEDULED.replace("cron: 30 2 * * *", "every: {minutes: 90}")))["schedule"]
        runs = [datetime.fromisoformat(run) for run in every["next_runs"]]
        assert {(after - before).total_seconds() for before, after in pairwise(runs)} == {5400}
        assert every["seconds"] == 5400
        after = (await checked(ada, SCHEDULED.replace("cron: 30 2 * * *", "after: PT5M")))["schedule"]
        assert (after["kind"], after["seconds"], after["next_runs"]) == ("after", 300, [])


def bombs() -> Iterator[str]:
    """Short texts that stand for much: what is answered must not."""
    long = "x" * 20_000
    head = f"document: {{dsl: 1.0.3, namespace: shop, name: bomb, version: 0.1.0, metadata: {{m: &m '{long}'}}}}\n"
    yield head + "input: {schema: {document: {enum: [" + "*m, " * 500 + "]}}}\ndo: []\n"
    tasks = ", ".join(f"{{t{n}: {{call: http, with: {{method: get, endpoint: *m}}}}}}" for n in range(300))
    yield head.replace("'x", "'https://x") + f"do: [{tasks}]\n"
    inner = [", ".join(f"{{t{m}: {{do: *l{n - 1}}}}}" for m in range(9)) for n in range(1, 5)]
    lists = "".join(f"    f{n}: {{do: &l{n} [{tasks}]}}\n" for n, tasks in enumerate(inner, 1))
    yield head + f"use:\n  functions:\n    f0: {{do: &l0 [{{a: {{set: {{}}}}}}]}}\n{lists}do: *l4\n"


async def test_short_texts_that_stand_for_much_are_answered_shortly_while_the_loop_beats_on(serve: Serve) -> None:
    async with serve() as client, Heartbeat() as heart:
        ada = await register(client, "ada")
        for bomb in bombs():
            assert len(bomb) < LONGEST
            answer = await ada.post("/definitions/check", {"config_yaml": bomb})
            assert answer.status_code == 200
            assert len(answer.content) < 4 * LONGEST, bomb[-100:]
    assert heart.worst < 0.1


async def test_one_person_has_one_check_under_way_and_two_people_two(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as client:
        ada, bob = await register(client, "ada"), await register(client, "bob")
        checker = client.app.app.state.platform.checker  # type: ignore[attr-defined]
        met, really, most = asyncio.Barrier(2), type(checker).examined, 0

        async def meeting(self: Any, text: str) -> Any:
            nonlocal most
            most = max(most, met.n_waiting + 1)
            async with asyncio.timeout(60):
                await met.wait()
            return await really(self, text)

        monkeypatch.setattr(type(checker), "examined", meeting)
        await asyncio.gather(*(checked(person, f"{VALID}# {n}") for n in range(3) for person in (ada, ada, bob, bob)))
        assert most == 2


async def test_what_could_take_long_is_not_checked_in_the_servers_own_process(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("checked in the server's own process")

    monkeypatch.setattr(checks, "examined", never)
    async with serve() as client:
        ada = await register(client, "ada")
        for text in (
            VALID + "# long" * 2000,
            VALID.replace("Hello", "&hello Hello"),
            VALID + "input: {schema: {document: {type: string}}}\n",
        ):
            found = await checked(ada, text)
            assert (found["valid"], found["document"]["name"]) == (True, "greet")
        broken = VALID.replace("Hello", "'${ .a | }'") + "# long" * 2000
        assert [one["code"] for one in (await checked(ada, broken))["errors"]] == ["expression"]


async def test_a_definition_that_takes_too_much_is_said_to(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_LIMITS", checks._LIMITS._replace(most_output=100))
    async with serve() as client:
        found = await checked(await register(client, "ada"), VALID + "# long" * 2000)
        assert (found["valid"], [one["code"] for one in found["errors"]]) == (False, ["too-many"])


async def test_the_schema_is_for_anyone_and_sent_once(serve: Serve) -> None:
    async with serve() as client:
        answer = await client.get("/api/v1/definitions/schema")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/schema+json")
        assert answer.json() == json_schema()
        again = await client.get("/api/v1/definitions/schema", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
        other = await client.get("/api/v1/definitions/schema", headers={"If-None-Match": '"other"'})
        assert other.status_code == 200


async def test_templates_are_examples_that_this_server_may_run(serve: Serve) -> None:
    schema = validator_for(json_schema())
    for name, processes in (("ada", []), ("bob", ["script", "shell"])):
        async with serve(processes=processes) as client:
            ada = await register(client, name)
            items = (await ada.get("/definitions/templates")).json()["items"]
            assert ("script-transform" in [item["name"] for item in items]) == bool(processes)
            assert items[0]["name"] == "hello"
            for item in items:
                assert item["title"]
                assert item["summary"]
                assert item["config_yaml"] == (EXAMPLES / f"{item['name']}.yaml").read_text("utf-8")
                assert (await checked(ada, item["config_yaml"]))["errors"] == []
                parsed = parse(item["config_yaml"])
                assert parsed is not None
                assert schema.is_valid(parsed.data)
