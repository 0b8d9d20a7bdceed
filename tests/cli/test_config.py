"""`penstock config` shows what is set and by whom, and no secret."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.config import config, entries_of
from penstock.cli.shown import address, toml, value_of
from penstock.settings import Secret, Settings, SettingsError, load

SECRET = "hush-hush-hush-hush-hush-hush-hush"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> dict[str, Any]:
    config(*arguments, as_json=True, **options)
    parsed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return parsed


def test_each_setting_has_value_source_and_description(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (folder / "penstock.toml").write_text('port = 81\nhost = "::1"\n')
    monkeypatch.setenv("PENSTOCK_PORT", "82")
    entries = shown(capsys, database="sqlite:///other.db")
    assert list(entries) == list(Settings.__struct_fields__)
    assert all(entry["description"] for entry in entries.values())
    assert (entries["port"]["value"], entries["port"]["source"]) == (82, "environment")
    assert (entries["host"]["value"], entries["host"]["source"]) == ("::1", "penstock.toml")
    assert (entries["database"]["value"], entries["database"]["source"]) == ("sqlite:///other.db", "command line")
    assert (entries["session_ttl"]["value"], entries["session_ttl"]["source"]) == ("30d", "default")


def test_only_changed_leaves_defaults_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "82")
    assert set(shown(capsys, only_changed=True)) == {"port"}


@pytest.mark.parametrize("name", ["port", "PORT", "PENSTOCK_PORT"])
def test_one_setting_is_found_under_its_name_and_its_variable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(shown(capsys, name)) == ["port"]


def test_a_name_that_is_no_setting_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match="did you mean smtp_server"):
        config("smtp_sever")


def test_another_file_can_be_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "other.toml").write_text("port = 99\n")
    assert shown(capsys, "port", config=folder / "other.toml")["port"]["source"] == str(folder / "other.toml")


def test_what_is_printed_for_people_can_be_copied_into_the_file(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "penstock.toml").write_text(
        'cors_origins = ["https://a.example"]\nemail_from = "\\"Ada\\" <ada@example.com>"\n'
        '[oauth_providers.github]\nclient_id = "x"\nscopes = ["a"]\n'
    )
    config()
    printed = capsys.readouterr().out
    copied = tomllib.loads(printed)
    assert set(copied) == set(Settings.__struct_fields__)
    (folder / "copy.toml").write_text(printed)
    assert load(folder / "copy.toml", environ={}).settings == load(environ={}).settings


def test_no_secret_is_shown_in_any_form(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "penstock.toml").write_text(
        f'jwt_secret = "{SECRET}"\nsmtp_password = "{SECRET}"\n'
        f'database = "postgresql://ada:{SECRET}@db.example/penstock"\nredis_url = "redis://:{SECRET}@cache.example/0"\n'
        f'[oauth_providers.github]\nclient_id = "x"\nclient_secret = "{SECRET}"\n'
    )
    config()
    config(as_json=True)
    config("oauth_providers")
    printed = capsys.readouterr().out
    assert SECRET not in printed
    assert "postgresql://ada:********@db.example/penstock" in printed
    assert "redis://:********@cache.example/0" in printed


def test_a_secret_that_is_not_set_is_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "jwt_secret")["jwt_secret"]["value"] == ""


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("sqlite:///var/penstock.db", "sqlite:///var/penstock.db"),
        ("postgresql://host/name", "postgresql://host/name"),
        ("postgresql://ada@host/name", "postgresql://ada@host/name"),
        ("postgresql://ada:pw@host:5432/name", "postgresql://ada:********@host:5432/name"),
        ("postgresql://ada:p@w@host/name", "postgresql://ada:********@host/name"),
        ("postgresql://ada:p/w?x#@host/name", "postgresql://ada:********@host/name"),
        ("postgresql://host/name?user=ada&password=pw&x=1", "postgresql://host/name?user=ada&password=********&x=1"),
        ("postgresql://host/name?sslpassword=pw", "postgresql://host/name?sslpassword=********"),
        ("redis://:pw@host/0", "redis://:********@host/0"),
        ("unix:///sock?PASSWORD=pw", "unix:///sock?PASSWORD=********"),
    ],
)
def test_an_address_keeps_its_user_and_host_but_not_its_password(url: str, masked: str) -> None:
    assert address(url) == masked


def test_every_secret_setting_is_masked() -> None:
    """Also those that are added later: whatever is a Secret, or holds one."""
    for name in Settings.__struct_fields__:
        if name not in {"database", "redis_url"}:
            assert value_of(name, Secret(SECRET)) == "********"
        assert SECRET not in str(value_of(name, Secret(f"x://u:{SECRET}@h")))


@pytest.mark.parametrize("value", [1, True, 'a"b\\c\n', [], ["a"], {}, {"a b": {"c": [1]}}])
def test_values_are_written_as_toml(value: Any) -> None:
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value


def test_entries_cover_every_setting() -> None:
    assert set(entries_of(load(environ={}))) == set(Settings.__struct_fields__)
