"""A workflow's secrets, while it runs: found by name, and masked wherever they would be shown."""

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.engine.faults import authorization

MASK = "********"
_SHORTEST = 4  # a secret of three characters would mask half of every text


class Secrets:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name: _parsed(text) for name, text in values.items()}
        texts: set[str] = set()
        for name, text in values.items():
            texts.update(_texts(self._values[name]))
            texts.add(text)
        # The longest first: one secret may be a part of another.
        self._shown = sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True)

    def as_variable(self) -> Mapping[str, Any]:
        """`$secrets`."""
        return self._values

    def get(self, name: str) -> Any:
        """A secret that an authentication names; what is a JSON text is its value."""
        try:
            return self._values[name]
        except KeyError:
            raise authorization(
                "Secret not available", f"the project has no secret {name!r}; an editor can set it"
            ) from None

    def mask_text(self, text: str) -> str:
        for secret in self._shown:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def mask(self, data: Any) -> Any:
        """The same data; a copy only where something had to be masked."""
        if not self._shown:
            return data
        return self._mask(data)

    def _mask(self, data: Any) -> Any:
        match data:
            case str():
                return self.mask_text(data)
            case dict():
                masked = {self.mask_text(key): self._mask(value) for key, value in data.items()}
                same = all(masked.get(key, MASK) is value for key, value in data.items())
                return data if same and len(masked) == len(data) else masked
            case list():
                items = [self._mask(item) for item in data]
                return data if all(new is old for new, old in zip(items, data, strict=True)) else items
            case _:
                return data


def _parsed(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    # A number or a word such as `true` stays the text that somebody typed.
    return value if isinstance(value, dict | list) else text


def _texts(value: Any) -> set[str]:
    match value:
        case str():
            return {value}
        case dict():
            return {text for item in value.values() for text in _texts(item)}
        case list():
            return {text for item in value for text in _texts(item)}
        case _:
            return set()
