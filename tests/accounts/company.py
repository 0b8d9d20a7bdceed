"""A company with single sign-on: its identity provider, which we did not write, and one that forges what it is told."""

import base64
import html
import re
import time
import zlib
from typing import Any

import httpx

from penstock.accounts.saml import Keypair
from tests.accounts.oauth.browser import peer_http
from tests.accounts.saml import forge

SITE = "http://localhost:8080"
ACS = f"{SITE}/user/saml/acs"
ENTITY_ID = f"{SITE}/user/saml/metadata"
FROM_THE_PROVIDER = {"origin": "https://idp.example.org", "sec-fetch-site": "cross-site"}
Fields = dict[str, str]


class Company:
    """The provider in Node; its people have addresses in the domains that a test registers it for."""

    def __init__(self, ready: dict[str, Any]) -> None:
        self.entity_id: str = ready["metadata_url"]
        self.sso_url: str = ready["sso_url"]
        self.metadata = httpx.get(ready["metadata_url"]).text
        self._ready = ready

    async def meet(self, client: httpx.AsyncClient) -> None:
        """Its administrator imports our metadata."""
        ours = await client.get("/user/saml/metadata")
        async with peer_http() as http:
            (await http.put(self._ready["sp_url"], content=ours.content)).raise_for_status()

    async def visit(self, url: str, **choices: str) -> Fields:
        """What the provider's page makes a browser post to us."""
        async with peer_http() as http:
            page = await http.get(httpx.URL(url).copy_merge_params(choices) if choices else url)
        assert page.status_code == 200, page.text
        return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page.text)}

    async def answer(self, client: httpx.AsyncClient, email: str, next_: str = "/", **choices: str) -> Fields:
        """A sign-in that begins at our door, up to the post that ends it."""
        there = await set_out(client, email, next_)
        # The choices go behind what we signed, which must stay as it is.
        more = str(httpx.QueryParams({"email": email, **choices}))
        return await self.visit(f"{there}&{more}")

    async def initiate(self, email: str, relay_state: str = "") -> Fields:
        """A sign-in that begins at the provider."""
        return await self.visit(self._ready["initiate_url"], email=email, RelayState=relay_state)


async def set_out(client: httpx.AsyncClient, email: str, next_: str = "/") -> str:
    """The address at the provider, with our signed request."""
    answer = await client.get("/user/auth", params={"sso": "1", "email": email, "next": next_})
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def post(client: httpx.AsyncClient, fields: Fields | str) -> httpx.Response:
    """The provider's page sends the browser to us, from a foreign site and without cookies."""
    if isinstance(fields, str):
        fields = {"SAMLResponse": fields}
    client.cookies.clear()
    return await client.post("/user/saml/acs", data=fields, headers=FROM_THE_PROVIDER)


def request_id(there: str) -> str:
    request = zlib.decompress(base64.b64decode(httpx.URL(there).params["SAMLRequest"]), -zlib.MAX_WBITS)
    found = re.search(rb' ID="([^"]+)"', request)
    assert found is not None
    return found[1].decode()


def forged_metadata(keys: Keypair, entity_id: str = forge.ENTITY_ID) -> str:
    """Of the provider that the forge plays, at https://idp.example.org."""
    certificate = "".join(keys.certificate.strip().splitlines()[1:-1])
    return (
        f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{entity_id}">'
        '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">'
        '<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>'
        f"<X509Certificate>{certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"
        '<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"'
        ' Location="https://idp.example.org/sso"/></IDPSSODescriptor></EntityDescriptor>'
    )


def claims(request: str | None, **wrong: Any) -> forge.Claims:
    """All as it should be, here and now, but for `wrong`."""
    now = time.time() - forge.NOW
    right: dict[str, Any] = {
        "destination": ACS,
        "recipient": ACS,
        "audiences": ((ENTITY_ID,),),
        "response_in_response_to": request,
        "in_response_to": request,
        "confirmed_until": forge.at(now + 300),
        "not_before": forge.at(now - 10),
        "not_on_or_after": forge.at(now + 300),
    }
    return forge.Claims(**right | wrong)
