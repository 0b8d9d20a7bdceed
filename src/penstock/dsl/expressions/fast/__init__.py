"""The part of jq that most workflows write, as Python closures: exactly jq's answers, or none (`NeedsJq`).

What it can cost is bounded, since it runs where everything waits: no recursion and no counting loops in the language,
a budget for what iterates, and a bound for what results. Numbers whose text or comparison depends on more than a double
holds are left to jq, and so are errors, for the sake of jq's own words.
"""

from penstock.dsl.expressions.fast.entry import compiled

__all__ = ["compiled"]
