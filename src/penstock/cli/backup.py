"""`penstock backup` and `penstock restore`: everything that an SQLite server has to remember, as one file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock import __version__
from penstock.cli.errors import CommandError
from penstock.cli.options import ConfigFile, DatabaseAddress, settings_of
from penstock.cli.shown import address
from penstock.settings import Settings
from penstock.storage import backup as backups
from penstock.storage.opening import check_address, sqlite_path


def backup(
    file: Annotated[Path, Parameter(help="The backup to make; a file that does not exist yet.")],
    /,
    *,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    settings = settings_of(config, database)
    path = _file_of(settings, "pg_dump --format=custom --file=FILE")
    made_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes = backups.make(path, file, __version__, made_at)
    print(f"{file} holds all of {path} as of now ({file.stat().st_size:,} bytes).")
    kept = "the server's secret is in it: keep it as you would a password. " if notes.secret else ""
    print(f"Note: {kept}Settings are not in it{_apart(settings)}.")


def restore(
    file: Annotated[Path, Parameter(help="What `penstock backup` made.")],
    /,
    *,
    force: Annotated[
        bool,
        Parameter(negative="", help="Put a database that is there aside, under another name, instead of refusing."),
    ] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    settings = settings_of(config, database)
    path = _file_of(settings, "pg_restore --no-owner FILE")
    notes, aside = backups.put_back(file, path, force=force)
    if aside is not None:
        print(f"What was at {path} is at {aside} now.")
    print(f"{path} is as it was on {notes.made_at} (Penstock {notes.version}).")
    if not notes.secret and not settings.jwt_secret:
        print("Note: it was made by a server with jwt_secret in its settings; set that here, too, before you start.")
    print("Next: see that the server that it was made of does not run any more.")
    print("Then `penstock doctor`, which says whether its secrets open here, and `penstock serve`.")


def _file_of(settings: Settings, instead: str) -> Path:
    url = settings.database.reveal()
    check_address(url)
    path = sqlite_path(url)
    if path is None:
        raise CommandError(f"{address(url)} is PostgreSQL, which brings its own tool: `{instead}` (docs/operate.md)")
    return path


def _apart(settings: Settings) -> str:
    """Which settings a restored server cannot do without."""
    named = [name for name in ("jwt_secret", "secrets_key", "secrets_key_previous") if getattr(settings, name)]
    return f": keep {' and '.join(named)} apart, without which a restored server opens no secret" if named else ""
