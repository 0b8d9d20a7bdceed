"""Rules that no single setting's type can say; each names the setting that broke it."""

import re
from ipaddress import ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.settings.values import Secret, SettingsError

if TYPE_CHECKING:
    from penstock.settings.declared import Settings

_HOST_AND_PORT = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^:\s/]+):(\d{1,5})")


def check_together(settings: "Settings") -> None:
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
    server = _HOST_AND_PORT.fullmatch(settings.smtp_server)
    if settings.smtp_server and not (server and 0 < int(server[1]) < 65536):
        raise SettingsError(f"smtp_server: expected host:port, got {settings.smtp_server!r}")
    listens = _HOST_AND_PORT.fullmatch(settings.worker_listen)
    if settings.worker_listen and not (listens and int(listens[1]) < 65536):
        raise SettingsError(f"worker_listen: expected host:port, got {settings.worker_listen!r}")
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
