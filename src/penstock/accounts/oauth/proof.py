"""Proof that an access token which somebody hands us was issued to us.

Without it, any other application that a person signed in to could take its token for them and enter here in their
name. X documents no way to check this, so a token of X is refused unless an introspection address is configured.
"""

from penstock.accounts.oauth.endpoints import Provider
from penstock.accounts.oauth.errors import Refused
from penstock.accounts.oauth.profiles import user_info
from penstock.accounts.oauth.wire import Wire

_ANOTHER = "the token was issued to another application, or is no longer valid"


async def prove_ours(wire: Wire, provider: Provider, token: str) -> str:
    """Refuses a token of another client. Answers whose token it is, "" when the check does not say."""
    if not provider.endpoints.token_info:
        raise Refused(
            f"{provider.name} offers no way to prove that a token was issued to this site; sign in through its page"
        )
    match provider.kind:
        case "github":
            return await _github(wire, provider, token)
        case "facebook":
            return await _facebook(wire, provider, token)
        case _:
            return await _introspection(wire, provider, token)


async def _github(wire: Wire, provider: Provider, token: str) -> str:
    credentials = (provider.config.client_id, provider.secret)
    answer = await wire.post_json(provider.endpoints.token_info, {"access_token": token}, basic=credentials)
    app, user = (answer.members.get(member) for member in ("app", "user")) if answer.ok else (None, None)
    if not isinstance(app, dict) or app.get("client_id") != provider.config.client_id:
        raise Refused(_ANOTHER)
    return _text(user.get("id")) if isinstance(user, dict) else ""


async def _facebook(wire: Wire, provider: Provider, token: str) -> str:
    if not provider.secret:
        raise Refused(f"{provider.name} checks tokens only for applications with a client secret")
    application = f"{provider.config.client_id}|{provider.secret}"
    answer = await wire.get(provider.endpoints.token_info, bearer=application, params={"input_token": token})
    data = user_info(answer).get("data")
    if (
        not isinstance(data, dict)
        or data.get("is_valid") is not True
        or _text(data.get("app_id")) != provider.config.client_id
        or data.get("type", "USER") != "USER"
    ):
        raise Refused(_ANOTHER)
    return _text(data.get("user_id"))


async def _introspection(wire: Wire, provider: Provider, token: str) -> str:
    """RFC 7662."""
    client_id, secret = provider.config.client_id, provider.secret
    form = {"token": token, "token_type_hint": "access_token"}
    answer = await wire.post_form(
        provider.endpoints.token_info,
        form if secret else {**form, "client_id": client_id},
        basic=(client_id, secret) if secret else None,
    )
    info = user_info(answer)
    if info.get("active") is not True or info.get("client_id") != client_id:
        raise Refused(_ANOTHER)
    return _text(info.get("sub"))


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
