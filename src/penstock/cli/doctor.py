"""`penstock doctor`: every check, one line each, and what to do. The checks are in `doctor_*.py`."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from penstock.cli import doctor_mail, doctor_providers, doctor_secrets, doctor_server, doctor_storage, doctor_temporal
from penstock.cli.findings import Check, Finding, Level, fail, ok
from penstock.cli.options import ConfigFile, DatabaseAddress
from penstock.settings import Loaded, SettingsError, load

CHECKS: tuple[Check, ...] = (
    doctor_server.address,
    doctor_server.proxies,
    doctor_server.cors,
    doctor_server.hooks,
    doctor_storage.database,
    doctor_storage.clock,
    doctor_storage.secret,
    doctor_secrets.sealed,
    doctor_server.settings_file,
    doctor_server.redis,
    doctor_temporal.temporal,
    doctor_mail.mail,
    doctor_providers.oauth,
    doctor_providers.saml,
)
LONGEST = 45.0
_SIGNS: dict[Level, tuple[str, str]] = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "bold red")}


def doctor(
    *,
    send_test: Annotated[str | None, Parameter(help="Send a mail to this address, to see that it arrives.")] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs.")] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    found: list[Finding] = []
    console = Console(highlight=False, soft_wrap=True)

    async def run() -> None:
        async for finding in examine(lambda: load(config, overrides={"database": database}), send_test):
            found.append(finding)
            if not as_json:
                _print(console, finding)

    asyncio.run(run())
    broken = any(finding.level == "fail" for finding in found)
    if as_json:
        document = {"ok": not broken, "checks": [msgspec.structs.asdict(finding) for finding in found]}
        print(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print(f"\n{_summary(found)}")
    sys.exit(1 if broken else 0)


async def examine(read: Callable[[], Loaded], send_test: str | None = None) -> AsyncIterator[Finding]:
    """Every finding, as soon as it is known. Without settings there is nothing further to examine."""
    try:
        loaded = read()
    except SettingsError as error:
        yield fail("settings", str(error), "Correct that setting; `penstock config` then shows them all.")
        return
    changed = sum(source != "default" for source in loaded.sources.values())
    yield ok("settings", f"{changed} set, the others at their defaults")
    checks = [*CHECKS, doctor_mail.trial_mail_to(send_test)] if send_test else CHECKS
    for check in checks:
        async for finding in _guarded(check, loaded):
            yield finding


async def _guarded(check: Check, loaded: Loaded) -> AsyncIterator[Finding]:
    """A check that hangs or trips over something unforeseen is a finding too, and the others still run."""
    try:
        async with asyncio.timeout(LONGEST):
            async for finding in check(loaded):
                yield finding
    except TimeoutError:
        yield fail(check.__name__, f"no answer within {LONGEST:.0f} seconds", "See whether a firewall is in between.")
    except Exception as error:  # noqa: BLE001
        yield fail(check.__name__, f"{type(error).__name__}: {error}", "This check itself failed: please report it.")


def _print(console: Console, finding: Finding) -> None:
    sign, style = _SIGNS[finding.level]
    console.print(Text.assemble((sign, style), " ", (f"{finding.check:<10}", "bold"), " ", finding.says))
    if finding.todo:
        console.print(Text(f"             → {finding.todo}", style))


def _summary(found: list[Finding]) -> str:
    failed, warned = (sum(finding.level == level for finding in found) for level in ("fail", "warn"))
    if failed:
        return f"{failed} broken, {warned} to look at."
    return f"Works; {warned} to look at." if warned else "All is well."
