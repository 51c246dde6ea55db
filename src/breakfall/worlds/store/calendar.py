"""The store's calendar: seconds of an episode's clock as ISO timestamps, which compare as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)
"""What the clock's second 0 is in the store."""

DAY_S = 86_400
CACHE_AGE_S = 60
"""How far a stale copy's timestamp lies before the change that it does not show."""


@lru_cache(maxsize=16_384)
def _second(whole: int) -> str:
    return (EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S")


def stamp(seconds: float) -> str:
    """Return the timestamp of a clock's reading, in milliseconds; later readings never sort before earlier ones."""
    whole, milli = divmod(round(seconds * 1000), 1000)
    return f"{_second(whole)}.{milli:03d}Z"


def day(offset: int) -> str:
    """Return the date that lies `offset` days after the epoch's."""
    return _second(offset * DAY_S)[:10]


def day_end(offset: int) -> str:
    """Return the last millisecond of the day that lies `offset` days after the epoch's."""
    return f"{day(offset)}T23:59:59.999Z"
