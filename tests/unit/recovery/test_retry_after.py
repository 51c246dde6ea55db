"""retry_after_s reads how long a server asks to wait."""

import pytest

from breakfall.recovery.retry_after import retry_after_s

NOON = "Mon, 30 Nov 2026 12:00:00 GMT"
LATER = "Mon, 30 Nov 2026 12:01:30 GMT"
NOON_S = 1_796_040_000.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": LATER, "Date": NOON}, 90.0),
        ({"Retry-After": NOON, "Date": LATER}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
    ],
)
def test_what_headers_say(headers: dict[str, str], expected: float | None) -> None:
    """Seconds, milliseconds and dates are read whatever the header's case; what is no number says nothing."""
    assert retry_after_s(headers, now_s=0.0) == expected


def test_a_date_needs_a_now() -> None:
    """A date is measured from the server's own clock, else from the caller's, else it says nothing."""
    assert retry_after_s({"Retry-After": LATER}) is None
    assert retry_after_s({"Retry-After": LATER}, now_s=NOON_S) == 90.0
    assert retry_after_s({"Retry-After": LATER, "Date": NOON}, now_s=0.0) == 90.0


def test_resets_count_for_429_alone() -> None:
    """The time at which a quota starts anew is a wait only where the quota was the reason."""
    seconds, epoch = {"X-RateLimit-Reset": "30"}, {"X-RateLimit-Reset": str(NOON_S + 12)}
    assert retry_after_s(seconds, status=429) == 30.0
    assert retry_after_s(epoch, status=429, now_s=NOON_S) == 12.0
    assert retry_after_s(seconds, status=403) is None
    assert retry_after_s({"Retry-After": "5", **seconds}, status=429) == 5.0
