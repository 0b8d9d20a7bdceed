"""Digest authentication (RFC 7616): answers a challenge, which proves the password without sending it."""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from urllib.request import parse_http_list, parse_keqv_list

from yarl import URL

from penstock.engine.tasks.authentication.policy import Policy
from penstock.engine.tasks.work import Authorization

# The best first. SHA-512-256 is in the standard too, but nobody asks for it.
_ALGORITHMS: dict[str, Callable[[bytes], "hashlib._Hash"]] = {
    "SHA-256": hashlib.sha256,
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False),
}
_SESSION = "-SESS"

Challenge = dict[str, str]


def authorization(policy: Policy, challenges: Iterable[str], method: str, url: URL) -> Authorization | None:
    """Given the values of `WWW-Authenticate`; None when they hold no challenge that we can answer."""
    challenge = _best(challenges)
    if challenge is None:
        return None
    username, password = policy.needed("username"), policy.text("password") or ""
    return Authorization("Digest", _answer(challenge, username, password, method, url.raw_path_qs))


def _best(headers: Iterable[str]) -> Challenge | None:
    found = [challenge for header in headers for challenge in _challenges(header) if _answerable(challenge)]
    order = list(_ALGORITHMS)
    return min(found, key=lambda challenge: order.index(_algorithm(challenge)), default=None)


def _challenges(header: str) -> Iterable[Challenge]:
    """The digest challenges in a header, which may hold some of other schemes before and after."""
    members: list[str] | None = None
    for part in parse_http_list(header):
        first, _, rest = part.partition(" ")
        if rest and "=" not in first:
            if members is not None:
                yield _members(members)
            members = [rest.strip()] if first.lower() == "digest" else None
        elif members is not None:
            members.append(part)
    if members is not None:
        yield _members(members)


def _members(parts: list[str]) -> Challenge:
    return {name.lower(): value for name, value in parse_keqv_list([part for part in parts if "=" in part]).items()}


def _algorithm(challenge: Challenge) -> str:
    return challenge.get("algorithm", "MD5").upper().removesuffix(_SESSION)


def _answerable(challenge: Challenge) -> bool:
    qualities = {quality.strip().lower() for quality in challenge.get("qop", "auth").split(",")}
    return bool(challenge.get("nonce")) and _algorithm(challenge) in _ALGORITHMS and "auth" in qualities


def _answer(challenge: Challenge, username: str, password: str, method: str, uri: str) -> str:
    def digest(*parts: str) -> str:
        return _ALGORITHMS[_algorithm(challenge)](":".join(parts).encode()).hexdigest()

    realm, nonce = challenge.get("realm", ""), challenge["nonce"]
    count, own = "00000001", secrets.token_hex(16)
    secret = digest(username, realm, password)
    if challenge.get("algorithm", "").upper().endswith(_SESSION):
        secret = digest(secret, nonce, own)
    what = digest(method.upper(), uri)
    quoted = {"username": username, "realm": realm, "nonce": nonce, "uri": uri}
    plain = {"algorithm": challenge["algorithm"]} if "algorithm" in challenge else {}
    if "qop" in challenge:
        quoted |= {"cnonce": own, "response": digest(secret, nonce, count, own, "auth", what)}
        plain |= {"qop": "auth", "nc": count}
    else:  # RFC 2069, which some devices still speak
        quoted |= {"response": digest(secret, nonce, what)}
    if "opaque" in challenge:
        quoted["opaque"] = challenge["opaque"]
    return ", ".join([*(f'{name}="{_escaped(value)}"' for name, value in quoted.items()), *_pairs(plain)])


def _pairs(members: dict[str, str]) -> Iterable[str]:
    return (f"{name}={value}" for name, value in members.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
