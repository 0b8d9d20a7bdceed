"""Identity providers that the operator sets up: social ones by name, SAML ones by their metadata."""

from pathlib import Path
from typing import Literal, get_args

from msgspec import UNSET, Struct, UnsetType

from penstock.settings.values import Secret

Kind = Literal["x", "google", "facebook", "github", "oidc", "oauth2"]
SLOT_KINDS: dict[str, Kind] = {"provider_a": "x", "provider_b": "google", "provider_c": "facebook"}


class OAuthProvider(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One social provider: document 1's ClientID … UseEmail and document 2's provider object in one."""

    client_id: str
    client_secret: Secret = Secret("")
    kind: Kind | UnsetType = UNSET
    """Unset: by name (`github`, `provider_a` is x, …), else `oidc` when an issuer is given, else `oauth2`."""
    redirect_url: str = ""
    scopes: list[str] | None = None
    use_email: bool = False
    trust_email: bool = False
    enabled: bool = True
    issuer: str = ""
    auth_url: str = ""
    token_url: str = ""
    user_info_url: str = ""
    jwks_url: str = ""
    token_info_url: str = ""
    """Where an access token is shown to have been issued to our client (RFC 7662 for kind `oauth2`)."""
    discovery_url: str = ""
    """Where an OpenID Connect issuer describes itself, when not at its usual place."""
    token_auth: Literal["auto", "basic", "post"] = "auto"
    """How our secret is shown to the provider; auto: what its kind or its discovery document says."""

    def kind_as(self, name: str) -> Kind:
        if self.kind is not UNSET:
            return self.kind
        if name in SLOT_KINDS:
            return SLOT_KINDS[name]
        if name in get_args(Kind):
            return name  # type: ignore[return-value]
        return "oidc" if self.issuer else "oauth2"


class SamlProvider(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A SAML identity provider registered in the settings: its metadata file and the domains it speaks for."""

    metadata: Path
    domains: list[str]
