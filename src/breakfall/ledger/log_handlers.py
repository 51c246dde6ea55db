"""Steps from log calls: a `logging.Handler` and a structlog processor.

A log call is a step if it carries at least one of the four fields that a step needs, and then it must carry all four:

    log.info("refunded", extra={"tool": "refund", "expected_outcome": "the refund", "observed_outcome": answer, ...})

The names of the fields are those of `breakfall.ledger.draft.Draft`. Other log calls are no steps and pass by. The log
level says nothing: severity is derived from the step.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

from breakfall.errors import BreakfallError, UsageError
from breakfall.ledger.capture import Capture
from breakfall.ledger.draft import FIELDS, REQUIRED, read
from breakfall.ledger.observed import raised
from breakfall.ledger.plain import plain
from breakfall.vocab import Effect, Failed, Ok

_AS_THEY_ARE = (Ok, Failed)


def fields_of(said: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of the step that a log call reports; None if it reports none.

    Args:
        said: What the log call carries, whatever it is.
        defaults: Fields for what it leaves out, once it is a step.
    """
    if not any(name in said for name in REQUIRED):
        return None
    found = {name: said[name] for name in FIELDS if name in said}
    fields: dict[str, Any] = {
        name: value if isinstance(value, _AS_THEY_ARE) else plain(value)
        for name, value in {**defaults, **found}.items()
    }
    error = _exception(said.get("exc_info"))
    if error is not None and "observed_outcome" not in fields:
        effect = Effect(fields["effect"]) if fields.get("effect") in set(Effect) else None
        fields["observed_outcome"] = raised(error, effect=effect)
    return fields


class StepHandler(logging.Handler):
    """Makes Steps of the log records that report one.

    A record that lacks a required field is refused as `logging` does it: the error, which names the field, goes to
    standard error, the program goes on, and `refused` counts it.

    Args:
        capture: What numbers the Steps and hands them to their sink.
        defaults: Fields for what a record leaves out, such as ``{"uncertainty_signal": "missing"}``.
    """

    def __init__(self, capture: Capture, *, defaults: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.refused = 0
        self._capture = capture
        self._defaults = dict(defaults or {})

    def emit(self, record: logging.LogRecord) -> None:
        """Make a Step of a record that reports one."""
        try:
            fields = fields_of(record.__dict__, self._defaults)
            if fields is not None:
                self._capture.record(read(fields), unix_s=record.created)
        except UsageError:
            self.refused += 1
            self.handleError(record)
        except BreakfallError:
            self.handleError(record)


class StepProcessor:
    """A structlog processor that makes Steps of the events that report one, and passes every event on unchanged.

    Put it before processors that format exceptions. It needs nothing of structlog.

    Args:
        capture: What numbers the Steps and hands them to their sink.
        defaults: Fields for what an event leaves out.
    """

    def __init__(self, capture: Capture, *, defaults: Mapping[str, Any] | None = None) -> None:
        self._capture = capture
        self._defaults = dict(defaults or {})

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Make a Step of an event that reports one.

        Raises:
            UsageError: The event lacks a required field, which the message names.
        """
        del logger, method
        fields = fields_of(event, self._defaults)
        if fields is not None:
            self._capture.record(read(fields))
        return event


def _exception(info: Any) -> BaseException | None:
    """Return the exception that `exc_info` stands for, in each of its forms."""
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple) and len(info) > 1 and isinstance(info[1], BaseException):
        return info[1]
    return sys.exception() if info is True else None
