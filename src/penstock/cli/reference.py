"""The reference of all settings, as a page (`docs/settings.md`, made by `make docs`) and as texts for `config`."""

from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from penstock.cli.shown import toml, value_of
from penstock.settings import Duration, OAuthProvider, Secret, Settings, TrustedProxies

SECTIONS = {
    "host": "Serving",
    "database": "Storage",
    "session_ttl": "Accounts",
    "smtp_server": "Mail",
    "oauth_providers": "Single sign-on",
    "jwt_secret": "Tokens of the API",
    "iam_types": "Identity providers of companies",
    "egress_deny": "What may be called on a user's word",
    "engine": "Workflows",
    "project_auth": "Project metadata",
    "hooks": "Hooks",
}
PROVIDER_MEMBERS = {
    "client_id": "Given out by the provider. Needed.",
    "client_secret": "Given out by the provider. A secret.",
    "kind": "Left out: by the provider's name (`github`; `provider_a` is x, `provider_b` google, `provider_c` "
    "facebook), else `oidc` when an issuer is given, else `oauth2`.",
    "redirect_url": "Blank: `{public_url}/user/oauth/callback/{name}`; register exactly that at the provider.",
    "scopes": "Left out: what the kind needs.",
    "use_email": "Kind x: ask for the person's confirmed email (needs the scope `users.email`).",
    "trust_email": "Believe this provider's emails as if it had said that they are verified.",
    "enabled": "`false` switches the provider off, also for sign-ins under way.",
    "issuer": "Kind oidc: the issuer, whose discovery document names the rest.",
    "auth_url": "Overrides where browsers are sent. Needed for kind oauth2.",
    "token_url": "Overrides where codes are exchanged. Needed for kind oauth2.",
    "user_info_url": "Overrides where we ask who somebody is. Needed for kind oauth2.",
    "jwks_url": "Overrides where an oidc provider's keys are.",
    "token_info_url": "Where an access token is shown to have been issued to us (RFC 7662 for kind oauth2).",
    "discovery_url": "Kind oidc: where the discovery document is, when not at its usual place under the issuer.",
    "token_auth": "How our secret is shown to the provider; auto: as its kind or discovery document says.",
}
_HEAD = """\
# Settings

<!-- Made by `make docs` from src/penstock/settings/declared.py; a test holds the two together. -->

A setting is read from the command line (where the command has an option for it), else from the environment, else from
`penstock.toml` in the working directory (or the file that `--config` or `PENSTOCK_CONFIG` names), else it has its
default. `penstock config` shows every value and where it came from. A value that does not fit stops the start with the
setting's name and what was expected.

| in the environment | in penstock.toml |
|---|---|
| `PENSTOCK_PORT=80` | `port = 80` |
| `PENSTOCK_CORS_ORIGINS=https://a.example,https://b.example` | `cors_origins = ["https://a.example", …]` |
| `PENSTOCK_OAUTH_PROVIDERS__GITHUB__CLIENT_ID=…` | `client_id = "…"` under `[oauth_providers.github]` |

Durations are written `45s`, `15m`, `24h`, `7d`. Keep secrets in the environment, or in a file that only the server's
user can read: `penstock config` masks them, and `penstock doctor` warns when others can read the file.
"""
_PROVIDER_HEAD = """\

### Members of a social provider

`[oauth_providers.<name>]`; the name stands in addresses (`/user/oauth/login/<name>`).

| member | type | meaning |
|---|---|---|
"""
_SAML = """
### Members of a SAML provider

`[[saml_providers]]`: `metadata`, the path of the provider's metadata file, and `domains`, the email domains that it
speaks for. Registered at every start as they stand there; `penstock saml add` registers others.
"""


def description(name: str) -> str:
    meta = next(field.type.__metadata__[0] for field in msgspec.structs.fields(Settings) if field.name == name)
    return str(meta.description)


def reference() -> str:
    page = _HEAD
    for field in msgspec.structs.fields(Settings):
        if field.name in SECTIONS:
            page += f"\n## {SECTIONS[field.name]}\n\n| setting | type | default | meaning |\n|---|---|---|---|\n"
        page += f"| `{field.name}` | {_kind(field.type)} | {_default(field)} | {_cell(description(field.name))} |\n"
        if field.name == "saml_entity_id":
            page += _SAML + _PROVIDER_HEAD + _provider_rows()
    return page


def _provider_rows() -> str:
    fields = msgspec.structs.fields(OAuthProvider)
    return "".join(f"| `{field.name}` | {_kind(field.type)} | {PROVIDER_MEMBERS[field.name]} |\n" for field in fields)


def _default(field: msgspec.structs.FieldInfo) -> str:
    default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    shown = value_of(field.name, default)
    return "" if shown in ("", [], {}) else f"`{_cell(shown if isinstance(shown, str) else toml(shown))}`"


_WORDS: dict[Any, str] = {
    str: "text",
    int: "number",
    bool: "true or false",
    Secret: "secret",
    Duration: "duration",
    TrustedProxies: "list of networks",
}


def _kind(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _kind(get_args(kind)[0]) + _bounds(get_args(kind)[1])
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if kind in _WORDS:
        return _WORDS[kind]
    if get_origin(kind) in {dict, list}:
        return "table" if get_origin(kind) is dict else "list"
    choices = [part for part in get_args(kind) if part not in {type(None), msgspec.UnsetType}]
    return _kind(choices[0] if len(choices) == 1 else Union[tuple(choices)])  # noqa: UP007


def _bounds(meta: msgspec.Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f", {meta.ge} to {meta.le}"
    return f", at least {meta.ge}" if meta.ge is not None else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
