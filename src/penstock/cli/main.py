"""The command `penstock`, and how its failures are shown: one sentence, no traceback."""

import sys

from cyclopts import App

from penstock import __version__
from penstock.cli.serve import serve
from penstock.problems import Problem
from penstock.settings import SettingsError
from penstock.storage import StorageError
from penstock.storage.opening import AddressError

app = App(name="penstock", help="A self-hosted workflow platform with its own front door.", version=__version__)
app.command(serve)


def main() -> None:
    try:
        app()
    except (SettingsError, StorageError, AddressError, Problem) as error:
        print(f"penstock: {error}", file=sys.stderr)
        sys.exit(1)
