"""Cron expressions: five fields, or a word for the usual ones. When they come next is the scheduler's."""

import re
from datetime import UTC, datetime

from croniter import CroniterBadDateError, CroniterError, croniter

WORDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST = 200
# croniter also takes seconds, years, and fields that it fills by chance.
_FIELD = re.compile(r"[0-9A-Za-z*,/#?-]+", re.ASCII)
_CHANCE = re.compile(r"(^|[\s,])[rRhH]([(/,\s]|$)")
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


class NotACron(Exception):
    """The message says what was expected."""


def require_cron(text: str) -> str:
    """The five fields of a cron expression. Raises `NotACron` when it is none, or never comes true."""
    fields = WORDS.get(text.strip().lower(), text).split()
    if len(fields) != 5 or len(text) > _LONGEST:
        raise NotACron(
            "expected five fields (minute hour day month weekday) such as 0 9 * * MON-FRI, or one of "
            + ", ".join(sorted(WORDS))
        )
    plain = " ".join(fields)
    if not all(_FIELD.fullmatch(field) for field in fields) or _CHANCE.search(plain):
        raise NotACron(f"{text!r} is not a cron expression: only numbers, names, and * , - / # L are known")
    try:
        croniter(plain, _SOME_DAY).get_next(datetime)
    except CroniterBadDateError as error:
        raise NotACron(f"{text!r} never comes true: there is no such day") from error
    except (CroniterError, ValueError, KeyError) as error:
        raise NotACron(f"{text!r} is not a cron expression: {str(error)[:150]}") from error
    return plain
