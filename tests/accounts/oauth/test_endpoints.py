"""What the settings say of a provider: what stops the start, and what they put in the place of the usual."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock.accounts.oauth import OAuthClient
from penstock.settings import OAuthProvider, SettingsError

from .conftest import MakeClient
from .forge import CALLBACK
from .stand_in import configured

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"kind": "oidc"}, "issuer"),
        ({"kind": "oauth2"}, "auth_url"),
        ({"kind": "oauth2", "auth_url": "https://a.example"}, "token_url"),
        ({"kind": "oidc", "issuer": "issuer.example"}, "expected an address"),
        ({"kind": "oidc", "issuer": "ftp://issuer.example"}, "expected an address"),
        ({"kind": "github", "token_url": "https://u:p@a.example"}, "expected an address"),
        ({"kind": "github", "token_url": "https://[x"}, "expected an address"),
    ],
)
async def test_a_provider_that_could_never_work_stops_the_start(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        OAuthClient({"peer": OAuthProvider(client_id="1", **settings)})


async def test_a_disabled_one_does_not(make_client: MakeClient) -> None:
    make_client(OAuthProvider(client_id="1", kind="oidc", enabled=False))


async def test_the_redirect_address_of_the_settings_goes_before_the_derived_one(make_client: MakeClient) -> None:
    client = make_client(configured("github", redirect_url="https://front.example/back"))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="//evil.example")
    assert parse_qs(urlsplit(url).query)["redirect_uri"] == ["https://front.example/back"]
    assert (pending.redirect_uri, pending.next) == ("https://front.example/back", "/")


async def test_scopes_of_the_settings_replace_the_usual_ones_but_openid_stays(make_client: MakeClient) -> None:
    provider = OAuthProvider(
        client_id="1",
        kind="oidc",
        issuer="https://i.example",
        scopes=["email"],
        auth_url="https://i.example/a",
        token_url="https://i.example/t",
        jwks_url="https://i.example/j",
    )
    url, _ = await make_client(provider).begin("peer", redirect_uri=CALLBACK, next="/")
    assert parse_qs(urlsplit(url).query)["scope"] == ["email openid"]
