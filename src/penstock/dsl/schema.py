"""The grammar as a JSON Schema (2020-12), for editors: completion, descriptions, and what is wrong as one types.

It says what has the right shape, in strict mode: in loose mode any text may stand for anything. What means something
(names, expressions, flow) only the checker knows.
"""

from typing import Any

from penstock.dsl.grammar import NAMED, WORKFLOW
from penstock.dsl.grammar.nodes import (
    ByMember,
    ByValue,
    Cases,
    Either,
    Flag,
    Free,
    Items,
    Member,
    Named,
    Node,
    Record,
    Ref,
    Scalar,
    Text,
    Whole,
)

Schema = dict[str, Any]

ID = "https://penstock.invalid/schemas/workflow-1.0.3.json"
_TYPES: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}
_WHOLE = {"description": "A runtime expression.", "type": "string", "pattern": r"^\s*\$\{[\s\S]+\}\s*$"}
_MARKED = {"description": "A runtime expression.", "type": "string", "pattern": r"^\s*\$\{[\s\S]+\}\s*$|\$\{\s"}
_SCALARS = ["string", "number", "boolean", "null"]


def json_schema() -> Schema:
    """The schema of a definition."""
    made = _Made()
    top = made.record(WORKFLOW)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Workflow",
        **top,
        "$defs": dict(sorted(made.definitions.items())),
    }


class _Made:
    """Schemas of named nodes are made once, and referred to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def of(self, node: Node) -> Schema:
        match node:
            case Text():
                return _text(node)
            case Whole(least=least, most=most):
                return {"type": "integer", **_given(minimum=least, maximum=most)}
            case Flag():
                return {"type": "boolean"}
            case Scalar():
                return {"type": _SCALARS}
            case Free(types=types):
                return {"type": [_TYPES[type_] for type_ in types]} if types else {}
            case Items(of=of, fewest=fewest):
                return {"type": "array", "items": self.of(of), **_given(minItems=fewest or None)}
            case Named(of=of, fewest=fewest):
                return {"type": "object", "additionalProperties": self.of(of), **_given(minProperties=fewest or None)}
            case Cases(of=of, fewest=fewest):
                return {"type": "array", "items": self._named_item(of), **_given(minItems=fewest or None)}
            case Either(options=options):
                return {"anyOf": [self.of(option) for option in options]}
            case Ref(name=name):
                return self._named(name, NAMED[name])
            case Record() | ByMember() | ByValue():
                return self._named(node.name, node)

    def _named(self, name: str, node: Node) -> Schema:
        if name not in self.definitions:
            self.definitions[name] = {}  # before it is made: it may hold itself
            self.definitions[name] = self._definition(node)
        return {"$ref": f"#/$defs/{name}"}

    def _definition(self, node: Node) -> Schema:
        match node:
            case Record():
                return self.record(node)
            case ByMember(about=about, options=options, otherwise=None):
                return {"description": about, "type": "object", "oneOf": [self.of(one) for one in options.values()]}
            case ByMember(about=about, options=options, otherwise=Record() as otherwise):
                ((name, one),) = options.items()
                chosen = {"if": {"required": [name]}, "then": self.of(one), "else": self.of(otherwise)}
                return {"description": about, "type": "object", **chosen}
            case ByValue(about=about, options=options, otherwise=otherwise):
                return {
                    "description": about,
                    "type": "object",
                    "oneOf": [self.of(one) for one in (*options.values(), otherwise)],
                }
            case _:
                return self.of(node)

    def record(self, node: Record) -> Schema:
        schema: Schema = {
            "description": node.about,
            "type": "object",
            "properties": {name: self._member(member) for name, member in node.members.items()},
            "additionalProperties": False if node.extra is None else self.of(node.extra),
            **_given(
                required=[name for name, member in node.members.items() if member.required] or None,
                minProperties=node.fewest or None,
                dependentRequired={name: [beside] for name, beside in node.needs.items()} or None,
            ),
        }
        rules: list[Schema] = [{"oneOf": _present(group)} for group in node.exactly_one]
        rules += [{"anyOf": _present(group)} for group in node.at_least_one]
        rules += [_when(name, value, then) for name, value, then in node.needs_when]
        return schema | ({"allOf": rules} if rules else {})

    def _member(self, member: Member) -> Schema:
        return {"description": member.about, **self.of(member.node)}

    def _named_item(self, of: Node) -> Schema:
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": self.of(of)}


def _text(node: Text) -> Schema:
    if node.instead_of:
        return _WHOLE
    schema: Schema = {
        "type": "string",
        **_given(
            enum=list(node.choices) or None,
            minLength=node.shortest or None,
            maxLength=node.longest,
            pattern=f"^(?:{node.pattern.regex})$" if node.pattern is not None else None,
        ),
    }
    if node.excluded:
        schema["not"] = {"enum": list(node.excluded)}
    is_bound = len(schema) > 1
    return {"anyOf": [schema, _MARKED]} if is_bound and node.evaluated == "marked" else schema


def _given(**keywords: Any) -> Schema:
    return {name: value for name, value in keywords.items() if value is not None}


def _present(names: tuple[str, ...]) -> list[Schema]:
    return [{"required": [name]} for name in names]


def _when(name: str, value: str, then: str) -> Schema:
    return {"if": {"properties": {name: {"const": value}}, "required": [name]}, "then": {"required": [then]}}
