"""Secrets: they go in, and come out for the engine alone."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy import select, update

from penstock.cli.errors import CommandError
from penstock.cli.secrets import _rotate, rotate
from penstock.platform.secrets.vault import NotOpened, Vault
from penstock.settings import Settings, SettingsError, load
from penstock.storage import Database, Statement
from penstock.storage.platform_tables import secrets
from penstock.storage.schema import metadata
from tests.conftest import Serve
from tests.platform.people import register
from tests.platform.records import database_of
from tests.platform.scene import Scene, id_of, set_up

pytestmark = pytest.mark.anyio

VALUE = "hunter2-überaus-geheim"


def _settings(**values: Any) -> Settings:
    return load(environ={}, overrides=values).settings


def _path(scene: Scene, name: str = "") -> str:
    return f"/projects/{scene.project['id']}/secrets" + (f"/{name}" if name else "")


def _kind(name: str) -> dict[str, str]:
    return {"content-type": f"application/{name}"}


async def _everything(database: Database) -> str:
    """Every value of every table."""
    found = []
    for table in metadata.sorted_tables:
        for row in await database.all(Statement(select(table))):
            found += [bytes(value).decode("latin-1") if isinstance(value, bytes) else str(value) for value in row]
    return "\n".join(found)


async def test_put_creates_then_replaces_and_names_are_all_that_is_read_back(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    made = await scene.owner.put(_path(scene, "SMTP_PASSWORD"), {"value": VALUE})
    assert made.status_code == 201
    assert list(made.json()) == ["name", "created_at", "updated_at", "updated_by"]
    assert made.headers["location"] == "/api/v1" + _path(scene, "SMTP_PASSWORD")
    editor = await scene.joined("eddy", "editor")
    changed = await editor.put(_path(scene, "SMTP_PASSWORD"), {"value": VALUE + "!"})
    assert changed.status_code == 200
    assert changed.json()["created_at"] == made.json()["created_at"]
    assert changed.json()["updated_at"] > made.json()["updated_at"]
    assert changed.json()["updated_by"] == await id_of(editor)
    assert (await editor.get(_path(scene, "SMTP_PASSWORD"))).json() == changed.json()
    await editor.put(_path(scene, "other"), {"value": ""})
    page = (await editor.get(_path(scene))).json()
    assert (page["total"], [item["name"] for item in page["items"]]) == (2, ["other", "SMTP_PASSWORD"])
    assert (await editor.delete(_path(scene, "other"))).status_code == 204
    assert (await editor.delete(_path(scene, "other"))).status_code == 404
    assert (await editor.get(_path(scene, "other"))).status_code == 404


async def test_the_value_is_in_no_answer_table_or_log(
    client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    scene = await set_up(client)
    answers = [
        await scene.owner.put(_path(scene, "a"), {"value": VALUE}),
        await scene.owner.put(_path(scene, "a"), {"value": VALUE}),
        await scene.owner.put(_path(scene, "not a name"), {"value": VALUE}),
        await scene.owner.put(_path(scene, "a"), {"value": VALUE * 4000}),
        await scene.owner.put(_path(scene, "a"), {"value": [VALUE]}),
        await scene.owner.put(_path(scene, "a"), {"value": VALUE, VALUE[:7]: 1}),
        await scene.owner.request("PUT", _path(scene, "a"), content=f'{{"value": "{VALUE}"', headers=_kind("json")),
        await scene.owner.request("PUT", _path(scene, "a"), content=VALUE, headers=_kind("octet-stream")),
        await (await register(client, "stranger")).put(_path(scene, "a"), {"value": VALUE}),
        await scene.owner.get(_path(scene, "a")),
        await scene.owner.get(_path(scene)),
        await scene.owner.get(f"/companies/{scene.company['id']}/audit"),
        await scene.owner.delete(_path(scene, "a")),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers[:9]] == [201, 200, 400, 400, 400, 400, 400, 415, 403]
    await scene.owner.put(_path(scene, "a"), {"value": VALUE})
    told = capsys.readouterr()
    everything = await _everything(database_of(client))
    assert "secret.update" in everything
    shown = "\n".join(
        [
            everything,
            told.out,
            told.err,
            caplog.text,
            *(answer.text for answer in answers[:5]),
            *(answer.text for answer in answers[6:]),
        ]
    )
    assert VALUE not in shown
    assert "geheim" not in shown
    assert VALUE not in answers[5].text
    opened = await scene.parts.vault.open(database_of(client), scene.project["id"], ["a"])
    assert opened == {"a": VALUE}


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("a", 201),
        ("_x.y-Z9", 201),
        ("a" * 128, 201),
        ("a" * 129, 400),
        ("9a", 400),
        (".a", 400),
        ("-a", 400),
        ("a b", 400),
        ("ä", 400),
        ("a%00", 400),
        ("a%0A", 400),
        ("a|b", 400),
        ("%D9%A1", 400),
    ],
)
async def test_which_names_there_can_be(client: httpx.AsyncClient, name: str, status: int) -> None:
    scene = await set_up(client)
    assert (await scene.owner.put(_path(scene, name), {"value": "x"})).status_code == status
    if status == 400:
        assert (await scene.owner.get(_path(scene, name))).status_code == 404
        assert (await scene.owner.delete(_path(scene, name))).status_code == 404


async def test_a_value_may_have_64_kib_and_any_character(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    for number, value in enumerate(["x" * 65536, "é" * 32768, "a\0b", "", "😀\n"]):
        assert (await scene.owner.put(_path(scene, f"n{number}"), {"value": value})).status_code == 201
        opened = await scene.parts.vault.open(database_of(client), scene.project["id"], [f"n{number}"])
        assert opened == {f"n{number}": value}
    assert (await scene.owner.put(_path(scene, "n"), {"value": "x" * 65537})).status_code == 400
    assert (await scene.owner.put(_path(scene, "n"), {"value": "é" * 32769})).status_code == 400
    assert (await scene.owner.put(_path(scene, "n"), {})).status_code == 400
    assert (await scene.owner.put(_path(scene, "n"), {"value": None})).status_code == 400


async def test_editors_only(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    await scene.owner.put(_path(scene, "a"), {"value": "x"})
    viewer = await scene.joined("vera", "viewer")
    for person in (viewer, await register(client, "stranger")):
        assert (await person.get(_path(scene))).status_code == 403
        assert (await person.get(_path(scene, "a"))).status_code == 403
        assert (await person.put(_path(scene, "a"), {"value": "y"})).status_code == 403
        assert (await person.delete(_path(scene, "a"))).status_code == 403
    assert (await client.get("/api/v1" + _path(scene))).status_code == 401


async def test_the_same_name_set_many_times_at_once_is_one_secret(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    values = [f"v{number}" for number in range(6)]
    answers = await asyncio.gather(*(scene.owner.put(_path(scene, "a"), {"value": value}) for value in values))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]
    opened = await scene.parts.vault.open(database_of(client), scene.project["id"], ["a"])
    assert opened["a"] in values


async def test_the_vault_opens_what_is_asked_for_and_no_more(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    other = await scene.owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
    for name in ("a_b", "axb", "a", "b"):
        await scene.owner.put(_path(scene, name), {"value": f"value of {name}"})
    await scene.owner.put(f"/projects/{other['id']}/secrets/a", {"value": "theirs"})
    vault, database = scene.parts.vault, database_of(client)
    opened = await vault.open(database, scene.project["id"], ["a_b", "b", "missing", "%"])
    assert opened == {"a_b": "value of a_b", "b": "value of b"}
    assert await vault.open(database, other["id"], ["a"]) == {"a": "theirs"}
    assert await vault.open(database, other["id"], []) == {}


async def test_a_value_moved_to_another_name_or_project_does_not_open(client: httpx.AsyncClient) -> None:
    scene = await set_up(client)
    other = await scene.owner.made(f"/organizations/{scene.company['id']}/projects", {"name": "Other"})
    for path in (_path(scene, "mine"), _path(scene, "yours"), f"/projects/{other['id']}/secrets/mine"):
        await scene.owner.put(path, {"value": VALUE})
    database, vault = database_of(client), scene.parts.vault
    (stolen,) = await database.all(
        Statement(select(secrets.c.value).where(secrets.c.project_id == scene.project["id"], secrets.c.name == "mine"))
    )
    async with database.transaction() as tx:
        await tx.run(Statement(update(secrets).values(value=bytes(stolen[0]))))
    assert await vault.open(database, scene.project["id"], ["mine"]) == {"mine": VALUE}
    for project_id, name in ((scene.project["id"], "yours"), (other["id"], "mine")):
        with pytest.raises(NotOpened) as caught:
            await vault.open(database, project_id, [name])
        assert VALUE not in str(caught.value)


def test_sealing_twice_gives_different_bytes_and_a_changed_byte_does_not_open() -> None:
    vault = Vault(_settings(), b"s" * 32)
    one, two = (vault.seal("p", "n", VALUE) for _ in range(2))
    assert one != two
    assert VALUE.encode() not in one
    for index in (0, 12, len(one) - 1):
        forged = bytearray(one)
        forged[index] ^= 1
        with pytest.raises(NotOpened):
            vault.unseal("p", "n", vault.key_id, bytes(forged))
    with pytest.raises(NotOpened):
        vault.unseal("p", "n", vault.key_id, b"")


async def test_keys_are_rotated_and_the_old_ones_open_nothing_more(serve: Serve, settings_with: Any) -> None:
    async with serve() as client:
        scene = await set_up(client)
        for number in range(3):
            await scene.owner.put(_path(scene, f"n{number}"), {"value": f"{VALUE}{number}"})
        project_id, names = scene.project["id"], ["n0", "n1", "n2"]
        expected = {name: VALUE + name[1:] for name in names}
        database, old = database_of(client), scene.parts.vault
        new_settings = settings_with(secrets_key="k" * 32)
        new = Vault(new_settings, client.app.app.state.accounts.secret)  # type: ignore[attr-defined]
        # Before the rotation: the server's own secret still opens what it sealed.
        assert new.key_id != old.key_id
        assert await new.open(database, project_id, names) == expected
        done = await _rotate(new_settings)
        assert (done.resealed, done.not_opened) == (3, [])
        assert (await _rotate(new_settings)).resealed == 0
        assert await new.open(database, project_id, names) == expected
        with pytest.raises(NotOpened, match="secrets_key_previous"):
            await old.open(database, project_id, names)
        newest_settings = settings_with(secrets_key="l" * 32, secrets_key_previous=["k" * 32])
        assert (await _rotate(newest_settings)).resealed == 3
        assert (await _rotate(settings_with(secrets_key="m" * 32))).not_opened


async def test_rotation_leaves_what_it_cannot_open_and_says_so(serve: Serve, settings_with: Any) -> None:
    async with serve(secrets_key="a" * 32) as client:
        scene = await set_up(client)
        await scene.owner.put(_path(scene, "gone"), {"value": VALUE})
        before = await _everything(database_of(client))
        done = await _rotate(settings_with(secrets_key="b" * 32))
        assert done.resealed == 0
        assert "gone" in done.not_opened[0]
        assert VALUE not in done.not_opened[0]
        assert await _everything(database_of(client)) == before


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/penstock.db"
    with pytest.raises(CommandError, match="penstock migrate"):
        rotate(database=url)
    from penstock.storage import migrate as migrations
    from penstock.storage.opening import sqlite_path

    asyncio.run(migrations.upgrade(url, sqlite_path(url)))
    rotate(database=url)
    assert "0 secrets are sealed" in capsys.readouterr().out


@pytest.mark.parametrize("values", [{"secrets_key": "short"}, {"secrets_key_previous": ["x" * 32, "short"]}])
def test_a_short_key_stops_the_start_and_is_not_shown(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="32 bytes") as caught:
        _settings(**values)
    assert "short" not in str(caught.value)


def test_keys_are_not_shown() -> None:
    settings = _settings(secrets_key="k" * 32, secrets_key_previous=["p" * 32])
    assert "kkkk" not in repr(settings)
    assert "pppp" not in repr(settings)
    assert b"kkkk" not in msgspec.json.encode(settings, enc_hook=repr)
