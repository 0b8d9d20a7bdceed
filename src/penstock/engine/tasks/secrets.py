"""A workflow's secrets, while it runs: found by name, and masked wherever they would be shown."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.engine.faults import authorization

MASK = "********"
_SHORTEST = 4  # a secret of three characters would mask half of every text


class Secrets:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name: _parsed(text) for name, text in values.items()}
        self._shown: list[str] = []
        self._learned: set[str] = set()
        for name, text in values.items():
            self.learn(text, *_texts(self._values[name]))

    def learn(self, *texts: str) -> None:
        """What else must not be shown: a token that was fetched with a secret, or what others hide."""
        new = set(texts) - self._learned
        if new:
            self._learned |= new
            shown = {form for text in new for form in _forms(text) if len(form) >= _SHORTEST}
            # The longest first: one secret may be a part of another.
            self._shown = sorted(shown.union(self._shown), key=len, reverse=True)

    @property
    def hides(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._shown)

    @property
    def learned(self) -> frozenset[str]:
        return frozenset(self._learned)

    def found_in(self, text: str) -> list[str]:
        """What of all this stands in a text, in one form or another, for somebody else to hide."""
        return sorted(
            each for each in self._learned if any(form in text for form in _forms(each) if len(form) >= _SHORTEST)
        )

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
        try:
            return self._mask(data)
        except RecursionError:
            return MASK  # nested too deeply to look for secrets in it

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


def _forms(text: str) -> Iterable[str]:
    """As it is; each of its lines, which a script may print one by one; and as JSON and addresses write it."""
    yield text
    yield from (line.strip() for line in text.splitlines())
    yield msgspec.json.encode(text).decode()[1:-1]
    yield quote(text, safe="")


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
