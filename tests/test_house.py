"""The house rules: imports run downward only, rooms have telling names, and each module says what it is for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

SOURCE = Path(penstock.__file__).parent

# From the roof to the ground. A module imports from its own floor and from those below it.
FLOORS = (
    {"cli", "app", "__main__"},
    {"accounts", "console", "platform", "projects"},
    {"engine", "streams"},
    {"dsl", "storage", "http", "egress"},
    {"settings", "problems", "ids"},
)
# What the floors alone do not forbid. (http knows storage's errors, to answer for them.)
APART = (
    ("accounts", "platform"),
    ("accounts", "projects"),
    ("projects", "accounts"),
    ("projects", "platform"),
    ("storage", "http"),
    ("dsl", "storage"),
    ("dsl", "http"),
    ("accounts.oauth", "storage"),
    ("accounts.oauth", "http"),
    ("accounts.saml", "storage"),
    ("accounts.saml", "http"),
)
FOREIGN = (("accounts.oauth", "litestar"), ("accounts.saml", "litestar"), ("storage", "litestar"))
# What differs between processes. One that is copied after it has loaded shares with its copy what it drew by then.
CHANCE = {"token_bytes", "token_hex", "token_urlsafe", "urandom", "getpid", "uuid1", "uuid4", "uuid7"}
NO_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}


def modules(source: Path) -> Iterator[tuple[str, Path]]:
    """Every module by its name within the package (`accounts.oauth.wire`), the package itself being blank."""
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(name: str, path: Path) -> Iterator[str]:
    """What a module imports, wherever in it, by full name; relative imports resolved."""
    package = ["penstock", *name.split(".")] if name else ["penstock"]
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def floor(name: str) -> int | None:
    return next((index for index, rooms in enumerate(FLOORS) if name.split(".", maxsplit=1)[0] in rooms), None)


def import_violations(source: Path) -> list[str]:
    found = []
    for name, path in modules(source):
        for imported in imports(name, path):
            inner = imported.removeprefix("penstock.") if within(imported, "penstock") else None
            if inner is None:
                found += [
                    f"{name} imports {imported}"
                    for room, other in FOREIGN
                    if within(name, room) and within(imported, other)
                ]
                continue
            here, there = floor(name), floor(inner)
            if here is not None and there is not None and there < here:
                found.append(f"{name} imports {inner}, which is above it")
            found += [f"{name} imports {inner}" for room, other in APART if within(name, room) and within(inner, other)]
    return found


def naming_violations(source: Path) -> list[str]:
    return [f"{name}: no name for a room" for name, _ in modules(source) if NO_NAMES & set(name.split("."))]


def silent_modules(source: Path) -> list[str]:
    return [
        f"{path.relative_to(source)} does not say what it is for"
        for _, path in modules(source)
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]


def drawn_when_loaded(source: Path) -> list[str]:
    return [
        f"{name}: {ast.unparse(call)}"
        for name, path in modules(source)
        for call in _calls_when_loaded(ast.parse(path.read_text("utf-8")))
        if ast.unparse(call.func).rpartition(".")[2] in CHANCE
    ]


def _calls_when_loaded(node: ast.AST) -> Iterator[ast.Call]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(inner, ast.Call):
            yield inner
        yield from _calls_when_loaded(inner)


def test_nobody_draws_when_loaded_who_they_are() -> None:
    assert drawn_when_loaded(SOURCE) == []


@pytest.mark.parametrize("line", ["ME = secrets.token_hex(8)", "class A:\n    me = f'{uuid.uuid4().hex}-a'"])
def test_who_draws_when_loaded_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.py").write_text(line + "\n\ndef f():\n    return uuid7()\n")
    assert len(drawn_when_loaded(tmp_path)) == 1


def test_imports_run_downward_only() -> None:
    assert import_violations(SOURCE) == []


def test_every_room_is_on_a_floor() -> None:
    rooms = {name.split(".")[0] for name, _ in modules(SOURCE) if name}
    assert rooms - set().union(*FLOORS) - {"client"} == set()


def test_no_module_is_called_after_nothing() -> None:
    assert naming_violations(SOURCE) == []


def test_every_module_says_what_it_is_for() -> None:
    assert silent_modules(SOURCE) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("storage/x.py", "from penstock.http.edge import Edge"),
        ("storage/x.py", "import penstock.http.edge"),
        ("storage/x.py", "def f():\n    from penstock import http"),
        ("storage/x.py", "from ..http import edge"),
        ("storage/__init__.py", "from ..accounts import users"),
        ("settings.py", "from penstock.storage import Database"),
        ("http/x.py", "from penstock.accounts.users import add"),
        ("http/x.py", "from penstock import app"),
        ("accounts/x.py", "from penstock.platform.companies import Company"),
        ("accounts/x.py", "from penstock import platform"),
        ("accounts/x.py", "from penstock.cli import main"),
        ("accounts/oauth/x.py", "from penstock.storage import Database"),
        ("accounts/oauth/x.py", "from litestar import Request"),
        ("accounts/saml/x.py", "import litestar.exceptions"),
        ("accounts/saml/x.py", "from ...http import edge"),
        ("projects.py", "from penstock.accounts import routes"),
        ("projects.py", "from .accounts import routes"),
        ("dsl/x.py", "from penstock.storage import Database"),
        ("dsl/x.py", "from penstock.engine import host"),
        ("engine/x.py", "from penstock.platform import companies"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, path: str, line: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(f'"""Planted."""\n{line}\n')
    assert import_violations(tmp_path)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("http/x.py", "from penstock.storage import Busy"),
        ("http/x.py", "import http.client"),
        ("accounts/x.py", "from penstock.http.edge import Call\nfrom litestar import get"),
        ("accounts/oauth/x.py", "from penstock.settings import Kind\nfrom penstock.accounts.oauth import wire"),
        ("app.py", "from penstock.accounts import routes\nimport platform"),
        ("projects.py", "from penstock.storage import Database"),
    ],
)
def test_what_is_allowed_is_not_found(tmp_path: Path, path: str, line: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(f'"""Planted."""\n{line}\n')
    assert import_violations(tmp_path) == []


def test_planted_names_and_silence_are_found(tmp_path: Path) -> None:
    (tmp_path / "accounts" / "utils").mkdir(parents=True)
    (tmp_path / "accounts" / "utils" / "x.py").write_text("x = 1\n")
    (tmp_path / "helpers.py").write_text('"""Help."""\n')
    assert naming_violations(tmp_path) == ["accounts.utils.x: no name for a room", "helpers: no name for a room"]
    assert silent_modules(tmp_path) == ["accounts/utils/x.py does not say what it is for"]
