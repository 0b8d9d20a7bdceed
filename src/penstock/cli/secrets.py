"""`penstock secrets`: the keys under which projects' secrets and identity providers' configurations are kept."""

import asyncio

from penstock.cli.errors import CommandError
from penstock.cli.options import ConfigFile, DatabaseAddress, opened, settings_of
from penstock.engine.rotated import StoredTokens
from penstock.platform.iam import rotation
from penstock.platform.secrets import rules
from penstock.platform.secrets.rules import Rotated
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings
from penstock.storage.secret import server_secret


def rotate(*, database: DatabaseAddress = None, config: ConfigFile = None) -> None:
    """Seal every secret with the present key. Safe beside running servers, and safe to run again."""
    settings = settings_of(config, database)
    done = asyncio.run(_rotate(settings))
    print(f"{done.resealed} secrets are sealed with the present key now.")
    if done.not_opened:
        shown = "\n".join(f"  {sentence}" for sentence in done.not_opened[:20])
        more = f"\n  … and {len(done.not_opened) - 20} more" if len(done.not_opened) > 20 else ""
        raise CommandError(f"{len(done.not_opened)} could not be opened and stay as they are:\n{shown}{more}")
    if settings.secrets_key_previous:
        print("Next: when the executions that are under way have ended, whose data stays sealed as it is, take")
        print("secrets_key_previous out of the settings and restart.")


async def _rotate(settings: Settings) -> Rotated:
    async with opened(settings) as database:
        secret = await server_secret(database, settings.jwt_secret.reveal())
        vault = Vault(settings, secret)
        parts = [await rules.rotate(database, vault), await rotation.rotate(database, vault)]
        tokens = await StoredTokens(database, vault).reseal()
        return Rotated(
            sum(part.resealed for part in parts) + tokens, [text for part in parts for text in part.not_opened]
        )
