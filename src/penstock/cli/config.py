"""`penstock config`: what is set, to what, and by whom."""

import difflib
import json
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from penstock.cli.options import ConfigFile, DatabaseAddress
from penstock.cli.reference import description, reference
from penstock.cli.shown import toml, value_of
from penstock.settings import Loaded, Settings, SettingsError, load


def config(
    name: Annotated[str | None, Parameter(help="One setting; default: all of them.")] = None,
    /,
    *,
    only_changed: Annotated[bool, Parameter(negative="", help="Leave out what has its default.")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs.")] = False,
    markdown: Annotated[bool, Parameter(negative="", help="The reference of all settings (docs/settings.md).")] = False,
    config: ConfigFile = None,
    database: DatabaseAddress = None,
) -> None:
    if markdown:
        print(reference(), end="")
        return
    loaded = load(config, overrides={"database": database})
    entries = {
        setting: entry
        for setting, entry in entries_of(loaded).items()
        if (name is None or setting == _known(name)) and not (only_changed and entry["source"] == "default")
    }
    if as_json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
    else:
        _print(entries)


def entries_of(loaded: Loaded) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "value": value_of(name, getattr(loaded.settings, name)),
            "source": loaded.sources[name],
            "description": description(name),
        }
        for name in Settings.__struct_fields__
    }


def _known(name: str) -> str:
    name = name.lower().removeprefix("penstock_").replace("-", "_")
    if name not in Settings.__struct_fields__:
        near = difflib.get_close_matches(name, Settings.__struct_fields__, 1)
        hint = f"; did you mean {near[0]}?" if near else "; `penstock config` lists them all"
        raise SettingsError(f"{name}: no such setting{hint}")
    return name


def _print(entries: dict[str, dict[str, Any]]) -> None:
    """Valid TOML, so that a line can be copied into the settings file as it stands."""
    console = Console(highlight=False, soft_wrap=True)
    for name, entry in entries.items():
        changed = entry["source"] != "default"
        console.print(
            Text.assemble(
                (name, "bold green" if changed else "bold"),
                f" = {toml(entry['value'])}  ",
                (f"# {entry['source']}", "green" if changed else "dim"),
            )
        )
        console.print(Text(f"#   {entry['description']}", "dim"))
