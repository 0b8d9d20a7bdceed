"""`penstock domains`: for which email domains a company's own identity providers may speak."""

import asyncio
import json
from typing import Annotated

import msgspec
from cyclopts import Parameter

from penstock.cli.options import ConfigFile, DatabaseAddress, opened, settings_of
from penstock.platform.iam import domains
from penstock.platform.iam.domains import Granted
from penstock.settings import Settings

CompanyId = Annotated[str, Parameter(help="The company's id, as /api/v1/companies shows it.")]
Domain = Annotated[str, Parameter(help="An email domain that you know to be the company's, such as example.com.")]


def grant(
    company_id: CompanyId, domain: Domain, /, *, database: DatabaseAddress = None, config: ConfigFile = None
) -> None:
    name = asyncio.run(_grant(settings_of(config, database), company_id, domain))
    print(f"Granted: the identity providers of company {company_id} speak for {name}.")


async def _grant(settings: Settings, company_id: str, domain: str) -> str:
    async with opened(settings) as database:
        return await domains.grant(database, company_id, domain)


def list_(
    *,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs.")] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    granted = asyncio.run(_listed(settings_of(config, database)))
    if as_json:
        print(json.dumps([msgspec.structs.asdict(one) for one in granted], indent=2))
    elif not granted:
        print("No domain is granted; `penstock domains grant COMPANY_ID example.com` grants one.")
    else:
        for one in granted:
            print(f"{one.domain}  {one.company_id}  {one.company}")


async def _listed(settings: Settings) -> list[Granted]:
    async with opened(settings) as database:
        return await domains.listed(database)


def revoke(
    company_id: CompanyId, domain: Domain, /, *, database: DatabaseAddress = None, config: ConfigFile = None
) -> None:
    name = asyncio.run(_revoke(settings_of(config, database), company_id, domain))
    print(f"Revoked: no new accounts come from {name}. Who has one already keeps it.")


async def _revoke(settings: Settings, company_id: str, domain: str) -> str:
    async with opened(settings) as database:
        return await domains.revoke(database, company_id, domain)
