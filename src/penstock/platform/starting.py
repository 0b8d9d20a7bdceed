"""Starts what the platform needs besides the accounts, and sees to its end."""

from contextlib import AsyncExitStack

from penstock.accounts.service import Accounts
from penstock.egress import Egress
from penstock.platform.auth.journal import AuditJournal
from penstock.platform.engine import start_engine
from penstock.platform.executions.arrivals import Arrivals
from penstock.platform.gauges import Gauges
from penstock.platform.iam.doors import CompanyDoors
from penstock.platform.iam.service import Iam
from penstock.platform.iam.sign_in.saml import CompanySaml
from penstock.platform.iam.types import Types
from penstock.platform.parts import Parts
from penstock.platform.retention import Retention
from penstock.platform.secrets.vault import Vault
from penstock.platform.tokens import Tokens
from penstock.platform.workflows.checking import Checker
from penstock.settings import Settings
from penstock.storage import Database
from penstock.streams import Hub


async def start(
    stack: AsyncExitStack, settings: Settings, database: Database, accounts: Accounts, iam_types: Types
) -> Parts:
    accounts.journal = AuditJournal()
    streams = Hub(database)
    streams.start()
    stack.push_async_callback(streams.close)
    vault = Vault(settings, accounts.secret)
    egress = Egress(settings.egress_deny, settings.egress_allow)
    iam = Iam(iam_types, egress, vault, accounts.secret)
    stack.push_async_callback(iam.aclose)
    accounts.saml_sources.append(CompanySaml(database, iam))
    accounts.doors.append(CompanyDoors())
    retention = Retention(settings, database)
    retention.start()
    stack.push_async_callback(retention.stop)
    gauges = Gauges(settings, database)
    gauges.start()
    stack.push_async_callback(gauges.stop)
    engine = await start_engine(stack, settings, database, vault, egress)
    tokens = Tokens(settings, accounts.secret)
    checker = Checker(frozenset(settings.processes), engine.jq if engine is not None else None)
    await checker.start()
    stack.push_async_callback(checker.stop)
    return Parts(settings, database, accounts, tokens, vault, streams, egress, iam, checker, Arrivals(database), engine)
