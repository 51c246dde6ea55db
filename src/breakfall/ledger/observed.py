"""What was observed: an answer or an exception becomes an `Outcome`, whole."""

from __future__ import annotations

from typing import Any

import msgspec

from breakfall.ledger.plain import plain
from breakfall.vocab import Applied, Effect, Failed, Ok, Outcome

_FIRST_ERROR = 400
_STATUSES = range(100, 600)


def answered(value: Any, *, status: int | None = None, effect: Effect | None = None) -> Outcome:
    """Return the outcome of a call that gave an answer.

    A status from 400 on is a failure, whatever stands in the body: a log that says ok over a 401 is wrong.

    Args:
        value: What was answered, parsed.
        status: HTTP status, where there was one.
        effect: What the call does to the world.
    """
    if status is not None and status >= _FIRST_ERROR:
        return Failed(message=f"HTTP {status}", status=status, body=_as_text(plain(value)), applied=in_doubt(effect))
    return Ok(value=plain(value), status=status)


def raised(error: BaseException, *, effect: Effect | None = None) -> Failed:
    """Return the outcome of a call that raised: class, message and HTTP status, read by attribute.

    Args:
        error: What was raised.
        effect: What the call does to the world.
    """
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = plain(str(error)) or kind.__name__
    return Failed(message=message, exception=name, status=_status(error), applied=in_doubt(effect))


def with_answer(failed: Failed, before: Outcome | None) -> Failed:
    """Keep what a call had answered before it failed."""
    if isinstance(before, Ok) and failed.body is None:
        return msgspec.structs.replace(failed, body=_as_text(before.value), status=failed.status or before.status)
    return failed


def in_doubt(effect: Effect | None) -> Applied:
    """Whether a failed call may have had its effect; of a call whose effect nobody named, that is assumed."""
    return Applied.NO if effect is Effect.READ else Applied.UNKNOWN


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that a client's exception carries."""
    holders = (error, getattr(error, "response", None))
    found = (getattr(holder, name, None) for holder in holders for name in ("status_code", "status", "code"))
    return next((status for status in found if type(status) is int and status in _STATUSES), None)
