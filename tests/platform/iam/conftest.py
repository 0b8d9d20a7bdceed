"""Identity providers that we did not write, and companies that use them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.accounts import saml_registry
from penstock.accounts.oauth import wire
from penstock.accounts.saml import make_keypair
from penstock.platform.iam import directory, rules
from penstock.platform.iam.probe import http as probe
from penstock.platform.iam.sign_in import passwords
from tests.node_peers import running

from .certificates import Authority
from .house import IDS, SITE, House, set_up


@pytest.fixture(scope="session")
def peers() -> Iterator[dict[str, Any]]:
    with running("oidc.mjs", *(f"{SITE}/api/v1/auth/iam/{id_}/callback" for id_ in IDS)) as ready:
        yield ready


@pytest.fixture(scope="session")
def saml_peer() -> Iterator[dict[str, Any]]:
    with running("saml-idp.mjs") as ready:
        yield ready


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def ldap(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    files = authority.certify(tmp_path_factory.mktemp("ldap"), "localhost")
    with running("ldap.mjs", *map(str, files)) as ready:
        yield ready


@pytest.fixture
def server_files(authority: Authority, tmp_path: Path) -> tuple[Path, Path]:
    return authority.certify(tmp_path, "localhost")


_keypair = cache(make_keypair)


@pytest.fixture(autouse=True)
def one_keypair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every server of these tests signs with the same key: making one takes most of a second."""
    monkeypatch.setattr(saml_registry, "make_keypair", _keypair)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with more to do than cores lets everybody wait for longer than a provider may."""
    for limited, name in (
        (rules, "SECONDS"),
        (probe, "SECONDS"),
        (directory, "SECONDS"),
        (directory, "_STEP_SECONDS"),
        (passwords, "_SECONDS"),
        (wire, "SECONDS"),
    ):
        monkeypatch.setattr(limited, name, 60)


@pytest.fixture
async def house(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> House:
    """A company with its owner. Providers get ids that the OpenID Connect peer knows the callbacks of."""
    ids = iter(IDS)
    monkeypatch.setattr(rules, "uuid7", lambda: next(ids))
    return await set_up(client)
