"""How long a server asks to wait: Retry-After in seconds or as a date, and the headers that stand in for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from breakfall.recovery.statuses import header

_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms")
_RESETS = ("ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset")
_AN_EPOCH = 1e9
"""A reset above this is a time since 1970, below it a number of seconds."""


def retry_after_s(headers: Mapping[str, str], *, status: int | None = None, now_s: float | None = None) -> float | None:
    """Return how many seconds the server asks to wait, or None if it does not say.

    A date is measured from the server's own `Date` where it sent one, so that clocks need not agree.

    Args:
        headers: The response's headers.
        status: The HTTP status; rate-limit resets count with 429 alone, since others send them with every answer.
        now_s: The time since 1970, for a date without a `Date`.
    """
    if not headers:
        return None
    for name in _MILLISECONDS:
        wait = _number(header(headers, name))
        if wait is not None:
            return max(wait / 1000.0, 0.0)
    date = _date_s(header(headers, "date"))
    now_s = now_s if date is None else date
    told = header(headers, "retry-after")
    wait = _number(told)
    if wait is not None:
        return max(wait, 0.0)
    until = _date_s(told)
    if until is None and status == 429:
        until = next((reset for name in _RESETS if (reset := _number(header(headers, name))) is not None), None)
        if until is not None and until < _AN_EPOCH:
            return max(until, 0.0)
    return None if until is None or now_s is None else max(until - now_s, 0.0)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date_s(text: str) -> float | None:
    """Read an HTTP date as seconds since 1970."""
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (date if date.tzinfo is not None else datetime.combine(date.date(), date.time(), UTC)).timestamp()
