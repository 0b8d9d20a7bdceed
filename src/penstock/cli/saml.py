"""`penstock saml`: which companies sign in at their own identity provider."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from penstock.accounts import saml_registry
from penstock.accounts.saml_registry import Registered
from penstock.cli.errors import CommandError
from penstock.cli.options import ConfigFile, DatabaseAddress, opened, settings_of
from penstock.settings import Settings


def add(
    metadata: Annotated[Path, Parameter(help="The provider's metadata, an XML file; the entity id is read from it.")],
    /,
    *,
    domain: Annotated[
        list[str], Parameter(negative="", help="Email domain that the provider speaks for; can be given again.")
    ],
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    settings = settings_of(config, database)
    try:
        xml = metadata.read_bytes()
    except OSError as error:
        raise CommandError(f"{metadata} cannot be read: {error.strerror}") from error
    provider = asyncio.run(_add(settings, xml, domain))
    print(f"Registered {provider.entity_id} for {', '.join(provider.domains)}.")
    print(next_step(settings))


async def _add(settings: Settings, xml: bytes, domains: list[str]) -> Registered:
    async with opened(settings) as database:
        return await saml_registry.add(database, xml, domains)


def next_step(settings: Settings) -> str:
    if settings.public_url:
        url = settings.public_url.rstrip("/")
        return f"Next: give the provider's administrators our metadata, {url}/user/saml/metadata"
    return (
        "Next: set public_url to where people reach this server (single sign-on needs it), restart, and give the "
        "provider's administrators our metadata, at /user/saml/metadata there."
    )


def list_(
    *,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs.")] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    providers = asyncio.run(_listed(settings_of(config, database)))
    if as_json:
        print(json.dumps([msgspec.structs.asdict(provider) for provider in providers], indent=2))
    elif not providers:
        print("No provider is registered; `penstock saml add` registers one.")
    else:
        for provider in providers:
            print(f"{provider.entity_id}  {', '.join(provider.domains) or '(no domains)'}")


async def _listed(settings: Settings) -> list[Registered]:
    async with opened(settings) as database:
        return await saml_registry.listed(database)


def remove(
    entity_id: Annotated[str, Parameter(help="As `penstock saml list` shows it.")],
    /,
    *,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    asyncio.run(_remove(settings_of(config, database), entity_id))
    print(f"Removed {entity_id}.")


async def _remove(settings: Settings, entity_id: str) -> None:
    async with opened(settings) as database:
        await saml_registry.remove(database, entity_id)
