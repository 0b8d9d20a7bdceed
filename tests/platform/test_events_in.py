"""Events in over HTTP: the three ways of CloudEvents, and what is refused."""

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from penstock.platform.events.keys import sweep_keys
from penstock.platform.idempotency import KEY_LIVES
from penstock.storage import Database, Statement
from penstock.storage.engine_tables import event_keys, inbox
from tests.conftest import Serve
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio

_EVENT = {"specversion": "1.0", "id": "1", "source": "https://shop.example", "type": "order.placed"}
_ONE = {"content-type": "application/cloudevents+json"}
_MANY = {"content-type": "application/cloudevents-batch+json; charset=utf-8"}
_BINARY = {
    "ce-specversion": "1.0",
    "ce-id": "2",
    "ce-source": "/shop",
    "ce-type": "order%2Eplaced",
    "ce-shop": "B%C3%BCro",
}
_STORED = Statement(select(inbox.c.event).order_by(inbox.c.id))
_KEYS = Statement(select(event_keys.c.project_id))
_A_DAY_AGO = Statement(update(event_keys).values(received_at=event_keys.c.received_at - KEY_LIVES - 1))


def _body(data: Any) -> bytes:
    return msgspec.json.encode(data)


_TAKEN: list[tuple[dict[str, str], bytes, dict[str, Any]]] = [
    (_ONE, _body(_EVENT | {"data": {"order": 17}}), _EVENT | {"data": {"order": 17}}),
    (_ONE, _body(_EVENT | {"data_base64": "AAE="}), _EVENT | {"data_base64": "AAE="}),
    (_BINARY | {"content-type": "application/json"}, b'{"order": 17}', {"data": {"order": 17}, "type": "order.placed"}),
    (_BINARY | {"content-type": "text/plain"}, b"hello", {"data": "hello", "shop": "Büro"}),
    (_BINARY | {"content-type": "image/png"}, b"\x00\x01", {"data_base64": "AAE=", "datacontenttype": "image/png"}),
    (_BINARY, b"", {"id": "2", "source": "/shop"}),
    (_MANY, _body([_EVENT]), _EVENT),
    (_ONE, _body(_EVENT | {"subject": None, "data_base64": None, "data": None}), _EVENT | {"data": None}),
    (_ONE, _body(_EVENT | {"theattributesnameislong": "x"}), _EVENT | {"theattributesnameislong": "x"}),
]
_REFUSED: list[tuple[int, dict[str, str], bytes]] = [
    (400, _ONE, b"{not json"),
    (400, _ONE, b"[]"),
    (400, _ONE, b"[" * 100_000),
    (400, _MANY, _body(_EVENT)),
    (400, _MANY, _body([_EVENT, _EVENT | {"id": " "}])),
    *((400, _ONE, _body({name: value for name, value in _EVENT.items() if name != missing})) for missing in _EVENT),
    (400, _ONE, _body(_EVENT | {"specversion": "0.3"})),
    (400, _ONE, _body(_EVENT | {"type": None})),
    (400, _ONE, _body(_EVENT | {"Order-Id": "1"})),
    (400, _ONE, _body(_EVENT | {"order": {"nested": True}})),
    (400, _ONE, _body(_EVENT | {"data_base64": "not base64"})),
    (400, _ONE, _body(_EVENT | {"data": 1, "data_base64": "AAE="})),
    (400, _ONE, _body(_EVENT | {"data": "\x00"})),
    (400, _BINARY | {"content-type": "application/json"}, b"{"),
    (400, {"ce-specversion": "1.0"}, b""),
    (413, _ONE, _body(_EVENT | {"data": "x" * 300_000})),
    (413, _MANY, _body([_EVENT] * 1_001)),
    (413, _ONE, b" " * 1_100_000),
    (415, {"content-type": "application/json"}, _body(_EVENT)),
    (415, {}, b""),
]


async def test_an_event_is_taken_in_every_mode_and_what_is_none_is_refused_whole(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        place = f"/projects/{scene.project['id']}/events"
        for headers, body, _ in _TAKEN:
            answer = await scene.owner.post(place, headers=headers, content=body)
            assert (answer.status_code, answer.json()) == (202, {"accepted": 1}), (headers, answer.text)
        for status, headers, body in _REFUSED:
            answer = await scene.owner.post(place, headers=headers, content=body)
            assert answer.status_code == status, (headers, body[:100], answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
        stored = [msgspec.json.decode(row[0]) for row in await scene.parts.database.all(_STORED)]
        assert len(stored) == len(_TAKEN)
        for event, (_, _, expected) in zip(stored, _TAKEN, strict=True):
            assert event | expected == event


async def test_only_editors_send_events_and_only_to_projects_that_exist(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        place = f"/projects/{scene.project['id']}/events"
        for name, role, status in (("vera", "viewer", 403), ("sam", None, 403), ("edda", "editor", 202)):
            person = await scene.joined(name, role)
            assert (await person.post(place, _EVENT, headers=_ONE)).status_code == status
        nowhere = await scene.owner.post("/projects/0190a0a0-0000-7000-8000-000000000000/events", _EVENT, headers=_ONE)
        assert nowhere.status_code == 404
        assert (await client.post(f"/api/v1{place}", json=_EVENT, headers=_ONE)).status_code == 401
        entries = (
            await scene.owner.get(f"/companies/{scene.company['id']}/audit", params={"action": "event.receive"})
        ).json()
        assert [each["details"]["types"] for each in entries["items"]] == [["order.placed"]]


async def test_without_an_engine_an_event_is_refused_and_not_kept_for_nobody(serve: Serve) -> None:
    async with serve() as client:
        scene = await set_up(client)
        answer = await scene.owner.post(f"/projects/{scene.project['id']}/events", _EVENT, headers=_ONE)
        assert answer.status_code == 409


async def test_a_request_that_is_repeated_with_its_key_brings_its_events_once(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        place = f"/projects/{scene.project['id']}/events"
        key = {"idempotency-key": "order-17"}
        for events in ([_EVENT, _EVENT], [dict(reversed(_EVENT.items())), _EVENT]):
            repeated = await asyncio.gather(
                *(scene.owner.post(place, headers=_MANY | key, content=_body(events)) for _ in range(4))
            )
            assert {answer.status_code for answer in repeated} == {202}
            assert {answer.text for answer in repeated} == {'{"accepted":2}'}
        others = await scene.owner.post(place, headers=_ONE | key, content=_body(_EVENT))
        assert (others.status_code, "new key" in others.json()["detail"]) == (409, True)
        unreadable = await scene.owner.post(place, headers=_ONE | {"idempotency-key": "or der"}, content=_body(_EVENT))
        assert unreadable.status_code == 400
        another = (await scene.owner.post(f"/organizations/{scene.company['id']}/projects", {"name": "B"})).json()
        elsewhere = f"/projects/{another['id']}/events"
        assert (await scene.owner.post(elsewhere, headers=_ONE | key, content=_body(_EVENT))).status_code == 202
        assert len(await scene.parts.database.all(_STORED)) == 3

        await _a_day_later(scene.parts.database)
        assert (await scene.owner.post(place, headers=_ONE | key, content=_body(_EVENT))).status_code == 202
        assert len(await scene.parts.database.all(_STORED)) == 4
        await sweep_keys(scene.parts.database)
        assert [row[0] for row in await scene.parts.database.all(_KEYS)] == [scene.project["id"]]


async def _a_day_later(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.run(_A_DAY_AGO)
