"""jq expressions of a workflow. Pure: what they may be and what they mean; what needs jq itself is the engine's."""

from penstock.dsl.expressions.allowed import LONGEST, require_expression
from penstock.dsl.expressions.embedded import Text, embedded
from penstock.dsl.expressions.failures import ExpressionFailed, NeedsJq, NotAnExpression
from penstock.dsl.expressions.program import Program, program

__all__ = [
    "LONGEST",
    "ExpressionFailed",
    "NeedsJq",
    "NotAnExpression",
    "Program",
    "Text",
    "embedded",
    "program",
    "require_expression",
]
