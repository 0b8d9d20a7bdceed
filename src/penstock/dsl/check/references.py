"""What a definition names and must have: functions, catalogs, retries, timeouts, errors, authentications, secrets."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from penstock.dsl.check.codes import Code
from penstock.dsl.check.finding import Findings, shown
from penstock.dsl.check.walk import Reference, Seen
from penstock.dsl.expressions import NotAnExpression, Program
from penstock.dsl.expressions.lexer import Token, scan
from penstock.dsl.grammar.nodes import Names

# Where each is declared, and what is said when it is not, by what names it.
_DECLARED: dict[Names, tuple[str, Code]] = {
    "retry": ("retries", "retry-unknown"),
    "timeout": ("timeouts", "timeout-unknown"),
    "error": ("errors", "error-unknown"),
    "authentication": ("authentications", "authentication-unknown"),
    "secret": ("secrets", "secret-unknown"),
}
_CATALOGED = re.compile(r"[^\s:@/]+:[^\s:@/]+@(?P<catalog>[^\s:@/]+)")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_PROTOCOLS = ("http", "grpc", "openapi", "asyncapi", "mcp", "a2a")
# Every runtime may have one of this name without its being declared.
_DEFAULT_CATALOG = "default"


class Used:
    """What `use` declares, by section; whatever has the wrong shape declares nothing."""

    def __init__(self, definition: Any) -> None:
        use = definition.get("use") if isinstance(definition, dict) else None
        self._use = use if isinstance(use, dict) else {}

    def names(self, section: str) -> list[str]:
        found = self._use.get(section)
        return [name for name in found if isinstance(name, str)] if isinstance(found, dict | list) else []


def check_references(seen: Seen, used: Used, findings: Findings) -> None:
    for reference in seen.references:
        if reference.names == "function":
            _function(reference, used, findings)
        elif reference.names != "task":
            _declared(reference, used, findings)
    for name in used.names("functions"):
        if name in _PROTOCOLS:
            message = f"nothing calls this function: call: {name} is the protocol; choose another name"
            findings.add(("use", "functions", name), message, "ignored", "warning")
    secrets = used.names("secrets")
    for expression in seen.expressions:
        for program in expression.programs:
            for name in secrets_in(program):
                if name not in secrets:
                    message = f"there is no secret {shown(name)} in use.secrets: add it there{_meant(name, secrets)}"
                    findings.add(expression.path, message, "secret-unknown")


def _declared(reference: Reference, used: Used, findings: Findings) -> None:
    section, code = _DECLARED[reference.names]
    known = used.names(section)
    if reference.text in known:
        return
    message = f"there is no {reference.names} {shown(reference.text)} in use.{section}{_meant(reference.text, known)}"
    if reference.names == "timeout" and reference.text[:1] == "P":
        message += "; a duration is written as after: " + reference.text[:50]
    findings.add(reference.path, message, code)


def _function(reference: Reference, used: Used, findings: Findings) -> None:
    name = reference.text
    functions = used.names("functions")
    if name in functions or _ADDRESS.fullmatch(name):
        return
    if cataloged := _CATALOGED.fullmatch(name):
        catalog = cataloged["catalog"]
        known = used.names("catalogs")
        if catalog not in {*known, _DEFAULT_CATALOG}:
            message = f"there is no catalog {shown(catalog)} in use.catalogs{_meant(catalog, known)}"
            findings.add(reference.path, message, "catalog-unknown")
        return
    known = [*_PROTOCOLS, *functions]
    message = (
        f"there is no function {shown(name)}: it is none of use.functions, no name:version@catalog, no address, and "
        f"not http, grpc, openapi, asyncapi, mcp or a2a{_meant(name, known)}"
    )
    findings.add(reference.path, message, "function-unknown")


def secrets_in(program: Program) -> Iterator[str]:
    """The names in `$secrets.name`, `$secrets."name"` and `$secrets["name"]`."""
    if "secrets" not in program.variables:
        return
    try:
        tokens = [token for token in scan(program.text) if token.kind not in {"space", "comment"}]
    except NotAnExpression:
        return
    for at, token in enumerate(tokens):
        if token.kind == "name" and "".join(token.text.split()) == "$secrets":
            name = _member(tokens[at + 1 : at + 6])
            if name is not None:
                yield name


def _member(after: list[Token]) -> str | None:
    if after and after[0].kind == "field":
        return after[0].text[1:]
    while after and after[0].text in {".", "["}:
        after = after[1:]
    if len(after) >= 3 and after[0].kind == "quote" and after[1].kind == "text" and after[2].kind == "quote":
        return after[1].text
    return None


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name[:50], known, 1)
    return f"; did you mean {close[0]}?" if close else ""
