"""`penstock doctor` on social and SAML providers: real discovery, real metadata."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.accounts import saml_registry
from penstock.cli import doctor_providers
from penstock.cli.findings import Check, Finding
from penstock.settings import Loaded
from penstock.storage import Database, Statement, open_database
from penstock.storage.schema import saml_providers, saml_service_provider
from tests.cli.identity_provider import metadata, pem
from tests.node_peers import running

pytestmark = pytest.mark.anyio
Load = Callable[..., Loaded]
ENTITY = "https://idp.example.org/metadata"


def days(number: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=number, hours=1)


async def findings(check: Check, loaded: Loaded) -> list[Finding]:
    return [finding async for finding in check(loaded)]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """An OpenID Connect provider that we did not write."""
    with running("oidc.mjs", "http://penstock.example/callback") as ready:
        yield ready["strict"]


class TestOAuth:
    async def one(self, loaded: Load, name: str = "company", **provider: Any) -> Finding:
        provider = {"client_id": "x", "client_secret": "hush", **provider}
        (found,) = await findings(doctor_providers.oauth, loaded(oauth_providers={name: provider}))
        assert "hush" not in found.says
        return found

    async def test_none_is_configured(self, loaded: Load) -> None:
        assert await findings(doctor_providers.oauth, loaded()) == []

    async def test_discovery_works(self, issuer: str, loaded: Load) -> None:
        found = await self.one(loaded, issuer=issuer)
        assert found.level == "ok"
        assert "/user/oauth/callback/company" in found.says

    async def test_discovery_is_out_of_reach(self, loaded: Load) -> None:
        found = await self.one(loaded, issuer="http://127.0.0.1:1")
        assert (found.level, "issuer" in found.todo) == ("fail", True)

    async def test_an_issuer_that_is_another(self, issuer: str, loaded: Load) -> None:
        found = await self.one(loaded, issuer=issuer + "/")
        assert (found.level, "another issuer" in found.says) == ("fail", True)

    async def test_settings_are_incomplete(self, loaded: Load) -> None:
        found = await self.one(loaded, kind="oauth2", auth_url="https://a.example/authorize")
        assert (found.level, "token_url" in found.says) == ("fail", True)

    async def test_a_kind_with_known_endpoints_asks_nobody(self, loaded: Load) -> None:
        assert (await self.one(loaded, "github")).level == "ok"

    async def test_no_secret(self, loaded: Load) -> None:
        found = await self.one(loaded, "github", client_secret="")
        assert (found.level, "client_secret" in found.says) == ("warn", True)

    async def test_coming_back_over_plain_http(self, loaded: Load) -> None:
        found = await self.one(loaded, "github", redirect_url="http://a.example/back")
        assert (found.level, "plain HTTP" in found.says) == ("warn", True)

    async def test_switched_off(self, loaded: Load) -> None:
        found = await self.one(loaded, issuer="http://127.0.0.1:1", enabled=False)
        assert (found.level, "switched off" in found.says) == ("ok", True)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(f"sqlite:///{tmp_path}/penstock.db")
    yield opened
    await opened.close()


class TestSaml:
    async def test_no_database_and_none_registered(self, loaded: Load, tmp_path: Path) -> None:
        assert await findings(doctor_providers.saml, loaded()) == []
        assert not (tmp_path / "penstock.db").exists()

    async def test_none_registered(self, database: Database, loaded: Load) -> None:
        assert await findings(doctor_providers.saml, loaded()) == []

    @pytest.mark.parametrize(("left", "level"), [(400, "ok"), (10, "warn"), (-10, "warn")])
    async def test_a_providers_certificate(self, left: int, level: str, database: Database, loaded: Load) -> None:
        await saml_registry.add(database, metadata(ENTITY, until=days(left)), ["example.com"])
        found = (await findings(doctor_providers.saml, loaded()))[-1]
        assert found.level == level
        assert f"{ENTITY} for example.com" in found.says

    def test_while_a_key_is_rotated_the_last_one_counts(self) -> None:
        assert doctor_providers.provider_key(ENTITY, [], (pem(days(-1)), pem(days(400)))).level == "ok"

    async def test_our_key_is_made_later(self, database: Database) -> None:
        assert (await doctor_providers.own_key(database)).says == "our key is made when it is first needed"

    @pytest.mark.parametrize(("left", "level"), [(400, "ok"), (10, "warn"), (-10, "warn")])
    async def test_our_own_certificate(self, left: int, level: str, database: Database) -> None:
        async with database.transaction() as tx:
            await tx.run(Statement(saml_service_provider.insert()), id=1, certificate=pem(days(left)), privatekey="x")
        assert (await doctor_providers.own_key(database)).level == level

    async def test_metadata_that_has_become_unreadable(self, database: Database, loaded: Load) -> None:
        async with database.transaction() as tx:
            row = {"id": ENTITY, "xml": "<broken", "created_at": 0, "updated_at": 0}
            await tx.run(Statement(saml_providers.insert()), **row)
        found = (await findings(doctor_providers.saml, loaded()))[-1]
        assert (found.level, "penstock saml add" in found.todo) == ("fail", True)

    async def test_a_public_server_needs_to_know_its_address(self, database: Database, loaded: Load) -> None:
        await saml_registry.add(database, metadata(ENTITY, until=days(400)), ["example.com"])
        found = await findings(doctor_providers.saml, loaded(host="0.0.0.0"))
        assert (found[0].level, "public_url" in found[0].says) == ("fail", True)

    async def test_metadata_files_of_the_settings(self, loaded: Load, tmp_path: Path) -> None:
        file = tmp_path / "idp.xml"
        settings = loaded(saml_providers=[{"metadata": str(file), "domains": ["example.com"]}])
        (missing,) = await findings(doctor_providers.saml, settings)
        file.write_text("<html/>")
        (wrong,) = await findings(doctor_providers.saml, settings)
        file.write_text(metadata(ENTITY, until=days(400)))
        assert (missing.level, wrong.level) == ("fail", "fail")
        assert await findings(doctor_providers.saml, settings) == []
