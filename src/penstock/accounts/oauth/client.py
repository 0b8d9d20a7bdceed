"""Our side of OAuth 2.0 and OpenID Connect: sending somebody to a provider, and learning who came back.

Knows no database, no session and no web framework: what an identity may do here is decided by who calls.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Collection, Mapping

import httpx
import msgspec

from penstock.accounts.oauth.destination import safe_next
from penstock.accounts.oauth.endpoints import Provider, configured
from penstock.accounts.oauth.errors import ProviderDown, Refused, UnknownProvider
from penstock.accounts.oauth.identity import Identity, email_from, is_true
from penstock.accounts.oauth.issuer import Issuer
from penstock.accounts.oauth.pending import LIFETIME, Pending, require_unexpired
from penstock.accounts.oauth.profiles import profile, user_info
from penstock.accounts.oauth.proof import prove_ours
from penstock.accounts.oauth.wire import Wire, is_token, with_params
from penstock.settings import OAuthProvider

LONGEST_CODE = 4096


class OAuthClient:
    """One per server. A settings mistake that no sign-in could survive is raised when it is made."""

    def __init__(
        self,
        providers: Mapping[str, OAuthProvider],
        *,
        http: httpx.AsyncClient | None = None,
        clock: Callable[[], float] = time.time,
        wants: Collection[str] = (),
    ) -> None:
        """`wants` are claims to ask the user info for, when the id_token does not have them."""
        self._clock = clock
        self._wants = wants
        self._disabled = {name for name, config in providers.items() if not config.enabled}
        self._providers = {
            name: configured(name, config) for name, config in providers.items() if name not in self._disabled
        }
        self._wire = Wire(http)
        self._issuers = {
            name: Issuer(provider, self._wire, clock)
            for name, provider in self._providers.items()
            if provider.speaks_oidc
        }

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def begin(self, name: str, *, redirect_uri: str, next: str) -> tuple[str, Pending]:  # noqa: A002
        """The address to send the browser to, and what to remember until it comes back."""
        self._require(name)
        provider = await self._provider(name)
        pending = Pending(
            provider=name,
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32) if provider.speaks_oidc else "",
            next=safe_next(next),
            expires=int(self._clock()) + LIFETIME,
            redirect_uri=_callback(provider.config.redirect_url, redirect_uri),
        )
        challenge = base64.urlsafe_b64encode(hashlib.sha256(pending.verifier.encode()).digest()).rstrip(b"=")
        params = {
            "response_type": "code",
            "client_id": provider.config.client_id,
            "redirect_uri": pending.redirect_uri,
            "state": pending.state,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        if provider.scopes:
            params["scope"] = " ".join(provider.scopes)
        if pending.nonce:
            params["nonce"] = pending.nonce
        return str(with_params(provider.endpoints.authorize, params)), pending

    async def finish(self, name: str, pending: Pending, *, code: str, state: str, iss: str | None = None) -> Identity:
        """Who came back with `code`. `iss` is the callback's parameter of that name (RFC 9207), where it has one."""
        self._require(name)
        if pending.provider != name:
            raise Refused("this sign-in was begun with another provider")
        require_unexpired(pending, self._clock())
        # without this, a stranger's link to our callback would sign people in to the stranger's account
        if not hmac.compare_digest(_bytes(pending.state), _bytes(state)):
            raise Refused("this sign-in was not begun in this browser; please start again")
        if not code or len(code) > LONGEST_CODE:
            raise Refused("the provider sent no usable code")
        provider = await self._provider(name)
        if iss is not None and provider.speaks_oidc and iss not in provider.issuers:
            raise Refused("the answer came from another provider")
        tokens = await self._exchange(provider, pending, code)
        if provider.speaks_oidc:
            return await self._openid(provider, pending, tokens)
        return await profile(self._wire, provider, _access_token(tokens))

    async def identify(self, name: str, token: str) -> Identity:
        """Whose token this is: an id_token for OpenID Connect, else an access token that was issued to us."""
        self._require(name)
        if not is_token(token):
            raise Refused("the token is not valid")
        if name in self._issuers:
            provider, claims = self._providers[name], await self._issuers[name].verify(token, nonce=None)
            return _person(provider, claims.members)
        provider = await self._provider(name)
        owner = await prove_ours(self._wire, provider, token)
        identity = await profile(self._wire, provider, token)
        if owner and owner != identity.subject:
            raise Refused("the provider gave two answers about whose token this is")
        return identity

    def _require(self, name: str) -> None:
        if name in self._disabled:
            raise Refused(f"sign-in with {name} is switched off")
        if name not in self._providers:
            raise UnknownProvider("no such sign-in provider")

    async def _provider(self, name: str) -> Provider:
        return await self._issuers[name].provider() if name in self._issuers else self._providers[name]

    async def _exchange(self, provider: Provider, pending: Pending, code: str) -> dict[str, object]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": pending.redirect_uri,
            "code_verifier": pending.verifier,
        }
        basic = None
        if provider.secret and not provider.secret_in_body:
            basic = (provider.config.client_id, provider.secret)
        else:
            form["client_id"] = provider.config.client_id
            if provider.secret:
                form["client_secret"] = provider.secret
        answer = await self._wire.post_form(provider.endpoints.token, form, basic=basic)
        # GitHub answers 200 when it refuses
        if not answer.ok or "error" in answer.members:
            raise Refused(f"the provider refused the code{answer.error_code}")
        return answer.members

    async def _openid(self, provider: Provider, pending: Pending, tokens: dict[str, object]) -> Identity:
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise ProviderDown("the provider sent no id_token")
        claims = await self._issuers[provider.name].verify(token, nonce=pending.nonce)
        complete = email_from(claims.email) and all(claim in claims.members for claim in self._wants)
        if complete or not provider.endpoints.user_info:
            return _person(provider, claims.members)
        info = user_info(await self._wire.get(provider.endpoints.user_info, bearer=_access_token(tokens)))
        if info.get("sub") != claims.sub:
            # OpenID Connect Core, 5.3.2: else a swapped access token would lend us another person's email
            raise Refused("the provider gave two answers about who you are")
        # The email and whether it is verified come from one mouth: a "verified" said of another email is worth nothing.
        about_email = claims.members if email_from(claims.email) else info
        email = {name: about_email.get(name) for name in ("email", "email_verified")}
        return _person(provider, info | claims.members | email)


def _callback(configured: str, derived: str) -> str:
    """The configured address, unless it is that of our other door: documents 1 and 2 each have a callback."""
    doors = ("/user/oauth/callback/", "/api/v1/auth/oauth2/")
    for here, there in (doors, doors[::-1]):
        if here in derived and there in configured:
            return derived
    return configured or derived


def _person(provider: Provider, said: dict[str, object]) -> Identity:
    verified = is_true(said.get("email_verified"))
    identity = provider.identity(said.get("sub"), said.get("email"), verified=verified, name=said.get("name"))
    return msgspec.structs.replace(identity, claims=said)


def _access_token(tokens: dict[str, object]) -> str:
    token, kind = tokens.get("access_token"), tokens.get("token_type", "bearer")
    if not isinstance(token, str) or not is_token(token) or not isinstance(kind, str) or kind.lower() != "bearer":
        raise ProviderDown("the provider sent no token that can be used")
    return token


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
