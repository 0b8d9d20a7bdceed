"""The grammar of the Serverless Workflow DSL 1.0.3, once: the checker and the JSON Schema for editors come from it."""

from penstock.dsl.grammar.workflow import NAMED, WORKFLOW

__all__ = ["NAMED", "WORKFLOW"]
