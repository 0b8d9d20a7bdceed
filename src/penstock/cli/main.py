"""The command `penstock`: which commands there are, and how failures are shown: one sentence, no traceback.

A command is named by its import path: what `--help` needs stands here, and nothing heavy is loaded for it.
"""

import gc
import sys
from typing import Any, NoReturn

from cyclopts import App, CycloptsError

from penstock import __version__

app = App(
    name="penstock",
    help="A self-hosted workflow platform with its own front door.",
    help_epilogue="Settings come from the environment (PENSTOCK_PORT=80) and from penstock.toml (port = 80).",
    version=__version__,
    print_error=False,
    exit_on_error=False,
)
saml = App(name="saml", help="Companies that sign in at their own SAML identity provider: add, list, remove.")
users = App(name="users", help="Who has an account, and who may use it: list, deactivate, activate.")
app.command(saml)
app.command(users)
domains = App(name="domains", help="Email domains that a company's own identity providers speak for.")
app.command(domains)
secrets = App(name="secrets", help="The values that workflows use.")
app.command(secrets)


def _command(group: App, path: str, summary: str, *examples: str) -> None:
    name = path.rpartition(":")[2].removesuffix("_")
    # Indented, as the help is read as Markdown.
    shown = "Examples:\n\n" + "\n".join(f"    {example}" for example in examples)
    group.command(path, name=name, help=summary, help_epilogue=shown)


_command(
    app,
    "penstock.cli.serve:serve",
    "Serve. Tables are created and migrated first; Ctrl-C or SIGTERM lets requests in flight finish.",
    "penstock serve",
    "penstock serve --port 80 --host 0.0.0.0",
    "penstock serve --database postgresql://penstock@db.example/penstock --workers 4",
    "penstock serve --engine temporal --database postgresql://penstock@db.example/penstock   # and penstock worker",
)
_command(
    app,
    "penstock.cli.worker:worker",
    "Run workflows on a Temporal cluster, beside servers with engine = temporal. SIGTERM lets calls in flight finish.",
    "penstock worker",
    "penstock worker --database postgresql://penstock@db.example/penstock --temporal temporal.example:7233",
)
_command(
    app,
    "penstock.cli.run:run",
    "Run a workflow on this machine, with no server. Exit 1 when it faults, 2 when it is not valid.",
    "penstock run order.yaml --input '{\"id\": 7}'",
    "penstock run order.yaml --mock charge='{\"paid\": true}' --secret KEY=@key.txt",
    'penstock run approval.yaml --event \'{"type": "approved", "data": {"by": "eve"}}\'',
)
_command(
    app,
    "penstock.cli.check:check",
    "Check workflow definitions as a compiler would: file, line, column, code and what to do. Exit 1 on errors.",
    "penstock check workflows/*.yaml",
    "penstock check --json - < workflow.yaml",
    "penstock check --schema > workflow.schema.json",
    "penstock check --allow script,container workflow.yaml   # as a server with these processes would",
)
_command(
    app,
    "penstock.cli.graph:graph",
    "Draw the flow of a workflow definition, as Mermaid or DOT.",
    "penstock graph workflow.yaml",
    "penstock graph workflow.yaml --format dot | dot -Tsvg > workflow.svg",
)
_command(
    app,
    "penstock.cli.doctor:doctor",
    "Check settings, database, mail, keys and sign-in providers, and say what to do. Exit 1 when something is broken.",
    "penstock doctor",
    "penstock doctor --send-test you@example.com",
    "penstock doctor --json",
)
_command(
    app,
    "penstock.cli.config:config",
    "Show every setting: its value, where it came from, what it means. Secrets are masked.",
    "penstock config",
    "penstock config --only-changed",
    "penstock config port --json",
)
_command(
    app,
    "penstock.cli.migrate:migrate",
    "Bring the database to the tables that this version expects. An SQLite file is copied beside itself first.",
    "penstock migrate",
    "penstock migrate --check   # exit 1 when something is pending",
)
_command(
    app,
    "penstock.cli.backup:backup",
    "Copy an SQLite database and the server's secret into one file, beside a running server.",
    "penstock backup backups/penstock-2026-11-15.db",
)
_command(
    app,
    "penstock.cli.backup:restore",
    "Put a backup in place. Refused while a server runs there, and over a database that exists.",
    "penstock restore backups/penstock-2026-11-15.db",
    "penstock restore --force backups/penstock-2026-11-15.db   # what was there is kept under another name",
)
_command(
    saml,
    "penstock.cli.saml:add",
    "Register an identity provider, or replace its metadata and domains.",
    "penstock saml add metadata.xml --domain example.com --domain example.org",
)
_command(saml, "penstock.cli.saml:list_", "Show the registered identity providers.", "penstock saml list")
_command(
    saml,
    "penstock.cli.saml:remove",
    "Remove an identity provider; its people sign in with passwords again.",
    "penstock saml remove https://idp.example.com/metadata",
)
_command(users, "penstock.cli.users:list_", "Show the accounts.", "penstock users list")
_command(
    users,
    "penstock.cli.users:deactivate",
    "Let nobody in with this account; its sessions and tokens end at once.",
    "penstock users deactivate eve@example.com",
)
_command(users, "penstock.cli.users:activate", "Let its holder in again.", "penstock users activate eve@example.com")
_command(
    domains,
    "penstock.cli.domains:grant",
    "Let the identity providers of a company speak for an email domain.",
    "penstock domains grant 0192d3a4-5b6c-7d8e-9f00-112233445566 example.com",
)
_command(domains, "penstock.cli.domains:list_", "Show which company speaks for which domain.", "penstock domains list")
_command(
    domains,
    "penstock.cli.domains:revoke",
    "Take a domain back; accounts that were made stay, and nobody new comes in.",
    "penstock domains revoke 0192d3a4-5b6c-7d8e-9f00-112233445566 example.com",
)
_command(
    secrets,
    "penstock.cli.secrets:rotate",
    "Seal every secret anew with the newest key; then earlier keys can be forgotten.",
    "penstock secrets rotate",
)


def main() -> Any:
    # What is loaded for a command stays: to look for garbage among it was an eighth of what a start takes.
    gc.disable()
    try:
        command, given, _ = app.parse_args()
        gc.enable()
        return command(*given.args, **given.kwargs)
    except CycloptsError as error:
        _end(error, 2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not _is_for_people(error):
            raise
        _end(error, 1)


def _end(error: Exception, code: int) -> NoReturn:
    print(f"penstock: {error}", file=sys.stderr)
    sys.exit(code)


def _is_for_people(error: Exception) -> bool:
    """Whether the message says what happened and what to do. All else is our mistake, and wants its traceback."""
    from penstock.cli.errors import CommandError  # noqa: PLC0415 - see above: only when there is an error
    from penstock.problems import Problem  # noqa: PLC0415
    from penstock.settings import SettingsError  # noqa: PLC0415
    from penstock.storage import StorageError  # noqa: PLC0415
    from penstock.storage.opening import AddressError  # noqa: PLC0415

    return isinstance(error, CommandError | Problem | SettingsError | StorageError | AddressError)
