"""Checks of how the server meets the world: its address, who may speak for others, hooks, Redis, its settings file."""

import stat
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from penstock.accounts.hooks import from_settings
from penstock.cli.findings import Finding, fail, ok, warn
from penstock.cli.serve import is_loopback
from penstock.settings import Loaded, Secret, SettingsError

_WIDE = {4: 8, 6: 16}
"""A network with a shorter prefix than this is nobody's own."""
_REDIS_TIMEOUT = 5


async def address(loaded: Loaded) -> AsyncIterator[Finding]:
    settings = loaded.settings
    if is_loopback(settings.host):
        yield ok("address", f"{settings.host}:{settings.port}, reached from this machine only")
        exposed = bool(settings.public_url) and not is_loopback(urlsplit(settings.public_url).hostname or "")
    else:
        yield ok("address", f"{settings.host}:{settings.port}, reached from other machines")
        exposed = True
    if not exposed:
        return
    if not settings.public_url:
        yield warn(
            "address",
            "public_url is not set: links in mails and SAML cannot name this server",
            "Set public_url to where people reach it, e.g. https://penstock.example.",
        )
    elif urlsplit(settings.public_url).scheme == "http":
        yield warn(
            "address",
            f"{settings.public_url} is not HTTPS: passwords and sessions travel in the clear",
            "Put a proxy with a certificate in front (docs/operate.md) and set public_url to its https address.",
        )
    if settings.project_auth == "none":
        yield warn(
            "address",
            "anyone who reaches the server may read and write /project",
            "Set project_auth = 'session', or keep /project private at the proxy.",
        )


async def proxies(loaded: Loaded) -> AsyncIterator[Finding]:
    networks = loaded.settings.trusted_proxies
    everyone = [network for network in networks if network.prefixlen == 0]
    wide = [network for network in networks if 0 < network.prefixlen < _WIDE[network.version]]
    if everyone:
        yield fail(
            "proxies",
            "trusted_proxies is the whole internet: any client may forge its address and escape the rate limits",
            "Name only your proxies, e.g. trusted_proxies = ['10.0.0.5/32'].",
        )
    elif wide:
        yield warn(
            "proxies", f"trusted_proxies holds {wide[0]}, a very wide network", "Name only the proxies' own addresses."
        )
    else:
        yield ok("proxies", f"forwarding headers are believed from {networks!r}")


async def cors(loaded: Loaded) -> AsyncIterator[Finding]:
    plain = [
        origin
        for origin in loaded.settings.cors_origins
        if origin.startswith("http://") and not is_loopback(urlsplit(origin).hostname or "")
    ]
    if plain:
        yield warn(
            "cors",
            f"{', '.join(plain)} may act for signed-in people, and is not HTTPS: whoever is in between can too",
            "Serve that front end over HTTPS and name its https origin in cors_origins.",
        )
    elif loaded.settings.cors_origins:
        yield ok("cors", f"front ends at {', '.join(loaded.settings.cors_origins)}")


async def hooks(loaded: Loaded) -> AsyncIterator[Finding]:
    if not loaded.settings.hooks:
        return
    try:
        from_settings(loaded.settings.hooks)
    except SettingsError as error:
        yield fail("hooks", str(error), "Correct the import path, or install the package that has the hook.")
    else:
        yield ok("hooks", ", ".join(sorted(loaded.settings.hooks)))


async def settings_file(loaded: Loaded) -> AsyncIterator[Finding]:
    """A file with secrets in it is for the server's user alone."""
    by_file: dict[Path, list[str]] = {}
    for name, source in loaded.sources.items():
        if source not in {"default", "environment", "command line"} and _is_secret(loaded, name):
            by_file.setdefault(Path(source), []).append(name)
    for path, names in by_file.items():
        if path.stat().st_mode & stat.S_IROTH:
            yield warn(
                "settings",
                f"{path} holds secrets ({', '.join(names)}) and every user of this machine can read it",
                f"Run `chmod o-r {path}`.",
            )


def _is_secret(loaded: Loaded, name: str) -> bool:
    value = getattr(loaded.settings, name)
    if name == "oauth_providers":
        return any(provider.client_secret for provider in value.values())
    if isinstance(value, Secret):
        return name not in {"database", "redis_url"} or "@" in value.reveal()
    return False


async def redis(loaded: Loaded) -> AsyncIterator[Finding]:
    url = loaded.settings.redis_url.reveal()
    if not url:
        return
    try:
        import redis.asyncio as client  # noqa: PLC0415 - an extra that not everyone installs
    except ImportError:
        yield fail("redis", "redis_url is set, but the package is missing", "Run `pip install 'penstock[redis]'`.")
        return
    try:
        connection = client.from_url(url, socket_timeout=_REDIS_TIMEOUT, socket_connect_timeout=_REDIS_TIMEOUT)
        try:
            await connection.ping()
        finally:
            await connection.aclose()
    except (client.RedisError, OSError, ValueError) as error:
        yield fail("redis", f"does not answer: {error}", "Check redis_url, and that Redis runs and lets us in.")
    else:
        yield ok("redis", "answers; rate limits are shared")
