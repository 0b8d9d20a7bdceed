"""Where the settings' values come from: the command line, else the environment, else the file, else the default."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Struct

from penstock.settings.declared import Settings
from penstock.settings.fitting import PREFIX, fit
from penstock.settings.values import SettingsError, TrustedProxies

FILE = "penstock.toml"


class Loaded(Struct, frozen=True):
    """The settings together with where each came from: `default`, `environment` or the file's path."""

    settings: Settings
    sources: dict[str, str]


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Loaded:
    """Read the settings. `overrides` are what the command line said."""
    environ = os.environ if environ is None else environ
    path = file or Path(environ.get(f"{PREFIX}CONFIG", FILE))
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    if path.exists():
        for name, value in _read_file(path).items():
            _known(name, f"in {path}")
            values[name], sources[name] = value, str(path)
    elif file is not None or f"{PREFIX}CONFIG" in environ:
        raise SettingsError(f"the settings file {path} does not exist")
    # In order, so that a whole table is read before single members of it.
    for variable, text in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable != f"{PREFIX}CONFIG":
            name = _set_from_environment(values, variable, text)
            sources[name] = "environment"
    for name, value in (overrides or {}).items():
        if value is not None:
            values[name], sources[name] = value, "command line"
    typed = {name: fit(name, value, _TYPES[name].type, sources[name]) for name, value in values.items()}
    return Loaded(Settings(**typed), {name: sources.get(name, "default") for name in Settings.__struct_fields__})


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: expected TOML: {error}") from error
    except OSError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error.strerror}") from error


_TYPES = {f.name: f for f in msgspec.structs.fields(Settings)}


def _known(name: str, where: str) -> None:
    if name not in _TYPES:
        raise SettingsError(f"{name}: no such setting ({where}); `penstock config` lists them all")


def _set_from_environment(values: dict[str, Any], variable: str, text: str) -> str:
    path = variable.removeprefix(PREFIX).lower().split("__")
    name = path[0]
    _known(name, f"environment variable {variable}")
    if len(path) == 1:
        values[name] = _parse_text(name, text)
        return name
    table = values.setdefault(name, {})
    for part in path[1:-1]:
        table = table.setdefault(part, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise SettingsError(f"{name}: expected a table ({variable} sets a member of it)")
    table[path[-1]] = _parse_text(path[-1], text)
    return name


_LISTS = {"scopes", "domains"}


def _parse_text(name: str, text: str) -> Any:
    """A list is comma-separated or JSON, a table is JSON; all else stays text for `fit`."""
    kind = _TYPES[name].type if name in _TYPES else None
    origin = get_origin(get_args(kind)[0]) if get_origin(kind) is Annotated else None
    base = get_args(kind)[0] if get_origin(kind) is Annotated else None
    if text.strip()[:1] in {"{", "["} and (origin in {dict, list} or base is TrustedProxies):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise SettingsError(f"{name}: expected JSON: {error}") from error
    if origin is list or base is TrustedProxies or name in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text
