"""When cron expressions are due: over clock changes, leap days, and in words."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from penstock.engine.embedded.calendar import next_time
from penstock.engine.faults import Fault


def _runs(cron: str, zone: str, after: str, many: int) -> list[str]:
    """The next runs, as a clock there shows them, each with its offset."""
    place, runs = ZoneInfo(zone), []
    at = round(datetime.fromisoformat(after).replace(tzinfo=place).timestamp()) * 1_000_000
    for _ in range(many):
        at = next_time(cron, zone, at)
        shown = datetime.fromtimestamp(at / 1_000_000, place)
        assert shown.utcoffset() is not None
        runs.append(shown.isoformat(timespec="minutes").removeprefix(after[:8]))
    return runs


@pytest.mark.parametrize(
    ("cron", "zone", "after", "runs"),
    [
        # Put forward: what falls into the gap runs later by as much, once, and the day after as ever.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["29T03:30+02:00", "30T02:30+02:00"]),
        ("15,30 2 * * *", "Europe/Berlin", "2026-03-29T01:00", ["29T03:15+02:00", "29T03:30+02:00", "30T02:15+02:00"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00", ["29T03:00+02:00", "30T02:00+02:00"]),
        ("30 2 * * *", "America/New_York", "2026-03-07T12:00", ["08T03:30-04:00", "09T02:30-04:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["04T02:45+11:00", "05T02:15+11:00"]),
        # Put back: the first of the two only.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["25T02:30+02:00", "26T02:30+01:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00", ["11-01T01:30-04:00", "11-02T01:30-05:00"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", ["05T01:45+11:00", "06T01:45+10:30"]),
        # Every hour: nothing is missing, and the hour that comes twice counts twice.
        ("0 * * * *", "Europe/Berlin", "2026-03-29T01:00", ["29T03:00+02:00", "29T04:00+02:00"]),
        ("@hourly", "Europe/Berlin", "2026-10-25T01:00", ["25T02:00+02:00", "25T02:00+01:00", "25T03:00+01:00"]),
        ("*/30 * * * *", "America/New_York", "2026-11-01T01:00", ["01T01:30-04:00", "01T01:00-05:00"]),
        ("45 * * * *", "Australia/Lord_Howe", "2026-04-05T01:00", ["05T01:45+11:00", "05T01:45+10:30"]),
        # Every hour of a day half a year away: midnight there, by the clock of that day.
        ("0 * 25 12 *", "Europe/Berlin", "2026-07-01T00:00", ["2026-12-25T00:00+01:00", "2026-12-25T01:00+01:00"]),
        # Midnight is sometimes what is missing.
        ("@daily", "Africa/Cairo", "2026-04-23T12:00", ["24T01:00+03:00", "25T00:00+03:00"]),
        (" @Daily ", "UTC", "2026-02-27T12:00", ["28T00:00+00:00", "2026-03-01T00:00+00:00"]),
        ("0 12 29 2 *", "UTC", "2026-02-01T00:00", ["2028-02-29T12:00+00:00", "2032-02-29T12:00+00:00"]),
        ("0 9 * * MON-FRI", "Asia/Tokyo", "2026-01-02T10:00", ["05T09:00+09:00", "06T09:00+09:00"]),
    ],
)
def test_what_the_clock_shows_when_it_is_due(cron: str, zone: str, after: str, runs: list[str]) -> None:
    found = _runs(cron, zone, after, len(runs))
    assert all(each.endswith(wanted) for each, wanted in zip(found, runs, strict=True)), found


def test_a_time_between_two_seconds_is_not_due_again() -> None:
    at = round(datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")).timestamp()) * 1_000_000
    minute = timedelta(minutes=1) // timedelta(microseconds=1)
    assert next_time("* * * * *", "UTC", at - 1) == at
    assert next_time("* * * * *", "UTC", at) == at + minute
    assert next_time("* * * * *", "UTC", at + 1) == at + minute


@pytest.mark.parametrize(("cron", "zone"), [("0 0 30 2 *", "UTC"), ("whenever", "UTC"), ("@daily", "Mars/Olympus")])
def test_what_is_never_due_is_a_fault_of_the_definition(cron: str, zone: str) -> None:
    with pytest.raises(Fault) as raised:
        next_time(cron, zone, 0)
    assert raised.value.error.type.endswith("/configuration")
