"""OpenID Connect: its discovery document, its keys, and whether it knows our client."""

import base64
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from penstock.egress import Egress
from penstock.platform.iam import config
from penstock.platform.iam.probe import Outcome, ProbeFailed
from penstock.platform.iam.probe.http import ask


class Oidc:
    async def test(self, settings: dict[str, Any], egress: Egress) -> Outcome:
        known = config.read(settings, config.Oidc)
        async with egress.client() as client:
            document = await _discovered(client, known)
            keys = await _keys(client, document)
            if known.client_secret:
                await _present_ourselves(client, known, document)
        return Outcome(True, f"the issuer {known.issuer} answers, with {keys} signing key{'s' * (keys != 1)}")


async def _discovered(client: httpx.AsyncClient, known: config.Oidc) -> dict[str, object]:
    url = known.discovery_url or known.issuer.rstrip("/") + "/.well-known/openid-configuration"
    answer = await ask(client, "GET", url)
    answer.require_success("discovery document")
    document = answer.json("discovery document")
    if document.get("issuer") != known.issuer:
        raise ProbeFailed(f"the discovery document of {answer.host} speaks for another issuer than {known.issuer}")
    for member in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        _address(document, member)
    return document


async def _keys(client: httpx.AsyncClient, document: dict[str, object]) -> int:
    answer = await ask(client, "GET", _address(document, "jwks_uri"))
    answer.require_success("key set")
    keys = answer.json("key set").get("keys")
    usable = (
        [key for key in keys if isinstance(key, dict) and key.get("use", "sig") == "sig"]
        if keys and isinstance(keys, list)
        else []
    )
    if not usable:
        raise ProbeFailed(f"{answer.host} publishes no signing keys")
    return len(usable)


async def _present_ourselves(client: httpx.AsyncClient, known: config.Oidc, document: dict[str, object]) -> None:
    """With a code that nobody issued: who knows us refuses the code, who does not refuses us."""
    form = {"grant_type": "authorization_code", "code": "penstock-test", "redirect_uri": "https://penstock.invalid/"}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if isinstance(methods, list) and "client_secret_basic" in methods:
        pair = f"{quote(known.client_id, safe='')}:{quote(known.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form |= {"client_id": known.client_id, "client_secret": known.client_secret}
    url = _address(document, "token_endpoint")
    answer = await ask(client, "POST", url, headers=headers, content=urlencode(form).encode())
    if answer.status == 401 or b'"invalid_client"' in answer.body:
        raise ProbeFailed(f"{answer.host} does not accept the client_id or the client_secret")


def _address(document: dict[str, object], member: str) -> str:
    url = document.get(member)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ProbeFailed(f"the discovery document names no usable {member}")
    issuer = document["issuer"]
    if isinstance(issuer, str) and issuer.startswith("https://") and not url.startswith("https://"):
        raise ProbeFailed(f"the discovery document leads from HTTPS to plain HTTP ({member})")
    return url
