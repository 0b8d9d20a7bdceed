"""Forged, borrowed, stale and malformed id_tokens, each refused for its own reason."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from penstock.accounts.oauth import OAuthClient, OAuthError, Refused
from penstock.settings import OAuthProvider

from .forge import ISSUER, ForgedIssuer, foreign_key, jwk_of, own_key

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(issuer: ForgedIssuer) -> OAuthClient:
    return issuer.client()


def encode(part: Any) -> str:
    return (
        base64.urlsafe_b64encode(part if isinstance(part, bytes) else json.dumps(part).encode()).rstrip(b"=").decode()
    )


async def test_the_token_that_the_attacks_are_made_from_is_accepted(client: OAuthClient, issuer: ForgedIssuer) -> None:
    identity = await client.identify("peer", issuer.id_token())
    assert (identity.subject, identity.email, identity.email_verified) == ("ada", "ada@people.example", True)
    assert (await issuer.sign_in(client)).subject == "ada"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 7])
async def test_a_token_without_a_signature_is_refused(client: OAuthClient, issuer: ForgedIssuer, alg: Any) -> None:
    header = {"alg": alg, "kid": "first", "typ": "JWT"}
    for signature in ("", encode(b"x")):
        with pytest.raises(Refused):
            await client.identify("peer", f"{encode(header)}.{encode(issuer.valid())}.{signature}")
    assert not issuer.asked


async def test_a_token_signed_with_the_public_key_as_hmac_secret_is_refused(
    client: OAuthClient, issuer: ForgedIssuer
) -> None:
    public = own_key().public_key()
    pem, der = (serialization.Encoding.PEM, serialization.Encoding.DER)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    for secret in (public.public_bytes(pem, spki), public.public_bytes(der, spki), issuer.keys[0]["n"].encode()):
        for alg, digest in (("HS256", hashlib.sha256), ("HS512", hashlib.sha512)):
            signed = f"{encode({'alg': alg, 'kid': 'first'})}.{encode(issuer.valid())}"
            signature = hmac.new(secret, signed.encode(), digest).digest()
            with pytest.raises(Refused, match="not accepted"):
                await client.identify("peer", f"{signed}.{encode(signature)}")


async def test_a_shared_secret_among_the_keys_is_never_used(client: OAuthClient, issuer: ForgedIssuer) -> None:
    issuer.keys = [{"kty": "oct", "k": encode(b"s" * 32), "kid": "first", "alg": "HS256"}]
    for alg in ("HS256", "RS256"):
        signed = f"{encode({'alg': alg, 'kid': 'first'})}.{encode(issuer.valid())}"
        signature = hmac.new(b"s" * 32, signed.encode(), hashlib.sha256).digest()
        with pytest.raises(Refused):
            await client.identify("peer", f"{signed}.{encode(signature)}")


async def test_a_token_of_a_foreign_key_under_a_known_name_is_refused(
    client: OAuthClient, issuer: ForgedIssuer
) -> None:
    with pytest.raises(Refused, match="not signed by the provider"):
        await client.identify("peer", issuer.id_token(key=foreign_key()))


async def test_a_key_that_comes_inside_the_token_is_not_believed(client: OAuthClient, issuer: ForgedIssuer) -> None:
    headers = {"jwk": jwk_of(foreign_key(), "mine"), "kid": "mine", "jku": "https://evil.example/jwks"}
    token = jwt.encode(issuer.valid(), foreign_key(), algorithm="RS256", headers=headers)
    with pytest.raises(Refused, match="not signed by the provider"):
        await client.identify("peer", token)


async def test_a_changed_payload_is_refused(client: OAuthClient, issuer: ForgedIssuer) -> None:
    header, _, signature = issuer.id_token().split(".")
    with pytest.raises(Refused):
        await client.identify("peer", f"{header}.{encode(issuer.valid(sub='eve'))}.{signature}")


async def test_a_key_for_encryption_does_not_sign(client: OAuthClient, issuer: ForgedIssuer) -> None:
    issuer.keys[0]["use"] = "enc"
    with pytest.raises(Refused):
        await client.identify("peer", issuer.id_token())


async def test_a_key_whose_secret_half_is_published_does_not_sign(client: OAuthClient, issuer: ForgedIssuer) -> None:
    issuer.keys = [{**jwt.algorithms.RSAAlgorithm.to_jwk(own_key(), as_dict=True), "kid": "first", "use": "sig"}]
    assert "d" in issuer.keys[0]
    with pytest.raises(Refused):
        await client.identify("peer", issuer.id_token())


async def test_a_key_for_another_algorithm_does_not_sign(client: OAuthClient, issuer: ForgedIssuer) -> None:
    issuer.keys[0]["alg"] = "PS256"
    with pytest.raises(Refused):
        await client.identify("peer", issuer.id_token())


async def test_a_key_too_short_to_be_safe_does_not_sign(client: OAuthClient, issuer: ForgedIssuer) -> None:
    weak = generate_private_key(65537, 1024)
    issuer.keys = [jwk_of(weak, "first")]
    signing = jwt.PyJWS()
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = signing.encode(json.dumps(issuer.valid()).encode(), weak, "RS256", headers={"kid": "first"})
    with pytest.raises(Refused):
        await client.identify("peer", token)


async def test_a_token_without_a_key_name_is_tried_with_each_key(client: OAuthClient, issuer: ForgedIssuer) -> None:
    issuer.keys = ["junk", {"kty": "RSA"}, {"kty": 7}, jwk_of(foreign_key(), "other"), *issuer.keys]
    assert (await client.identify("peer", issuer.id_token(kid=None))).subject == "ada"


BENT: dict[str, tuple[dict[str, Any], str]] = {
    "wrong issuer": ({"iss": "https://evil.example"}, "issued by somebody else"),
    "issuer with a slash more": ({"iss": ISSUER + "/"}, "issued by somebody else"),
    "wrong audience": ({"aud": "another"}, "another application"),
    "audience that contains ours": ({"aud": "penstock2"}, "another application"),
    "audiences without ours": ({"aud": ["another", "third"]}, "another application"),
    "no audience": ({"aud": []}, "another application"),
    "several audiences and no party": ({"aud": ["penstock", "another"]}, "another application"),
    "several audiences for another party": ({"aud": ["penstock", "another"], "azp": "another"}, "another application"),
    "expired": ({"exp": 1_000_000_000}, "expired"),
    "from the future": ({"iat": 9_000_000_000}, "not valid yet"),
    "not yet valid": ({"nbf": 9_000_000_000}, "not valid yet"),
    "no expiry": ({"exp": None}, "not valid"),
    "no subject": ({"sub": None}, "not valid"),
    "no issuer": ({"iss": None}, "not valid"),
    "no time of issue": ({"iat": None}, "not valid"),
    "audience a number": ({"aud": 7}, "not valid"),
    "issuer a list": ({"iss": [ISSUER]}, "not valid"),
    "subject a number": ({"sub": 7}, "not valid"),
    "subject a list": ({"sub": ["ada"]}, "not valid"),
    "nonce a list": ({"nonce": ["n"]}, "not valid"),
}


@pytest.mark.parametrize(("claims", "reason"), BENT.values(), ids=BENT.keys())
async def test_a_signed_token_with_a_wrong_claim_is_refused(
    client: OAuthClient, issuer: ForgedIssuer, claims: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        await client.identify("peer", issuer.id_token(**claims))
    with pytest.raises(Refused, match=reason):
        await issuer.sign_in(client, **claims)


@pytest.mark.parametrize("exp", ["NaN", "Infinity", "1e999", '"9999999999"', "true", "[9999999999]", "null"])
async def test_an_expiry_that_is_no_number_does_not_last_for_ever(
    client: OAuthClient, issuer: ForgedIssuer, exp: str
) -> None:
    payload = json.dumps(issuer.valid(exp=123456789)).replace("123456789", exp).encode()
    token = jwt.PyJWS().encode(payload, own_key(), "RS256", headers={"kid": "first"})
    with pytest.raises(Refused):
        await client.identify("peer", token)


async def test_clocks_may_differ_by_a_little(client: OAuthClient, issuer: ForgedIssuer) -> None:
    now = int(issuer.clock.now)
    little: list[dict[str, Any]] = [{"exp": now - 55}, {"iat": now + 55}, {"nbf": now + 55}]
    much: list[dict[str, Any]] = [{"exp": now - 61}, {"iat": now + 62}, {"nbf": now + 62}]
    for claims in little:
        assert (await client.identify("peer", issuer.id_token(**claims))).subject == "ada"
    for claims in much:
        with pytest.raises(Refused):
            await client.identify("peer", issuer.id_token(**claims))


async def test_several_audiences_are_accepted_when_we_are_the_authorized_party(
    client: OAuthClient, issuer: ForgedIssuer
) -> None:
    token = issuer.id_token(aud=["another", "penstock"], azp="penstock")
    assert (await client.identify("peer", token)).subject == "ada"


@pytest.mark.parametrize("nonce", ["", "other", None])
async def test_a_token_of_another_sign_in_is_refused(client: OAuthClient, issuer: ForgedIssuer, nonce: Any) -> None:
    with pytest.raises(Refused, match="another sign-in"):
        await issuer.sign_in(client, nonce=nonce)


@pytest.mark.parametrize("nonce", ["", None])
async def test_a_sign_in_that_asked_for_no_nonce_accepts_no_id_token(
    client: OAuthClient, issuer: ForgedIssuer, nonce: Any
) -> None:
    from msgspec.structs import replace

    _, pending = await client.begin("peer", redirect_uri="https://penstock.example/", next="/")
    issuer.claims = {"nonce": nonce}
    with pytest.raises(Refused, match="another sign-in"):
        await client.finish("peer", replace(pending, nonce=""), code="code", state=pending.state)


JUNK = [
    "",
    ".",
    "..",
    "...",
    "a.b.c",
    "é.é.é",
    "x" * 16385,
    "a b",
    "e30.e30.",
    "W10.e30.x",
    "\n",
    "x\r\ny: z",
    "\ud800",
]


@pytest.mark.parametrize("token", JUNK)
async def test_junk_is_refused_before_anybody_is_asked(client: OAuthClient, issuer: ForgedIssuer, token: str) -> None:
    with pytest.raises(Refused):
        await client.identify("peer", token)
    assert not issuer.asked


async def test_deep_nesting_and_critical_extensions_are_refused(client: OAuthClient, issuer: ForgedIssuer) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 6000).decode().rstrip("=")
    with pytest.raises(Refused):
        await client.identify("peer", f"{nested}.e30.AAAA")
    headers = {"kid": "first", "crit": ["bound"], "bound": "to another"}
    with pytest.raises(Refused):
        await client.identify("peer", jwt.encode(issuer.valid(), own_key(), "RS256", headers))


@pytest.mark.parametrize("verified", [False, "false", "True", "yes", 1, None, ["true"], {}])
async def test_only_true_is_true(client: OAuthClient, issuer: ForgedIssuer, verified: Any) -> None:
    identity = await client.identify("peer", issuer.id_token(email_verified=verified))
    assert (identity.email, identity.email_verified) == ("ada@people.example", False)


async def test_true_may_be_written_as_a_string(client: OAuthClient, issuer: ForgedIssuer) -> None:
    assert (await client.identify("peer", issuer.id_token(email_verified="true"))).email_verified


NO_EMAILS = [
    7, ["ada@people.example"], {"a": 1}, True, "", "ada", "ada@", "@x.example", "a@b", "a@b..example", "a b@x.example",
    "a@x.example\n", "a@x.example,b@x.example", "<a@x.example>", "a@-x.example", "a" * 65 + "@x.example",
    "a@" + "x" * 250 + ".example", "ric\N{KELVIN SIGN}@x.example", "a@\N{KELVIN SIGN}.example", "7@peer.invalid",
    "a@x.example\x00", "a@@x.example", "a@[127.0.0.1]",
]  # fmt: skip


@pytest.mark.parametrize("email", NO_EMAILS)
async def test_what_is_no_email_counts_as_none_and_never_as_verified(
    client: OAuthClient, issuer: ForgedIssuer, email: Any
) -> None:
    identity = await client.identify("peer", issuer.id_token(email=email))
    assert (identity.subject, identity.email, identity.email_verified) == ("ada", "", False)


@pytest.mark.parametrize("subject", ["", " ", "a\x00b", "a\nb", "x" * 256])
async def test_a_subject_that_no_table_could_keep_is_refused(
    client: OAuthClient, issuer: ForgedIssuer, subject: str
) -> None:
    with pytest.raises(OAuthError):
        await client.identify("peer", issuer.id_token(sub=subject))


@pytest.mark.parametrize(("name", "kept"), [("Ada\x00 L\n", "Ada L"), (7, ""), ("x" * 500, "x" * 200), (["a"], "")])
async def test_a_name_is_made_fit_to_show(client: OAuthClient, issuer: ForgedIssuer, name: Any, kept: str) -> None:
    assert (await client.identify("peer", issuer.id_token(name=name))).name == kept


async def test_google_is_known_with_and_without_the_scheme(issuer: ForgedIssuer) -> None:
    provider = OAuthProvider(client_id="penstock", kind="google", auth_url=f"{ISSUER}/authorize",
                             token_url=f"{ISSUER}/token", jwks_url=f"{ISSUER}/jwks")  # fmt: skip
    client = issuer.client(provider)
    for iss in ("https://accounts.google.com", "accounts.google.com"):
        assert (await client.identify("peer", issuer.id_token(iss=iss))).email_verified
    for iss in ("http://accounts.google.com", ISSUER, "google.com"):
        with pytest.raises(Refused, match="somebody else"):
            await client.identify("peer", issuer.id_token(iss=iss))
