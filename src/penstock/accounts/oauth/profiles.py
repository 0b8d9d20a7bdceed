"""Whose access token this is: asking each kind of provider that is not OpenID Connect for the person behind it."""

import hashlib
import hmac

from penstock.accounts.oauth.endpoints import Provider
from penstock.accounts.oauth.errors import ProviderDown, Refused
from penstock.accounts.oauth.identity import Identity, email_from, is_true
from penstock.accounts.oauth.wire import Answer, Wire

_VERIFIED = ("email_verified", "verified_email", "confirmed_email")


async def profile(wire: Wire, provider: Provider, token: str) -> Identity:
    match provider.kind:
        case "x":
            return await _x(wire, provider, token)
        case "facebook":
            return await _facebook(wire, provider, token)
        case "github":
            return await _github(wire, provider, token)
        case _:
            return await _oauth2(wire, provider, token)


def user_info(answer: Answer) -> dict[str, object]:
    """A provider's own words about a person."""
    if not answer.ok:
        raise Refused("the provider does not accept the token")
    return answer.members


async def _x(wire: Wire, provider: Provider, token: str) -> Identity:
    params = {"user.fields": "confirmed_email"} if provider.config.use_email else {}
    data = user_info(await wire.get(provider.endpoints.user_info, bearer=token, params=params)).get("data")
    if not isinstance(data, dict):
        raise ProviderDown("the provider did not say who you are")
    email = data.get("confirmed_email") if provider.config.use_email else None
    return provider.identity(data.get("id"), email, verified=True, name=data.get("name"))


async def _facebook(wire: Wire, provider: Provider, token: str) -> Identity:
    """Facebook's Graph API does not say whether an email was confirmed, so it counts as unverified."""
    params = {"fields": "id,name,email"}
    if provider.secret:
        # a token stolen from a phone or a browser is worth nothing without it
        params["appsecret_proof"] = hmac.new(provider.secret.encode(), token.encode(), hashlib.sha256).hexdigest()
    info = user_info(await wire.get(provider.endpoints.user_info, bearer=token, params=params))
    return provider.identity(info.get("id"), info.get("email"), verified=False, name=info.get("name"))


async def _github(wire: Wire, provider: Provider, token: str) -> Identity:
    """The profile's `email` is what a person chose to show; only the list of emails says which are verified."""
    info = user_info(await wire.get(provider.endpoints.user_info, bearer=token))
    emails = await wire.get(provider.endpoints.user_info + "/emails", bearer=token, params={"per_page": "100"})
    email, verified = _primary(emails.body) if emails.ok else (None, False)
    return provider.identity(info.get("id"), email, verified=verified, name=info.get("name") or info.get("login"))


def _primary(emails: object) -> tuple[object, bool]:
    for entry in emails if isinstance(emails, list) else []:
        if isinstance(entry, dict) and entry.get("primary") is True:
            return entry.get("email"), entry.get("verified") is True
    return None, False


async def _oauth2(wire: Wire, provider: Provider, token: str) -> Identity:
    info = user_info(await wire.get(provider.endpoints.user_info, bearer=token))
    subject = info.get("sub") if info.get("sub") is not None else info.get("id")
    email, verified = claimed_email(info)
    return provider.identity(subject, email, verified=verified, name=info.get("name"))


def claimed_email(info: dict[str, object]) -> tuple[object, bool]:
    """The email and whether it is verified. Where a provider says both yes and no, no is believed."""
    confirmed = info.get("confirmed_email")
    if email_from(confirmed):
        return confirmed, True
    said = [is_true(info[member]) for member in _VERIFIED if member in info]
    return info.get("email"), bool(said) and all(said)
