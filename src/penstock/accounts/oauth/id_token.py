"""Whether an OpenID Connect id_token is genuine, meant for us and still good. Pure: keys and time are handed in."""

import hmac
from collections.abc import Collection, Mapping, Sequence

import jwt
import msgspec

from penstock.accounts.oauth.errors import Refused

# never `none`, never HS*: with HS256 a token "signed" with the provider's public key would pass
ALGORITHMS = frozenset({"RS256", "PS256", "ES256", "EdDSA"})
LARGEST = 16 * 1024
LEEWAY = 60

Jwk = Mapping[str, object]

_JWS = jwt.PyJWS(algorithms=sorted(ALGORITHMS), options={"enforce_minimum_key_length": True})
_NOT_VALID = "the provider's token is not valid"


class Header(msgspec.Struct, frozen=True):
    alg: str
    kid: str | None = None


class Claims(msgspec.Struct, frozen=True):
    """What we read of a token. The types are checked, so `exp` cannot be a list nor `sub` a number."""

    iss: str
    sub: str
    aud: str | list[str]
    exp: int | float
    iat: int | float
    nbf: int | float | None = None
    azp: str | None = None
    nonce: str | None = None
    email: object = None
    email_verified: object = None
    name: object = None
    members: dict[str, object] = {}
    """Everything that the token says, for claims of a deployment's own (groups)."""


def read_header(token: str) -> Header:
    """The header of a token worth looking at: checked before the provider is asked for anything."""
    if len(token) > LARGEST or not token.isascii():
        raise Refused(_NOT_VALID)
    try:
        header = _JWS.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError) as error:
        raise Refused(_NOT_VALID) from error
    if "crit" in header or header.get("alg") not in ALGORITHMS:
        raise Refused("the provider's token is signed in a way that is not accepted")
    return msgspec.convert(header, Header)


def signed_payload(token: str, header: Header, keys: Sequence[Jwk]) -> bytes | None:
    """The token's content, when one of `keys` signed it."""
    for key in keys:
        if not _fits(key, header):
            continue
        try:
            payload: bytes = _JWS.decode(token, jwt.PyJWK(dict(key), header.alg), algorithms=[header.alg])
        except (jwt.PyJWTError, ValueError):
            continue
        return payload
    return None


def _fits(key: Jwk, header: Header) -> bool:
    return (
        (header.kid is None or key.get("kid") == header.kid)
        and key.get("use", "sig") == "sig"
        and key.get("alg", header.alg) == header.alg
        and "d" not in key
    )


def read_claims(payload: bytes, *, issuers: Collection[str], client_id: str, now: float, nonce: str | None) -> Claims:
    """The claims, once each of them is as it must be. `nonce` is None where no sign-in of ours asked for the token."""
    try:
        members = msgspec.json.decode(payload, type=dict[str, object])
        claims = msgspec.structs.replace(msgspec.convert(members, Claims), members=members)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(_NOT_VALID) from error
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if claims.iss not in issuers:
        raise Refused("the provider's token was issued by somebody else")
    if client_id not in audiences or (len(audiences) > 1 and claims.azp != client_id):
        raise Refused("the provider's token was issued to another application")
    if not now - LEEWAY < claims.exp:
        raise Refused("the provider's token has expired")
    if not claims.iat < now + LEEWAY or not (claims.nbf is None or claims.nbf < now + LEEWAY):
        raise Refused("the provider's token is not valid yet")
    if nonce is not None and not (claims.nonce and hmac.compare_digest(claims.nonce.encode(), nonce.encode())):
        raise Refused("the provider's token belongs to another sign-in")
    return claims
