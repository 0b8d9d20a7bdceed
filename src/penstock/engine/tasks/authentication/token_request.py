"""Asking an authority for a token: one form for each grant, and what its answer says."""

import re
from typing import Any
from urllib.parse import urlencode

import msgspec
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks.addresses import shown
from penstock.engine.tasks.authentication.bearer import is_token
from penstock.engine.tasks.authentication.client import credentials
from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.pool import Answer, Http, Token

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPES = "urn:ietf:params:oauth:token-type:"
_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
_SECONDS = 30.0
_UNSAID_SECONDS = 60.0  # a token is kept for, when the answer does not say how long it lives
_LONGEST_SECONDS = 24 * 3600.0
_LEEWAY_SECONDS = 30.0  # a token must still be good when the service looks at it

Form = dict[str, str | list[str]]


class Granted(msgspec.Struct, frozen=True):
    token: Token
    seconds: float
    id_token: str | None


async def send(policy: Policy, endpoint: URL, before: Token | None, http: Http) -> Granted:
    headers, proof = credentials(policy, str(endpoint))
    form: Form = {**_form(policy, before), **proof}
    encoding = policy.text("request", "encoding") or _FORM
    if encoding not in (_FORM, _JSON):
        raise policy.fault(f"`request.encoding` is {_FORM} or {_JSON}")
    body = msgspec.json.encode(form) if encoding == _JSON else urlencode(form, doseq=True).encode()
    headers = {"Accept": "application/json", "Content-Type": encoding, **headers}
    answer = await http.send("POST", endpoint, headers, body, seconds=_SECONDS)
    return _granted(answer, endpoint, before)


def _form(policy: Policy, before: Token | None) -> Form:
    grant = policy.needed("grant")
    form: Form = {"grant_type": grant}
    match grant:
        case "client_credentials":
            pass
        case "password":
            form |= {"username": policy.needed("username"), "password": policy.needed("password")}
        case "refresh_token":
            form["refresh_token"] = _refresh_token(policy, before)
        case _ if grant == EXCHANGE:
            form |= _exchanged(policy)
        case "authorization_code":
            raise policy.fault(
                "the grant `authorization_code` needs a person at a browser; use client_credentials or refresh_token"
            )
        case _:
            raise policy.fault(
                f"the grant {grant[:60]!r} is not known; there are client_credentials, password, refresh_token "
                f"and {EXCHANGE}"
            )
    if scopes := policy.texts("scopes"):
        form["scope"] = " ".join(scopes)
    if audiences := policy.texts("audiences"):
        # RFC 8693 repeats the parameter; elsewhere one that comes twice is an error, and a space divides.
        form["audience"] = audiences if grant == EXCHANGE else " ".join(audiences)
    return form


def _refresh_token(policy: Policy, before: Token | None) -> str:
    """The DSL has no member for it: ours is `refreshToken`, or the subject's token. One that the authority handed out
    since then comes first: many accept each only once."""
    if before is not None and before.refresh is not None:
        return before.refresh
    return policy.text("refreshToken") or policy.needed("subject", "token")


def _exchanged(policy: Policy) -> Form:
    form: Form = {}
    for party in ("subject", "actor"):
        if party == "subject" or policy.member(party) is not None:
            form[f"{party}_token"] = policy.needed(party, "token")
            kind = policy.text(party, "type") or "access_token"
            form[f"{party}_token_type"] = kind if ":" in kind else _TYPES + kind
    return form


def _granted(answer: Answer, endpoint: URL, before: Token | None) -> Granted:
    said = _members(answer)
    if not 200 <= answer.status < 300:
        raise _refusal(answer, said, endpoint)
    access, kind = said.get("access_token"), said.get("token_type", "Bearer")
    if not isinstance(access, str) or not is_token(access):
        raise faults.communication("Answer not understood", f"{shown(endpoint)} answered without an access token")
    if not isinstance(kind, str) or kind.lower() not in ("bearer", "n_a"):
        raise faults.communication("Answer not understood", f"{shown(endpoint)} hands out tokens of a kind but Bearer")
    refresh, id_token = said.get("refresh_token"), said.get("id_token")
    if not isinstance(refresh, str):
        refresh = before.refresh if before is not None else None
    return Granted(Token(access, refresh), _seconds(said), id_token if isinstance(id_token, str) else None)


def _members(answer: Answer) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _seconds(said: dict[str, Any]) -> float:
    try:
        seconds = float(said.get("expires_in", ""))
    except (TypeError, ValueError):
        return _UNSAID_SECONDS
    # A token of a few seconds keeps half of them: a leeway of more than its life would make it useless.
    return max(0.0, min(max(seconds - _LEEWAY_SECONDS, seconds / 2), _LONGEST_SECONDS))


def _refusal(answer: Answer, said: dict[str, Any], endpoint: URL) -> faults.Fault:
    if answer.status >= 500 or answer.status == 429:
        return faults.communication(
            answer.reason or "No token", f"{shown(endpoint)} answered {answer.status} instead of a token", answer.status
        )
    code = said.get("error")
    # Only the code: a description may repeat what we sent, and that was a secret.
    why = f" ({code})" if isinstance(code, str) and re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", code) else ""
    return faults.authentication(
        "Token refused",
        f"{shown(endpoint)} answered {answer.status}{why} instead of a token; check the client, its secret, the grant "
        "and the scopes",
    )
