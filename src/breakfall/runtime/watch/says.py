"""What a value says of itself: whether it is an error, although the call came back."""

from __future__ import annotations

from typing import Any

from breakfall.recovery import bodies, signs

_SHORT = 300
"""A longer text is data, and may speak of errors."""


def says_error(value: Any) -> str | None:
    """Return what shows that a value is an error, or None if it is a value; in doubt it is a value."""
    if not isinstance(value, str):
        return bodies.error_in(value)
    read = bodies.parsed(value)
    if read is not None:
        return bodies.error_in(read)
    if bodies.is_page(value):
        return "a login page" if signs.LOGIN_PAGE.search(value[:20_000].lower()) else None
    status = signs.status_in(value.lower()) if len(value) <= _SHORT else None
    return None if status is None else f"the text of HTTP {status}"
