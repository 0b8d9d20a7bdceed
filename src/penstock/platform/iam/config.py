"""What each type of provider is told: its members, which of them are secret, and where a secret would be sent."""

import re
import ssl
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from penstock.accounts import emails
from penstock.accounts.saml import SamlError, read_metadata
from penstock.problems import FieldError, Invalid

MASK = "********"
Config = dict[str, Any]
T = TypeVar("T", bound=Struct)

_LARGEST = 512 * 1024
_LONGEST_URL = 2048
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\x21-\x7e]{1,512}")
_SECRET_WORDS = ("password", "secret", "token", "key", "credential")


class Oidc(Struct, frozen=True):
    issuer: str
    client_id: str
    client_secret: str = ""
    scopes: list[str] = []
    groups_claim: str = "groups"
    discovery_url: str = ""
    trust_email: bool = False
    """Emails count as verified although the provider does not say so (it may not say the opposite)."""


class Saml(Struct, frozen=True):
    metadata_xml: str = ""
    metadata_url: str = ""
    domains: list[str] = []
    groups_attribute: str = "groups"


class Ldap(Struct, frozen=True):
    url: str
    base_dn: str
    bind_dn: str = ""
    bind_password: str = ""
    user_filter: str = "(uid={username})"
    group_filter: str = ""
    start_tls: bool = True
    """For `ldap://`: whether the connection must be encrypted before a password is sent over it."""
    ca_certificate: str = ""


class Kubernetes(Struct, frozen=True):
    server: str
    token: str
    ca_certificate: str = ""
    cluster_name: str = ""


class AwsIam(Struct, frozen=True):
    region: str
    access_key_id: str
    secret_access_key: str
    role_arn: str = ""
    endpoint_url: str = ""


KINDS: dict[str, type[Struct]] = {"oidc": Oidc, "saml": Saml, "ldap": Ldap, "kubernetes": Kubernetes, "aws_iam": AwsIam}
TYPES = (*KINDS, "custom")
_SECRETS = {"oidc": "client_secret", "ldap": "bind_password", "kubernetes": "token", "aws_iam": "secret_access_key"}
# Where a secret goes, and under what protection. Whoever changes one of these must know the secret: else an admin could
# have the one that another admin entered sent to a host of their own.
_DESTINATION = {
    "oidc": ("issuer", "discovery_url"),
    "ldap": ("url", "start_tls", "ca_certificate"),
    "kubernetes": ("server", "ca_certificate"),
    "aws_iam": ("region", "endpoint_url"),
}
# What we show to a provider to be let in ourselves. All else says who comes in through it as whom, and in which groups.
_CREDENTIALS = {
    "oidc": {"client_id", "client_secret", "scopes"},
    "ldap": {"bind_dn", "bind_password"},
    "kubernetes": {"token"},
    "aws_iam": {"access_key_id", "secret_access_key"},
}


def read(config: Config, kind: type[T]) -> T:
    """A checked configuration, typed."""
    return msgspec.convert(config, kind)


def check(provider_type: str, config: Config) -> None:
    """Raise Invalid with everything that is wrong. Parses XML and certificates: call it in a thread."""
    if len(msgspec.json.encode(config)) > _LARGEST:
        raise invalid([("", f"may have {_LARGEST} bytes at most")])
    if provider_type not in KINDS:
        return
    kind = KINDS[provider_type]
    fields = msgspec.structs.fields(kind)
    names = [field.name for field in fields]
    wrong = [(f"/{_pointer(name)}", f"no such member; there are {', '.join(names)}") for name in config.keys() - names]
    wrong += [(f"/{field.name}", "is missing") for field in fields if field.required and not config.get(field.name)]
    if wrong:
        raise invalid(sorted(wrong))
    try:
        typed = msgspec.convert(config, kind)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        path = where.removesuffix("`").replace("[", "/").replace("]", "").replace(".", "/")
        raise invalid([(path, message)]) from error
    if found := [(f"/{name}", message) for name, message in _faults(typed)]:
        raise invalid(found)


def _faults(config: Struct) -> list[tuple[str, str]]:
    match config:
        case Oidc():
            return _oidc(config)
        case Saml():
            return _saml(config)
        case Ldap():
            return _ldap(config)
        case Kubernetes():
            return _web("server", config.server) + _printable("token", config.token) + _pem(config.ca_certificate)
        case AwsIam():
            return _aws(config)
        case _:
            return []


def _oidc(config: Oidc) -> list[tuple[str, str]]:
    faults = _web("issuer", config.issuer)
    if not faults and urlsplit(config.issuer).query:
        faults = [("issuer", "has no query")]
    if config.discovery_url:
        faults += _web("discovery_url", config.discovery_url)
    if not all(re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", scope) for scope in config.scopes):
        faults.append(("scopes", "expected words without spaces"))
    return faults + _printable("client_id", config.client_id) + _printable("client_secret", config.client_secret)


def _saml(config: Saml) -> list[tuple[str, str]]:
    if bool(config.metadata_xml) == bool(config.metadata_url):
        return [("metadata_xml", "send either metadata_xml or metadata_url")]
    faults = [("domains", f"{name[:100]!r} is not an email domain") for name in config.domains if not is_domain(name)]
    if config.metadata_url:
        return faults + _web("metadata_url", config.metadata_url)
    try:
        read_metadata(config.metadata_xml)
    except SamlError as error:
        faults.append(("metadata_xml", str(error)))
    return faults


def _ldap(config: Ldap) -> list[tuple[str, str]]:
    faults = _address("url", config.url, ("ldap", "ldaps"), "ldaps://directory.example")
    if not faults and (urlsplit(config.url).path.strip("/") or urlsplit(config.url).query):
        faults = [("url", "expected only scheme, host and port; the rest has members of its own")]
    if not _is_filter(config.user_filter) or "{username}" not in config.user_filter:
        faults.append(("user_filter", "expected a filter with {username} in it, such as (uid={username})"))
    if config.group_filter and (not _is_filter(config.group_filter) or "{" not in config.group_filter):
        faults.append(("group_filter", "expected a filter with {dn} or {username} in it, such as (member={dn})"))
    if bool(config.bind_dn) != bool(config.bind_password):
        # A name without a password is an "unauthenticated bind", which succeeds and proves nothing.
        faults.append(("bind_password", "send bind_dn and bind_password, or neither"))
    return faults + _pem(config.ca_certificate)


def _aws(config: AwsIam) -> list[tuple[str, str]]:
    faults = [] if _REGION.fullmatch(config.region) else [("region", "expected a region such as eu-central-1")]
    if not re.fullmatch(r"\w{16,128}", config.access_key_id, re.ASCII):
        faults.append(("access_key_id", "expected an access key id, such as AKIA…"))
    if config.role_arn and not _ROLE.fullmatch(config.role_arn):
        faults.append(("role_arn", "expected arn:aws:iam::<account>:role/<name>"))
    if config.endpoint_url:
        faults += _web("endpoint_url", config.endpoint_url)
    return faults


def is_domain(name: str) -> bool:
    """Nothing under `.invalid`: accounts without an email live there, and whoever spoke for it would own them all."""
    return name == name.strip().lower() and emails.canonical(f"x@{name}") is not None and not name.endswith(".invalid")


def _is_filter(text: str) -> bool:
    return text.startswith("(") and text.endswith(")") and text.count("(") == text.count(")") and text.isprintable()


def _web(member: str, url: str) -> list[tuple[str, str]]:
    return _address(member, url, ("http", "https"), "https://idp.example")


def _address(member: str, url: str, schemes: tuple[str, ...], example: str) -> list[tuple[str, str]]:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0 and not parts.fragment
        # Credentials in an address end up in logs.
        usable = usable and parts.username is None and parts.password is None
    except ValueError:
        usable = False
    if not usable or len(url) > _LONGEST_URL or not re.fullmatch(r"[\x21-\x5b\x5d-\x7e]+", url):
        return [(member, f"expected an address such as {example}, with no user name in it")]
    return []


def _printable(member: str, text: str) -> list[tuple[str, str]]:
    return [] if re.fullmatch(r"[\x20-\x7e]{0,8192}", text) else [(member, "expected printable ASCII")]


def _pem(text: str) -> list[tuple[str, str]]:
    if not text:
        return []
    try:
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        return [("ca_certificate", "expected certificates in PEM form")]
    return []


def invalid(faults: list[tuple[str, str]]) -> Invalid:
    errors = [FieldError(f"/config{path}", message) for path, message in faults]
    return Invalid(f"config{faults[0][0]}: {faults[0][1]}", errors=errors)


def _pointer(name: str) -> str:
    return name[:100].replace("~", "~0").replace("/", "~1")


# --- secrets


def is_secret(provider_type: str, name: str) -> bool:
    if provider_type in KINDS:
        return _SECRETS.get(provider_type) == name
    return any(word in name.lower() for word in _SECRET_WORDS)


def masked(provider_type: str, config: Config) -> Config:
    return {name: _masked(provider_type, name, value) for name, value in config.items()}


def _masked(provider_type: str, name: str, value: Any) -> Any:
    match value:
        case dict():
            return {key: _masked(provider_type, key, member) for key, member in value.items()}
        case list():
            return [_masked(provider_type, name, member) for member in value]
        case _:
            return MASK if value and is_secret(provider_type, name) else value


def with_kept_secrets(provider_type: str, given: Config, stored: Config) -> Config:
    """The new configuration, with the stored secret wherever `********` was sent, if it may stay there."""
    faults: list[tuple[str, str]] = []
    moved = stored and destination(provider_type, given) != destination(provider_type, stored)

    def kept(path: str, name: str, value: Any, old: Any) -> Any:
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            return {key: kept(f"{path}/{_pointer(key)}", key, one, before.get(key)) for key, one in value.items()}
        if isinstance(value, list):
            items = old if isinstance(old, list) and len(old) == len(value) else [None] * len(value)
            return [kept(f"{path}/{at}", name, one, items[at]) for at, one in enumerate(value)]
        if value != MASK or not is_secret(provider_type, name):
            return value
        if not isinstance(old, str) or not old:
            faults.append((path, "there is no stored secret to keep; send it"))
        elif moved:
            faults.append((path, "send it again: the address that it is sent to has changed"))
        return old

    config: Config = kept("", "", given, stored)
    if faults:
        raise invalid(faults)
    return config


def destination(provider_type: str, config: Config) -> Any:
    """Where, and how, the secrets of a configuration are sent. For types that we do not know, anything may matter."""
    if provider_type in KINDS:
        usual = {field.name: field.default for field in msgspec.structs.fields(KINDS[provider_type])}
        names = _DESTINATION.get(provider_type, ())
        return [config[name] if config.get(name, "") != "" else usual[name] for name in names]
    return masked(provider_type, config)


def vouches(provider_type: str, config: Config) -> Any:
    """Who vouches for the people of a provider. When that changes, they are other people."""
    match provider_type:
        case "oidc":
            return [config.get("issuer"), config.get("discovery_url") or None]
        case "saml":
            url = config.get("metadata_url")
            return url or read_metadata(config["metadata_xml"]).entity_id
        case "ldap":
            return config.get("url")
        case _:
            return destination(provider_type, config)


def admission(provider_type: str, config: Config) -> Config:
    """What decides who comes in, as whom, and in which groups."""
    return {name: value for name, value in config.items() if name not in _CREDENTIALS.get(provider_type, ())}
