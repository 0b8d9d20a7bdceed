"""Providers as resources: their members, their secrets, and who may change what."""

from typing import Any

import pytest
from sqlalchemy import select

from penstock.platform.iam import queries, rotation
from penstock.platform.secrets.vault import Vault
from penstock.storage import Statement
from penstock.storage.platform_tables import audit_entries, iam_providers
from tests.conftest import Serve
from tests.platform.people import register

from .certificates import Authority
from .house import House, set_up

pytestmark = pytest.mark.anyio

OIDC = {"issuer": "https://idp.example", "client_id": "penstock", "client_secret": "very secret"}
LDAP = {
    "url": "ldaps://directory.example",
    "base_dn": "dc=example,dc=com",
    "bind_dn": "cn=reader",
    "bind_password": "very secret",
}
ENTITY = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>"
KUBERNETES = {"server": "https://k8s.example:6443", "token": "very secret", "cluster_name": "prod"}
AWS = {"region": "eu-central-1", "access_key_id": "AKIAIOSFODNN7EXAMPLE", "secret_access_key": "very secret"}


async def test_a_provider_has_the_members_of_the_contract_in_order_and_no_secret(house: House) -> None:
    provider = await house.provider("oidc", OIDC, "Staff")
    assert list(provider) == [
        "id",
        "company_id",
        "provider_type",
        "name",
        "config",
        "enabled",
        "created_at",
        "updated_at",
    ]
    assert provider["config"] == OIDC | {"client_secret": "********"}
    assert provider["enabled"] is True
    path = f"/iam/providers/{provider['id']}"
    assert (await house.owner.get(path)).json() == provider
    listed = (await house.owner.get(f"/companies/{house.company['id']}/iam/providers")).json()
    assert listed == {"items": [provider], "total": 1, "page": 1, "page_size": 50}
    assert (await house.owner.delete(path)).status_code == 204
    assert (await house.owner.get(path)).status_code == 404


async def test_a_secret_is_nowhere_in_the_database(house: House) -> None:
    for kind, config in (("oidc", OIDC), ("ldap", LDAP), ("kubernetes", KUBERNETES), ("aws_iam", AWS)):
        await house.provider(kind, config)
    await house.provider("custom", {"deep": {"api_key": "very secret"}, "list": [{"password": "very secret"}]})
    database = house.parts.database
    for table in (iam_providers, audit_entries):
        for row in await database.all(Statement(select(table))):
            assert "very secret" not in " ".join(str(value) for value in row)


async def test_what_a_custom_type_calls_a_secret_is_masked_however_deep(house: House) -> None:
    config = {"deep": {"api_key": "k", "open": 1}, "list": [{"password": "p"}], "tokens": ["a", ""]}
    provider = await house.provider("custom", config)
    assert provider["config"] == {
        "deep": {"api_key": "********", "open": 1},
        "list": [{"password": "********"}],
        "tokens": ["********", ""],
    }
    answer = await house.owner.put(f"/iam/providers/{provider['id']}", {"config": provider["config"]})
    assert answer.json()["config"] == provider["config"]
    row = await house.parts.database.one(queries.FIND, id=provider["id"])
    assert row is not None
    assert house.parts.iam.config_of(queries.stored_from(row)) == config


async def test_a_configuration_sealed_for_one_provider_opens_as_no_other_s(house: House) -> None:
    first = await house.provider("oidc", OIDC, "one")
    second = await house.provider("oidc", OIDC | {"client_secret": "another"}, "two")
    async with house.parts.database.transaction() as tx:
        row = await tx.one(queries.FIND, id=first["id"])
        assert row is not None
        await tx.run(queries.UPDATE, id_=second["id"], name="two", config=row[4], enabled=True, now=1)
    assert (await house.owner.get(f"/iam/providers/{second['id']}")).json()["config"] == {}
    assert (await house.tested(second))[1].startswith("the provider's config was sealed with another key")


@pytest.mark.parametrize(
    ("kind", "config", "path"),
    [
        ("oidc", {}, "/config/client_id"),
        ("oidc", OIDC | {"isuer": "x"}, "/config/isuer"),
        ("oidc", OIDC | {"a/b~c": 1}, "/config/a~1b~0c"),
        ("oidc", OIDC | {"issuer": "ftp://idp.example"}, "/config/issuer"),
        ("oidc", OIDC | {"issuer": "https://user:pw@idp.example"}, "/config/issuer"),
        ("oidc", OIDC | {"issuer": "https://"}, "/config/issuer"),
        ("oidc", OIDC | {"issuer": "https://idp.example:99999"}, "/config/issuer"),
        ("oidc", OIDC | {"issuer": "https://idp.example\n"}, "/config/issuer"),
        ("oidc", OIDC | {"issuer": 7}, "/config/issuer"),
        ("oidc", OIDC | {"scopes": "openid"}, "/config/scopes"),
        ("oidc", OIDC | {"scopes": ["a b"]}, "/config/scopes"),
        ("oidc", OIDC | {"client_secret": "********"}, "/config/client_secret"),
        ("saml", {}, "/config/metadata_xml"),
        ("saml", {"metadata_xml": "<x/>", "metadata_url": "https://idp.example"}, "/config/metadata_xml"),
        ("saml", {"metadata_xml": "<x/>"}, "/config/metadata_xml"),
        (
            "saml",
            {"metadata_xml": ENTITY},
            "/config/metadata_xml",
        ),
        ("saml", {"metadata_url": "https://idp.example", "domains": ["no domain"]}, "/config/domains"),
        ("ldap", LDAP | {"url": "http://directory.example"}, "/config/url"),
        ("ldap", LDAP | {"url": "ldapi:///var/run/slapd"}, "/config/url"),
        ("ldap", LDAP | {"user_filter": "(uid=ann)"}, "/config/user_filter"),
        ("ldap", LDAP | {"bind_password": ""}, "/config/bind_password"),
        ("ldap", LDAP | {"ca_certificate": "no certificate"}, "/config/ca_certificate"),
        ("kubernetes", KUBERNETES | {"token": "a\r\nHost: b"}, "/config/token"),
        ("aws_iam", AWS | {"region": "x.evil.example/"}, "/config/region"),
        ("aws_iam", AWS | {"role_arn": "admin"}, "/config/role_arn"),
    ],
)
async def test_a_wrong_configuration_is_told_where(house: House, kind: str, config: Any, path: str) -> None:
    body = {"provider_type": kind, "name": "x", "config": config}
    answer = await house.owner.post(f"/companies/{house.company['id']}/iam/providers", body)
    assert answer.status_code == 400, answer.text
    assert path in [error["path"].removesuffix("/0") for error in answer.json()["errors"]]
    assert "very secret" not in answer.text


async def test_unknown_types_members_and_blank_names_are_refused(house: House) -> None:
    path = f"/companies/{house.company['id']}/iam/providers"
    for body in (
        {"provider_type": "kerberos", "name": "x"},
        {"provider_type": "custom", "name": "  "},
        {"provider_type": "custom", "name": "x\0"},
        {"provider_type": "custom", "name": "x", "id": "1"},
        {"provider_type": "custom", "name": "x", "config": []},
        {"name": "x"},
    ):
        assert (await house.owner.post(path, body)).status_code == 400, body
    provider = await house.provider("custom", {})
    for change in ({"provider_type": "oidc"}, {"company_id": "x"}, {"config": None}, {"name": None}):
        assert (await house.owner.put(f"/iam/providers/{provider['id']}", change)).status_code == 400, change


async def test_names_are_unique_in_a_company_and_nowhere_else(house: House) -> None:
    await house.provider("custom", {}, "Staff")
    path = f"/companies/{house.company['id']}/iam/providers"
    assert (await house.owner.post(path, {"provider_type": "custom", "name": " Staff "})).status_code == 409
    other = await house.provider("custom", {}, "Guests")
    assert (await house.owner.put(f"/iam/providers/{other['id']}", {"name": "Staff"})).status_code == 409
    neighbour = await set_up(house.client, "nora", "Other")
    await neighbour.provider("custom", {}, "Staff")


async def test_a_masked_secret_stays_and_an_empty_change_changes_nothing(house: House) -> None:
    provider = await house.provider("oidc", OIDC)
    path = f"/iam/providers/{provider['id']}"
    assert (await house.owner.put(path, {})).json() == provider
    assert (await house.owner.put(path, {"config": provider["config"]})).json() == provider
    answer = await house.owner.put(path, {"config": provider["config"] | {"scopes": ["openid"]}})
    assert answer.json()["config"]["scopes"] == ["openid"]
    row = await house.parts.database.one(queries.FIND, id=provider["id"])
    assert row is not None
    assert house.parts.iam.config_of(queries.stored_from(row))["client_secret"] == "very secret"


@pytest.mark.parametrize(
    ("kind", "config", "change", "secret"),
    [
        ("oidc", OIDC, {"issuer": "https://evil.example"}, "client_secret"),
        ("oidc", OIDC, {"discovery_url": "https://evil.example/x"}, "client_secret"),
        ("ldap", LDAP, {"url": "ldaps://evil.example"}, "bind_password"),
        ("ldap", LDAP, {"url": "ldap://directory.example"}, "bind_password"),
        ("ldap", LDAP, {"start_tls": False}, "bind_password"),
        ("kubernetes", KUBERNETES, {"server": "https://evil.example"}, "token"),
        ("aws_iam", AWS, {"endpoint_url": "https://evil.example"}, "secret_access_key"),
        ("custom", {"host": "a", "password": "p"}, {"host": "evil"}, "password"),
    ],
)
async def test_a_stored_secret_is_not_sent_to_an_address_that_somebody_else_entered(
    house: House, kind: str, config: dict[str, Any], change: dict[str, Any], secret: str
) -> None:
    provider = await house.provider(kind, config)
    path = f"/iam/providers/{provider['id']}"
    answer = await house.owner.put(path, {"config": provider["config"] | change})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"path": f"/config/{secret}", "message": "send it again: the address that it is sent to has changed"}
    ]
    assert (await house.owner.put(path, {"config": config | change})).status_code == 200


async def test_another_authority_for_the_tls_of_a_directory_wants_the_password_again(
    house: House, authority: Authority
) -> None:
    provider = await house.provider("ldap", LDAP)
    change = {"config": provider["config"] | {"ca_certificate": authority.pem}}
    assert (await house.owner.put(f"/iam/providers/{provider['id']}", change)).status_code == 400


async def test_viewers_read_admins_write_and_strangers_do_neither(house: House) -> None:
    provider = await house.provider("custom", {"password": "p"})
    members = f"/companies/{house.company['id']}/members"
    viewer, editor, stranger = [await register(house.client, name) for name in ("vera", "edna", "stan")]
    await house.owner.made(members, {"email": viewer.email, "role": "viewer"})
    await house.owner.made(members, {"email": editor.email, "role": "editor"})
    path = f"/iam/providers/{provider['id']}"
    assert (await viewer.get(path)).json()["config"] == {"password": "********"}
    assert (await stranger.get(path)).status_code == 403
    for person in (viewer, editor, stranger):
        assert (await person.put(path, {"enabled": False})).status_code == 403
        assert (await person.delete(path)).status_code == 403
        assert (await person.post(path + "/test")).status_code == 403
        assert (await person.get(f"{path}/mappings")).status_code == (403 if person is stranger else 200)
    assert (await house.owner.get("/iam/providers/not-a-uuid")).status_code == 404
    assert (await house.client.get(f"/api/v1{path}")).status_code == 401


async def test_every_write_is_in_the_audit_log_without_its_secrets(house: House) -> None:
    provider = await house.provider("oidc", OIDC)
    path = f"/iam/providers/{provider['id']}"
    await house.owner.put(path, {"config": OIDC | {"client_secret": "new and secret"}})
    await house.owner.put(path, {"enabled": False})
    await house.owner.delete(path)
    entries = (await house.owner.get(f"/companies/{house.company['id']}/audit")).json()["items"]
    found = {entry["action"]: entry for entry in reversed(entries) if entry["resource_id"] == provider["id"]}
    assert list(found) == ["iam_provider.create", "iam_provider.update", "iam_provider.delete"]
    assert found["iam_provider.update"]["details"] == {"enabled": {"before": True, "after": False}}
    updates = [entry for entry in entries if entry["action"] == "iam_provider.update"]
    assert updates[1]["details"]["config"]["after"]["client_secret"] == "********"
    assert "secret and" not in str(entries)
    assert "very secret" not in str(entries)


async def test_a_new_key_of_the_secrets_seals_the_configs_too(serve: Serve, settings_with: Any) -> None:
    async with serve() as client:
        house = await set_up(client)
        await house.oidc("https://login.example")
        old, new = house.parts.vault, Vault(settings_with(secrets_key="k" * 32), house.parts.accounts.secret)
        done = await rotation.rotate(house.parts.database, new)
        assert (done.resealed, done.not_opened) == (1, [])
        assert (await rotation.rotate(house.parts.database, new)).resealed == 0
        assert "sealed with another key" in (await rotation.rotate(house.parts.database, old)).not_opened[0]
