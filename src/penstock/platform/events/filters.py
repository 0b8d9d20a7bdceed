"""What a list or a stream of entries can be narrowed to; one reading of the query for both."""

from typing import Any

import msgspec

from penstock.http.bodies import Form
from penstock.ids import is_uuid
from penstock.platform.paging import period
from penstock.platform.texts import invalid
from penstock.streams import LEVELS, Entry, Event, LogEntry

EVENT_FILTERS = ("type", "execution_id", "since", "until")
LOG_FILTERS = ("level", "module", "execution_id", "since", "until", "q")
_LONGEST = 255


class Filters(msgspec.Struct, frozen=True):
    """The filters that were given, by name, as the database compares them."""

    values: dict[str, Any]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.values)

    def params(self) -> dict[str, Any]:
        values = dict(self.values)
        if "q" in values:
            values["q"] = like(values["q"].lower())
        return values

    def matches(self, entry: Entry) -> bool:
        """The same as the database would say."""
        values, shown = self.values, entry.shown
        if not values:
            return True
        return (
            ("execution_id" not in values or shown.execution_id == values["execution_id"])
            and ("since" not in values or entry.created_at >= values["since"])
            and ("until" not in values or entry.created_at < values["until"])
            and (_matches_log(shown, entry.level, values) if isinstance(shown, LogEntry) else _matches(shown, values))
        )


def _matches(event: Event, values: dict[str, Any]) -> bool:
    if "type" not in values:
        return True
    # All that begin so: a stream's list of types need not be known beforehand.
    wanted: str = values["type"]
    return event.type.startswith(wanted[:-1]) if wanted.endswith("*") else event.type == wanted


def _matches_log(entry: LogEntry, level: int, values: dict[str, Any]) -> bool:
    return (
        ("level" not in values or level >= values["level"])
        and ("module" not in values or entry.module_name == values["module"])
        and ("q" not in values or values["q"].lower() in entry.message.lower())
    )


def like(text: str) -> str:
    """A pattern that finds the text anywhere, its own % and _ being nothing special."""
    for character in ("\\", "%", "_"):
        text = text.replace(character, "\\" + character)
    return f"%{text}%"


def filters_from(query: Form, known: tuple[str, ...]) -> Filters:
    values: dict[str, Any] = {}
    bounds = period(query)
    for name in known:
        text = query.get(name)
        if text is None:
            continue
        match name:
            case "since" | "until":
                values[name] = bounds[name]
            case "level":
                if text not in LEVELS:
                    raise invalid(name, f"expected one of {', '.join(LEVELS)}")
                values[name] = LEVELS.index(text)
            case "execution_id":
                if not is_uuid(text):
                    raise invalid(name, "expected a UUID")
                values[name] = text.lower()
            case _:
                if not 0 < len(text) <= _LONGEST:
                    raise invalid(name, f"expected 1 to {_LONGEST} characters")
                values[name] = text
    return Filters(values)
