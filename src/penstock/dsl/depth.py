"""How deeply data may be nested: whoever walks through it goes a level deeper with each, and stacks end."""

from typing import Any

DEEPEST = 200


def too_deep(data: Any, text: str | bytes) -> bool:
    """Whether the data, whose JSON the text is, is nested more deeply than it may be."""
    opened = (text.count(b"[") + text.count(b"{")) if isinstance(text, bytes) else (text.count("[") + text.count("{"))
    if opened <= DEEPEST:
        return False
    level = [data]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, list | dict)]
        if not level:
            return False
    return True


def _inside(outer: Any) -> Any:
    return outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
