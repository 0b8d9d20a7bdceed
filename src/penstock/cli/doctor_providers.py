"""Checks of the doors that others keep: social providers, and companies' SAML identity providers."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from sqlalchemy import select

from penstock.accounts import saml_registry
from penstock.accounts.oauth import OAuthClient, OAuthError
from penstock.accounts.saml import SamlError, read_metadata
from penstock.cli.findings import Finding, fail, ok, warn
from penstock.cli.serve import is_loopback
from penstock.settings import Loaded, OAuthProvider, SamlProvider, Settings, SettingsError
from penstock.storage import Database, Statement, StorageError, open_database
from penstock.storage.opening import AddressError, check_address, sqlite_path
from penstock.storage.schema import saml_service_provider

SOON = timedelta(days=30)
_CERTIFICATE = Statement(select(saml_service_provider.c.certificate).where(saml_service_provider.c.id == 1))


async def oauth(loaded: Loaded) -> AsyncIterator[Finding]:
    for name, provider in loaded.settings.oauth_providers.items():
        if not provider.enabled:
            yield ok("oauth", f"{name}: switched off")
        else:
            yield await _social(loaded.settings, name, provider)


async def _social(settings: Settings, name: str, provider: OAuthProvider) -> Finding:
    base = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    redirect = provider.redirect_url or f"{base}/user/oauth/callback/{name}"
    try:
        client = OAuthClient({name: provider})
    except SettingsError as error:
        return fail("oauth", str(error), "Complete the provider's settings (docs/settings.md).")
    try:
        # The first half of a sign-in: an OpenID Connect provider is asked for its discovery document.
        await client.begin(name, redirect_uri=redirect, next="/")
    except OAuthError as error:
        return fail("oauth", f"{name}: {error}", "Check its issuer, and that this machine reaches it.")
    finally:
        await client.aclose()
    if not provider.client_secret:
        return warn("oauth", f"{name}: has no client_secret", "Set it, unless we are a public client there.")
    parts = urlsplit(redirect)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return warn("oauth", f"{name}: comes back over plain HTTP ({redirect})", "Set public_url to an https address.")
    return ok("oauth", f"{name}: kind {provider.kind_as(name)}; register {redirect} there")


async def saml(loaded: Loaded) -> AsyncIterator[Finding]:
    settings = loaded.settings
    for configured in settings.saml_providers:
        if finding := configured_provider(configured):
            yield finding
    url = settings.database.reveal()
    try:
        check_address(url)
        path = sqlite_path(url)
        if path is not None and not path.exists():
            return
        database = await open_database(url, pool=1, upgrade=False)
    except (AddressError, StorageError):
        return  # what is wrong with the database, its own check says
    try:
        async for finding in _registered(settings, database):
            yield finding
    finally:
        await database.close()


def configured_provider(provider: SamlProvider) -> Finding | None:
    try:
        read_metadata(provider.metadata.read_bytes())
    except OSError as error:
        return fail("saml", f"{provider.metadata}: {error.strerror}", "Correct the path in saml_providers.")
    except SamlError as error:
        return fail("saml", f"{provider.metadata}: {error}", "Ask the provider's administrators for fresh metadata.")
    return None


async def _registered(settings: Settings, database: Database) -> AsyncIterator[Finding]:
    providers = await saml_registry.listed(database)
    if not providers and not settings.saml_providers:
        return
    if not settings.public_url and not is_loopback(settings.host):
        yield fail("saml", "public_url is not set, and single sign-on needs it", "Set it to where people reach us.")
    yield await own_key(database)
    for provider in providers:
        try:
            known = await saml_registry.provider(database, provider.entity_id)
        except SamlError as error:
            yield fail("saml", f"{provider.entity_id}: {error}", "Register fresh metadata with `penstock saml add`.")
            continue
        if known is not None:
            yield provider_key(provider.entity_id, provider.domains, known.certificates)


async def own_key(database: Database) -> Finding:
    row = await database.one(_CERTIFICATE)
    if row is None or not row[0]:
        return ok("saml", "our key is made when it is first needed")
    left = _expiry(row[0]) - datetime.now(UTC)
    if left < SOON:
        return warn(
            "saml",
            f"our own certificate {_when(left)}",
            "Empty the table saml_service_provider, restart, and give the providers our new metadata.",
        )
    return ok("saml", f"our own certificate {_when(left)}")


def provider_key(entity_id: str, domains: list[str], certificates: tuple[str, ...]) -> Finding:
    """The last of its certificates counts: a rotation adds the new one before the old one ends."""
    left = max(map(_expiry, certificates)) - datetime.now(UTC)
    says = f"{entity_id} for {', '.join(domains)}: its certificate {_when(left)}"
    if left < SOON:
        return warn("saml", says, "Sign-in stops when they change it: `penstock saml add` their fresh metadata.")
    return ok("saml", says)


def _expiry(pem: str) -> datetime:
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc


def _when(left: timedelta) -> str:
    return f"ended {-left.days} days ago" if left < timedelta(0) else f"ends in {left.days} days"
