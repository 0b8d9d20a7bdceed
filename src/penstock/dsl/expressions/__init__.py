"""jq expressions of a workflow. Pure: what they may be and what they mean; what needs jq itself is the engine's."""

from penstock.dsl.expressions.allowed import LONGEST, NotAnExpression, require_expression

__all__ = ["LONGEST", "NotAnExpression", "require_expression"]
