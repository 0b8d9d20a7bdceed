"""When a cron expression is next due, in its time zone.

When clocks are put forward, what falls into the hour that is missing runs later by as much; when they are put back,
what falls into the hour that comes twice runs the first time only. Expressions that mean every hour go on by the real
time: nothing is missing, and the hour that comes twice counts twice.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterError

from penstock.dsl.cron import NotACron, require_cron
from penstock.engine.faults import configuration

_MOST_TRIES = 100
_A_MOMENT = timedelta(microseconds=1)
# Longer than clocks have ever been put forward at once in a zone that still has cron jobs.
_LONGEST_GAP = timedelta(hours=3)

Following = Callable[[datetime], datetime]
"""The first time on the clock after this one. Times on the clock have no zone here."""


def next_time(cron: str, zone: str, after: int) -> int:
    """The first time after this one, in microseconds since 1970."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise configuration("No such time zone", f"document.metadata.timezone is {zone[:100]!r}") from None
    begin = datetime.fromtimestamp(after // 1_000_000, UTC) + timedelta(microseconds=after % 1_000_000)
    try:
        fields = require_cron(cron)

        def following(clock: datetime) -> datetime:
            found: datetime = croniter(fields, clock).get_next(datetime)
            return found

        every_hour = fields.split()[1] == "*"
        found = (_by_real_time if every_hour else _by_the_clock)(following, begin, place)
    except (NotACron, CroniterError, ValueError, OverflowError):
        raise configuration("No such time", f"the cron expression {cron[:100]!r} is never due") from None
    return round(found.timestamp()) * 1_000_000


def _by_the_clock(following: Following, after: datetime, place: ZoneInfo) -> datetime:
    # What fell into a gap of the last hours may be still to come.
    clock = _clock(after, place) - max(
        _offset(after, place) - _offset(after - _LONGEST_GAP, place), timedelta(microseconds=0)
    )
    for _ in range(_MOST_TRIES):
        clock = following(clock)
        # Of two such times the first; in a gap, as if the clock had not been put forward.
        moment = clock.replace(tzinfo=place).astimezone(UTC)
        if moment > after:
            return moment
    raise OverflowError


def _by_real_time(following: Following, after: datetime, place: ZoneInfo) -> datetime:
    offset, begin = _offset(after, place), _clock(after, place)
    for _ in range(_MOST_TRIES):
        clock = following(begin)
        moment = clock.replace(tzinfo=UTC) - offset
        if _clock(moment, place) == clock:
            return moment
        # The clock is changed before: from there, it goes on as it then shows.
        change = _change(after, moment, place)
        after, offset = change, _offset(change, place)
        begin = _clock(change, place) - _A_MOMENT
    raise OverflowError


def _change(before: datetime, later: datetime, place: ZoneInfo) -> datetime:
    """The moment between them in which the clock is changed."""
    offset = _offset(before, place)
    while later - before > _A_MOMENT:
        middle = before + (later - before) / 2
        if _offset(middle, place) == offset:
            before = middle
        else:
            later = middle
    return later


def _clock(moment: datetime, place: ZoneInfo) -> datetime:
    return moment.astimezone(place).replace(tzinfo=None)


def _offset(moment: datetime, place: ZoneInfo) -> timedelta:
    return moment.astimezone(place).utcoffset() or timedelta()
