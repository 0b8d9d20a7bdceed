"""When a cron expression is next due, in its time zone.

When clocks are put forward, what falls into the hour that is missing runs later by as much; when they are put back,
what falls into the hour that comes twice runs the first time only. Expressions that mean every hour go on by the real
time.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterError

from penstock.engine.faults import configuration

_MOST_TRIES = 100


def next_time(cron: str, zone: str, after: int) -> int:
    """The first time after this one, in microseconds since 1970."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise configuration("No such time zone", f"document.metadata.timezone is {zone[:100]!r}") from None
    local = datetime.fromtimestamp(after / 1_000_000, UTC).astimezone(place)
    offset = local.utcoffset() if _every_hour(cron) else None
    try:
        times = croniter(cron, local.replace(tzinfo=None))
        for _ in range(_MOST_TRIES):
            moment = _moment(times.get_next(datetime), place, offset)
            if moment > after:
                return moment
    except (CroniterError, ValueError, OverflowError):
        pass
    raise configuration("No such time", f"the cron expression {cron[:100]!r} is never due")


def _every_hour(cron: str) -> bool:
    fields = cron.split()
    return len(fields) >= 5 and fields[1] == "*"


def _moment(naive: datetime, place: ZoneInfo, offset: timedelta | None) -> int:
    local = naive.replace(tzinfo=UTC) - offset if offset is not None else naive.replace(tzinfo=place)
    return round(local.timestamp() * 1_000_000)
