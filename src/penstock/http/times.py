"""Times as the API shows them."""

from datetime import UTC, datetime


def rfc3339(micros: int) -> str:
    """Stored microseconds as RFC 3339, UTC, `Z`."""
    return datetime.fromtimestamp(micros / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
