"""Whose turn it is where more waits than workers can do: each workflow has its own, however much of one waits."""

from temporalio.common import Priority


def turn_of(whose: str | None) -> Priority:
    """For all that it does, unless somebody else's is said. A cluster that has not been told to be fair
    (docs/operate.md) takes no notice."""
    return Priority(fairness_key=whose)
