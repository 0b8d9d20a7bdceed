"""Where each kind of provider is asked, and for what: its defaults, and what the settings put in their place."""

from urllib.parse import quote, urlsplit

import msgspec

from penstock.accounts.oauth.errors import ProviderDown
from penstock.accounts.oauth.identity import Identity, email_from, name_from, subject_from
from penstock.settings import Kind, OAuthProvider, SettingsError


class Endpoints(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of a provider; "" when it has none. `secret_in_body`: it wants client_secret_post, not HTTP basic."""

    issuer: str = ""
    authorize: str = ""
    token: str = ""
    user_info: str = ""
    jwks: str = ""
    token_info: str = ""
    secret_in_body: bool = False


# Facebook's addresses bear no version: Facebook then uses the oldest one that it still serves, and old ones end.
DEFAULTS: dict[Kind, Endpoints] = {
    "x": Endpoints(
        authorize="https://x.com/i/oauth2/authorize",
        token="https://api.x.com/2/oauth2/token",  # noqa: S106
        user_info="https://api.x.com/2/users/me",
    ),
    "google": Endpoints(issuer="https://accounts.google.com", secret_in_body=True),
    "facebook": Endpoints(
        authorize="https://www.facebook.com/dialog/oauth",
        token="https://graph.facebook.com/oauth/access_token",  # noqa: S106
        user_info="https://graph.facebook.com/me",
        secret_in_body=True,
    ),
    "github": Endpoints(
        authorize="https://github.com/login/oauth/authorize",
        token="https://github.com/login/oauth/access_token",  # noqa: S106
        user_info="https://api.github.com/user",
        secret_in_body=True,
    ),
    "oidc": Endpoints(),
    "oauth2": Endpoints(),
}
SCOPES: dict[Kind, list[str]] = {
    "x": ["users.read", "tweet.read"],
    "google": ["openid", "email", "profile"],
    "facebook": ["public_profile", "email"],
    "github": ["read:user", "user:email"],
    "oidc": ["openid", "email", "profile"],
    "oauth2": [],
}
# The token check lives beside the user info, so that our secret goes to the host that was configured and no other.
TOKEN_CHECK: dict[Kind, tuple[str, str]] = {
    "github": ("/user", "/applications/{client_id}/token"),
    "facebook": ("/me", "/debug_token"),
}


class Provider(msgspec.Struct, frozen=True):
    """A configured provider under its name, with its kind settled and its endpoints filled in."""

    name: str
    kind: Kind
    config: OAuthProvider
    endpoints: Endpoints

    @property
    def speaks_oidc(self) -> bool:
        return self.kind in {"oidc", "google"}

    @property
    def scopes(self) -> list[str]:
        scopes = list(SCOPES[self.kind] if self.config.scopes is None else self.config.scopes)
        needed = []
        if self.speaks_oidc:
            needed.append("openid")
        if self.kind == "x" and self.config.use_email:
            needed.append("users.email")
        return scopes + [scope for scope in needed if scope not in scopes]

    @property
    def secret(self) -> str:
        return self.config.client_secret.reveal()

    @property
    def secret_in_body(self) -> bool:
        chosen = self.config.token_auth
        return self.endpoints.secret_in_body if chosen == "auto" else chosen == "post"

    @property
    def issuers(self) -> set[str]:
        """Google's tokens name it with and without the scheme, as its documentation says."""
        issuer = self.endpoints.issuer
        return {issuer, issuer.removeprefix("https://")} if self.kind == "google" else {issuer}

    def identity(self, subject: object, email: object, *, verified: bool, name: object = "") -> Identity:
        address = email_from(email)
        return Identity(
            provider=self.name,
            subject=subject_from(subject),
            email=address,
            email_verified=bool(address) and (verified or self.config.trust_email),
            name=name_from(name),
        )


def configured(name: str, config: OAuthProvider) -> Provider:
    """The provider as the settings describe it. What cannot work stops the start."""
    kind = config.kind_as(name)
    usual = DEFAULTS[kind]
    user_info = config.user_info_url or usual.user_info
    endpoints = Endpoints(
        issuer=config.issuer or usual.issuer,
        authorize=config.auth_url or usual.authorize,
        token=config.token_url or usual.token,
        user_info=user_info,
        jwks=config.jwks_url,
        token_info=(config.token_info_url or _token_check(kind, user_info)).replace(
            "{client_id}", quote(config.client_id, safe="")
        ),
        secret_in_body=usual.secret_in_body,
    )
    _check(name, kind, endpoints)
    return Provider(name, kind, config, endpoints)


def _token_check(kind: Kind, user_info: str) -> str:
    ending, check = TOKEN_CHECK.get(kind, ("", ""))
    return user_info.removesuffix(ending) + check if check and user_info.endswith(ending) else ""


def _check(name: str, kind: Kind, endpoints: Endpoints) -> None:
    if kind in {"oidc", "google"}:
        needed = {"issuer": endpoints.issuer}
    else:
        needed = {
            "auth_url": endpoints.authorize,
            "token_url": endpoints.token,
            "user_info_url": endpoints.user_info,
        }
    for setting, url in needed.items():
        if not url:
            raise SettingsError(f"oauth_providers.{name}.{setting}: needed for a provider of kind {kind}")
    for url in (getattr(endpoints, field) for field in Endpoints.__struct_fields__):
        if isinstance(url, str) and url and not _is_web_address(url):
            raise SettingsError(f"oauth_providers.{name}: expected an address such as https://…, got {url!r}")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username


def require_no_downgrade(issuer: str, url: str) -> str:
    """A provider on HTTPS may not send us, and with us codes and secrets, to plain HTTP."""
    if not _is_web_address(url) or (urlsplit(issuer).scheme == "https" and urlsplit(url).scheme != "https"):
        raise ProviderDown("the provider's discovery document names an address that cannot be used")
    return url
