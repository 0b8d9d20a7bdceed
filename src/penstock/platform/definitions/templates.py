"""Definitions to begin with: those of our examples that make sense by themselves, from the folder `examples`.

The wheel has a copy of it inside the package; a checkout has it beside `src`.
"""

from functools import lru_cache
from pathlib import Path

from msgspec import Struct

import penstock
from penstock.dsl.parse import parse

# In the order in which one would learn from them. Those that are left out need others beside them.
_NAMES = (
    "hello",
    "health-watch",
    "nightly-report",
    "approval",
    "order-saga",
    "best-offer",
    "batch-import",
    "webhook-relay",
    "data-pipeline",
    "polite-crawler",
    "script-transform",
)
_PACKAGE = Path(penstock.__file__).parent
_FOLDERS = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")
_NEEDS = {"script-transform": frozenset({"script", "shell"})}


class Template(Struct, frozen=True):
    name: str
    title: str
    summary: str
    config_yaml: str


def templates(processes: frozenset[str]) -> list[Template]:
    """Those that could run on a server that may start these processes."""
    return [template for template in _all() if _NEEDS.get(template.name, frozenset()) <= processes]


@lru_cache(maxsize=1)
def _all() -> tuple[Template, ...]:
    folder = next(folder for folder in _FOLDERS if folder.is_dir())
    return tuple(_template(name, (folder / f"{name}.yaml").read_text("utf-8")) for name in _NAMES)


def _template(name: str, text: str) -> Template:
    parsed = parse(text)
    title = parsed.data["document"]["title"] if parsed is not None else name
    return Template(name, title, _summary(text), text)


def _summary(text: str) -> str:
    """The comment at the top, which says what it is for."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# ").strip())
    return " ".join(lines)
