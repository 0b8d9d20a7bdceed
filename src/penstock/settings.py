"""Every setting: its type, its meaning, and where its value came from.

A setting is read from the environment (`PENSTOCK_PORT=80`), else from `penstock.toml` (`port = 80`), else it has
its default. Members of tables are reached with two underscores: `PENSTOCK_OAUTH_PROVIDERS__GITHUB__CLIENT_ID`.
A value that does not fit stops the start with the setting's name and what was expected.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

PREFIX = "PENSTOCK_"
FILE = "penstock.toml"


class SettingsError(Exception):
    """A setting whose value cannot be used. The message names it and says what was expected."""


class Secret:
    """A string that shows itself to nobody by accident: not in a log, a traceback or `penstock config`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "********" if self._value else "(none)"


class Duration(int):
    """Seconds, written as `45s`, `15m`, `24h`, `7d` or a bare number of seconds."""

    _UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}  # noqa: RUF012

    @classmethod
    def parse(cls, text: str) -> "Duration":
        match = re.fullmatch(r"(\d{1,10})\s*([smhd]?)", text.strip())
        seconds = int(match[1]) * cls._UNITS[match[2]] if match else -1
        # Times are 64-bit microseconds: what is added to them must stay far below.
        if not 0 <= seconds <= 100 * 365 * 86400:
            raise ValueError("not a duration")
        return cls(seconds)

    def __str__(self) -> str:
        for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
            if self and self % seconds == 0:
                return f"{self // seconds}{unit}"
        return f"{int(self)}s"

    __repr__ = __str__


Network = IPv4Network | IPv6Network


class TrustedProxies(tuple[Network, ...]):
    """Networks whose forwarding headers are believed."""

    __slots__ = ()

    @classmethod
    def parse(cls, values: list[str]) -> "TrustedProxies":
        return cls(ip_network(value, strict=False) for value in values)

    def __repr__(self) -> str:
        return ", ".join(map(str, self)) or "(none)"


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


# Link-local addresses, and where Alibaba, AWS, Azure, Google and Oracle hand credentials to their machines.
EGRESS_DENY = (
    "169.254.0.0/16",
    "fe80::/10",
    "100.100.100.200/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "168.63.129.16/32",
    "192.0.0.192/32",
)


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings of the server. `penstock config` prints them."""

    # --- serving
    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to listen on.", ge=0, le=65535)] = 8080
    public_url: Annotated[
        str,
        Meta(description="Where people reach this server, e.g. https://penstock.example. Blank: from each request."),
    ] = ""
    trusted_proxies: Annotated[
        TrustedProxies,
        Meta(description="Networks whose X-Forwarded-* and Forwarded headers are believed."),
    ] = TrustedProxies.parse(["127.0.0.0/8", "::1/128"])
    cors_origins: Annotated[
        list[str], Meta(description="Exact origins of front ends on other hosts, e.g. https://app.example.")
    ] = []
    max_body: Annotated[int, Meta(description="Largest request body, in bytes.", ge=1024)] = 1024 * 1024
    shutdown_grace: Annotated[
        Duration, Meta(description="How long requests in flight may take to finish at shutdown.")
    ] = Duration(30)
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="Least level that is logged.")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="auto: for people on a terminal, JSON elsewhere."),
    ] = "auto"

    # --- storage
    database: Annotated[
        Secret,
        Meta(description="A file for SQLite (sqlite:///var/penstock.db) or postgresql://user:password@host/name."),
    ] = Secret("sqlite:///var/penstock.db")
    database_pool: Annotated[int, Meta(description="Most connections to PostgreSQL.", ge=1, le=1000)] = 10

    # --- accounts
    session_ttl: Annotated[Duration, Meta(description="A session ends after this long without use.")] = Duration(
        30 * 86400
    )
    password_min_length: Annotated[int, Meta(description="Fewest characters of a password.", ge=1, le=128)] = 8
    password_hash_concurrency: Annotated[
        int,
        Meta(description="Passwords hashed at once, 19 MiB each. 0: as many as there are cores.", ge=0, le=256),
    ] = 0
    update_requires_password: Annotated[bool, Meta(description="POST /user/update asks for current_password.")] = False
    reset_ttl: Annotated[Duration, Meta(description="Life of a password reset token.")] = Duration(3600)
    reset_url: Annotated[
        str,
        Meta(description="Page that a reset mail links to; ?token=… is added. Blank: this server's own page."),
    ] = ""
    limit_failed_logins: Annotated[
        int, Meta(description="Failed sign-ins an hour, for an account and for an address.", ge=1)
    ] = 25
    limit_forgot_password: Annotated[
        int, Meta(description="Reset mails an hour, for an account and for an address.", ge=1)
    ] = 5
    limit_create: Annotated[int, Meta(description="Accounts an hour from one address.", ge=1)] = 20
    redis_url: Annotated[
        Secret, Meta(description="redis://… shares the rate limits among servers. Blank: in memory.")
    ] = Secret("")

    # --- mail
    smtp_server: Annotated[str, Meta(description="host:port of the mail server. Blank: no mail is sent.")] = ""
    smtp_user: Annotated[str, Meta(description="User at the mail server, when it wants one.")] = ""
    smtp_password: Annotated[Secret, Meta(description="Password at the mail server.")] = Secret("")
    smtp_tls: Annotated[
        Literal["auto", "starttls", "tls", "none"],
        Meta(description="auto: TLS on port 465, elsewhere STARTTLS when offered (required with credentials)."),
    ] = "auto"
    email_from: Annotated[str, Meta(description="Sender of mail, display name plus address.")] = (
        "Penstock <penstock@localhost>"
    )
    forgot_password_subject: Annotated[str, Meta(description="Subject of the reset mail.")] = "Password reset"
    forgot_password_body: Annotated[
        str, Meta(description="Body of the reset mail; must contain ${TOKEN} or ${URL}.")
    ] = "To reset your password, go to ${URL}"

    # --- single sign-on
    oauth_providers: Annotated[
        dict[str, OAuthProvider],
        Meta(description="Social providers by name: client_id, client_secret, kind, redirect_url, use_email, …"),
    ] = {}
    saml_providers: Annotated[
        list[SamlProvider],
        Meta(description="SAML identity providers: metadata (a file) and domains; more by `penstock saml add`."),
    ] = []
    saml_idp_initiated: Annotated[
        bool, Meta(description="Accept SAML sign-ins that began at the identity provider.")
    ] = False
    saml_entity_id: Annotated[str, Meta(description="Our entity id. Blank: the address of /user/saml/metadata.")] = ""

    # --- tokens of the API
    jwt_secret: Annotated[
        Secret,
        Meta(description="Signs tokens; 32 bytes or more. Blank: made once, kept beside the database."),
    ] = Secret("")
    jwt_issuer: Annotated[str, Meta(description="The iss of tokens.")] = "penstock"
    access_ttl: Annotated[Duration, Meta(description="Life of an access token.")] = Duration(15 * 60)
    refresh_ttl: Annotated[Duration, Meta(description="Life of a refresh token.")] = Duration(7 * 86400)
    refresh_grace: Annotated[
        Duration, Meta(description="For so long, a second use of a refresh token repeats the answer. 0s: never.")
    ] = Duration(0)
    auth_rate_limit: Annotated[
        int, Meta(description="register and login a minute from one address. 0 means 10.", ge=0)
    ] = 0

    # --- identity providers of companies
    iam_types: Annotated[
        dict[str, str],
        Meta(description="Implementations of provider types by import path, e.g. custom = 'shop.iam:Directory'."),
    ] = {}

    # --- what may be called on a user's word
    egress_deny: Annotated[
        list[str],
        Meta(description="Networks that nothing a user configures may reach. Default: link-local, cloud metadata."),
    ] = msgspec.field(default_factory=lambda: list(EGRESS_DENY))
    egress_allow: Annotated[
        list[str], Meta(description="Networks that may be reached although egress_deny has them.")
    ] = []

    # --- workflows
    secrets_key: Annotated[
        Secret,
        Meta(description="Encrypts projects' secrets; 32 bytes or more. Blank: derived from the server's secret."),
    ] = Secret("")
    secrets_key_previous: Annotated[
        list[Secret],
        Meta(description="Earlier values of secrets_key or jwt_secret, until `penstock secrets rotate` is done."),
    ] = []
    engine: Annotated[Literal["embedded", "temporal", "none"], Meta(description="What runs workflows.")] = "embedded"

    # --- keeping
    audit_retention: Annotated[
        Duration, Meta(description="How long entries of the audit log are kept. 0s: for ever.")
    ] = Duration(365 * 86400)

    # --- project metadata (document 3)
    project_auth: Annotated[
        Literal["none", "session"], Meta(description="session: /project asks for a signed-in user.")
    ] = "none"

    # --- hooks
    hooks: Annotated[
        dict[
            Literal[
                "user_info",
                "on_auth_event",
                "hash_password",
                "compare_password",
                "send_email",
                "saml_provider_for",
            ],
            str,
        ],
        Meta(description="Python callables by import path, e.g. on_auth_event = 'shop.accounts:welcome'."),
    ] = {}

    def __post_init__(self) -> None:
        _check_together(self)

    @property
    def rate_limit_auth(self) -> int:
        return self.auth_rate_limit or 10


def _check_together(settings: Settings) -> None:
    """Rules that no type can say."""
    body = settings.forgot_password_body
    if "${TOKEN}" not in body and "${URL}" not in body:
        raise SettingsError(
            "forgot_password_body: expected ${TOKEN} or ${URL} in the text, else nobody could reset a password"
        )
    _check_secrets("jwt_secret", settings.jwt_secret)
    _check_secrets("secrets_key", settings.secrets_key, *settings.secrets_key_previous)
    for name in ("session_ttl", "reset_ttl", "access_ttl", "refresh_ttl"):
        if getattr(settings, name) < 1:
            raise SettingsError(f"{name}: expected a duration of at least 1s")
    for name, url in (("public_url", settings.public_url), ("reset_url", settings.reset_url)):
        if url and not _origin_of(url):
            raise SettingsError(f"{name}: expected a full address such as https://penstock.example, got {url!r}")
    for origin in settings.cors_origins:
        # Browsers write origins in lower case, and are compared with as they write.
        if "*" in origin or origin != _origin_of(origin).lower():
            raise SettingsError(
                f"cors_origins: expected exact origins such as https://app.example (no path, no *), got {origin!r}"
            )
    server = re.fullmatch(r"(?:\[[0-9a-fA-F:.]+\]|[^:\s/]+):(\d{1,5})", settings.smtp_server)
    if settings.smtp_server and not (server and 0 < int(server[1]) < 65536):
        raise SettingsError(f"smtp_server: expected host:port, got {settings.smtp_server!r}")
    _check_networks("egress_deny", settings.egress_deny)
    _check_networks("egress_allow", settings.egress_allow)
    for name in settings.oauth_providers:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", name):
            raise SettingsError(
                f"oauth_providers.{name}: expected a name of lower-case letters, digits, _ and -, as it stands in URLs"
            )


def _origin_of(url: str) -> str:
    """Scheme and host of a web address; blank when it is none."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if usable else ""


def _check_secrets(name: str, *secrets: Secret) -> None:
    if any(secret and len(secret.reveal().encode()) < 32 for secret in secrets):
        raise SettingsError(f"{name}: expected 32 bytes or more; make one with `openssl rand -base64 48`")


def _check_networks(name: str, networks: list[str]) -> None:
    for network in networks:
        try:
            ip_network(network, strict=False)
        except ValueError as error:
            raise SettingsError(f"{name}: expected networks such as 10.0.0.0/8, got {network!r}") from error


class Loaded(Struct, frozen=True):
    """The settings together with where each came from: `default`, `environment` or the file's path."""

    settings: Settings
    sources: dict[str, str]


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read the settings. `overrides` are what the command line said."""
    environ = os.environ if environ is None else environ
    path = file or Path(environ.get(f"{PREFIX}CONFIG", FILE))
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    if path.exists():
        for name, value in _read_file(path).items():
            _known(name, f"in {path}")
            values[name], sources[name] = value, str(path)
    elif file is not None or f"{PREFIX}CONFIG" in environ:
        raise SettingsError(f"the settings file {path} does not exist")
    # In order, so that a whole table is read before single members of it.
    for variable, text in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable != f"{PREFIX}CONFIG":
            name = _set_from_environment(values, variable, text)
            sources[name] = "environment"
    for name, value in (overrides or {}).items():
        if value is not None:
            values[name], sources[name] = value, "command line"
    typed = {name: _fit(name, value, _TYPES[name].type, sources[name]) for name, value in values.items()}
    return Loaded(Settings(**typed), {name: sources.get(name, "default") for name in Settings.__struct_fields__})


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected TOML: {error}") from error
    except OSError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error.strerror}") from error


_TYPES = {f.name: f for f in msgspec.structs.fields(Settings)}


def _known(name: str, where: str) -> None:
    if name not in _TYPES:
        raise SettingsError(f"{name}: no such setting ({where}); `penstock config` lists them all")


def _set_from_environment(values: dict[str, Any], variable: str, text: str) -> str:
    path = variable.removeprefix(PREFIX).lower().split("__")
    name = path[0]
    _known(name, f"environment variable {variable}")
    if len(path) == 1:
        values[name] = _parse_text(name, text)
        return name
    table = values.setdefault(name, {})
    for part in path[1:-1]:
        table = table.setdefault(part, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise SettingsError(f"{name}: expected a table ({variable} sets a member of it)")
    table[path[-1]] = _parse_text(path[-1], text)
    return name


_LISTS = {"scopes", "domains"}


def _parse_text(name: str, text: str) -> Any:
    """A list is comma-separated or JSON, a table is JSON; all else stays text for `_fit`."""
    kind = _TYPES[name].type if name in _TYPES else None
    origin = get_origin(get_args(kind)[0]) if get_origin(kind) is Annotated else None
    base = get_args(kind)[0] if get_origin(kind) is Annotated else None
    if text.strip()[:1] in {"{", "["} and (origin in {dict, list} or base is TrustedProxies):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise SettingsError(f"{name}: expected JSON: {error}") from error
    if origin is list or base is TrustedProxies or name in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _fit(path: str, value: Any, kind: Any, source: str) -> Any:
    """The value as its type; tables member by member, so that an error names the very member."""
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(base) is dict and isinstance(value, dict):
        key_kind, member_kind = get_args(base)
        if key_kind is not str:
            _refuse_unknown(path, value, get_args(key_kind), source)
        return {key: _fit(f"{path}.{key}", member, member_kind, source) for key, member in value.items()}
    if get_origin(base) is list and isinstance(value, list):
        (member_kind,) = get_args(base)
        return [_fit(f"{path}[{index}]", member, member_kind, source) for index, member in enumerate(value)]
    if isinstance(base, type) and issubclass(base, Struct) and isinstance(value, dict):
        return _fit_members(path, value, base, source)
    try:
        return msgspec.convert(value, kind, strict=False, dec_hook=_decode)
    except (msgspec.ValidationError, ValueError):
        # Not `from`: the cause would show the value, which may be secret.
        raise SettingsError(
            f"{path}: expected {_expected(kind)}, got {_got(value, base)} ({_where(path, source)})"
        ) from None


def _fit_members(path: str, table: dict[str, Any], kind: type[Struct], source: str) -> Struct:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    _refuse_unknown(path, table, tuple(fields), source)
    for name, field in fields.items():
        if field.required and name not in table:
            raise SettingsError(f"{path}.{name}: missing, and it has no default ({_where(path, source)})")
    return kind(**{name: _fit(f"{path}.{name}", value, fields[name].type, source) for name, value in table.items()})


def _refuse_unknown(path: str, table: dict[str, Any], known: tuple[str, ...], source: str) -> None:
    for name in table:
        if name not in known:
            raise SettingsError(
                f"{path}.{name}: no such member ({_where(path, source)}); expected one of {', '.join(known)}"
            )


def _expected(kind: Any) -> str:
    base, *metas = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    bounds = next((meta for meta in metas if isinstance(meta, Meta)), Meta())
    if get_origin(base) is Literal:
        return "one of " + ", ".join(map(str, get_args(base)))
    if base is int:
        return f"an integer between {bounds.ge} and {bounds.le}" if bounds.le else f"an integer of {bounds.ge} or more"
    if get_origin(base) in {UnionType, Union}:
        return _expected(get_args(base)[0])
    if get_origin(base) is list:
        return "a list"
    return _WORDS.get(base, "a table")


_WORDS = {
    bool: "true or false",
    str: "text",
    Secret: "text",
    Path: "the path of a file",
    Duration: "a duration such as 45s, 15m, 24h or 7d (100 years at most)",
    TrustedProxies: "networks such as 10.0.0.0/8 or ::1",
}


def _got(value: Any, base: Any) -> str:
    """What stood there, unless it is a secret or might hold one."""
    if base is Secret or _expected(base) == "a table" or isinstance(value, dict):
        return {"dict": "a table", "list": "a list", "str": "text"}.get(type(value).__name__, type(value).__name__)
    return repr(value)[:100]


def _where(path: str, source: str) -> str:
    name = re.split(r"[.\[]", path)[0]
    return f"{source} {PREFIX}{name.upper()}" if source == "environment" else source


def _decode(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is Duration and isinstance(value, str | int) and not isinstance(value, bool):
        return Duration.parse(str(value))
    if kind is TrustedProxies and isinstance(value, list):
        return TrustedProxies.parse(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError("not of this type")


__all__ = [
    "Duration",
    "Kind",
    "Loaded",
    "OAuthProvider",
    "SamlProvider",
    "Secret",
    "Settings",
    "SettingsError",
    "TrustedProxies",
    "load",
]
