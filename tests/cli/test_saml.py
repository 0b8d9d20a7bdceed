"""`penstock saml`: providers are registered, listed and removed on the configured database."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.cli.errors import CommandError
from penstock.cli.migrate import migrate
from penstock.cli.saml import add, list_, remove
from penstock.problems import Conflict, Invalid, NotFound
from tests.cli.identity_provider import metadata

Capture = pytest.CaptureFixture[str]
ENTITY = "https://idp.example.org/metadata"


@pytest.fixture
def migrated(database_url: str, capsys: Capture) -> str:
    migrate(database=database_url)
    capsys.readouterr()
    return database_url


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metadata.xml"
    path.write_text(metadata(ENTITY, until=datetime.now(UTC) + timedelta(days=400)))
    return path


def test_a_provider_is_added_listed_and_removed(migrated: str, file: Path, capsys: Capture) -> None:
    add(file, domain=["Example.com", "example.org"], database=migrated)
    said = capsys.readouterr().out
    assert f"Registered {ENTITY} for example.com, example.org." in said
    list_(database=migrated)
    assert capsys.readouterr().out == f"{ENTITY}  example.com, example.org\n"
    list_(as_json=True, database=migrated)
    assert json.loads(capsys.readouterr().out) == [{"entity_id": ENTITY, "domains": ["example.com", "example.org"]}]
    remove(ENTITY, database=migrated)
    assert capsys.readouterr().out == f"Removed {ENTITY}.\n"
    list_(database=migrated)
    assert "No provider is registered" in capsys.readouterr().out


def test_the_next_step_is_the_address_of_our_metadata(
    migrated: str, file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(file, domain=["example.com"], database=migrated)
    assert "set public_url" in capsys.readouterr().out
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://penstock.example/")
    add(file, domain=["example.com"], database=migrated)
    assert "https://penstock.example/user/saml/metadata" in capsys.readouterr().out


def test_adding_again_replaces_the_domains(migrated: str, file: Path, capsys: Capture) -> None:
    add(file, domain=["example.com"], database=migrated)
    add(file, domain=["example.net"], database=migrated)
    capsys.readouterr()
    list_(database=migrated)
    assert capsys.readouterr().out == f"{ENTITY}  example.net\n"


def test_what_cannot_be_registered_is_refused_with_the_reason(migrated: str, file: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no\.xml cannot be read: No such file"):
        add(tmp_path / "no.xml", domain=["example.com"], database=migrated)
    (tmp_path / "page.html").write_text("<html></html>")
    with pytest.raises(Invalid, match="not SAML metadata"):
        add(tmp_path / "page.html", domain=["example.com"], database=migrated)
    with pytest.raises(Invalid, match="'not a domain' is not an email domain"):
        add(file, domain=["not a domain"], database=migrated)


def test_a_domain_has_one_provider(migrated: str, file: Path, tmp_path: Path) -> None:
    add(file, domain=["example.com"], database=migrated)
    other = tmp_path / "other.xml"
    other.write_text(metadata("https://other.example/", until=datetime.now(UTC) + timedelta(days=400)))
    with pytest.raises(Conflict, match=r"another provider speaks for example\.com"):
        add(other, domain=["example.com"], database=migrated)


def test_removing_what_is_not_there_is_refused(migrated: str) -> None:
    with pytest.raises(NotFound, match="no provider is registered as nobody"):
        remove("nobody", database=migrated)


def test_a_mistyped_database_is_not_made_in_passing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"there is no Penstock database at .* run `penstock migrate` first"):
        list_(database=f"sqlite:///{tmp_path}/typo.db")
    assert not (tmp_path / "typo.db").exists()
