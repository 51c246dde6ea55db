"""What a guarded function raises when recovery gave its call up."""

from __future__ import annotations

from typing import Any

from breakfall.errors import BreakfallError
from breakfall.runtime.run import Opening, Run
from breakfall.vocab import Failed, Handoff


class CallStopped(BreakfallError):
    """A guarded function failed and recovery gave it up; `__cause__` is what the function raised last.

    Attributes:
        outcome: How the call ended; `outcome.applied` says whether a write may have happened.
        handoff: The packet for a person.
    """

    def __init__(self, message: str, outcome: Failed, handoff: Handoff) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.handoff = handoff

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep it picklable."""
        return type(self), (str(self), self.outcome, self.handoff)


def raised(run: Run, opening: Opening, failed: Failed) -> Any:
    """Raise what the function raised of itself, or `CallStopped`."""
    cause = run.errors.pop(opening.call.id, None)
    if failed.native and cause is not None:
        raise cause
    reason = run.state.stops.pop(opening.call.id, failed.message)
    raise CallStopped(reason, failed, run.handoff(reason)) from cause
