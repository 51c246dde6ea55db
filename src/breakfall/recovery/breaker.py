"""What a task has learned of its paths: a circuit breaker per tool."""

from __future__ import annotations

from breakfall.vocab import Failed, FaultKind

PERSISTENT = frozenset({FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT})
"""Kinds that a plain repeat cannot mend: one is enough to open the breaker."""


class Breaker:
    """Counts one tool's failures in a row; open means known shut, until `cooldown_s` has passed."""

    __slots__ = ("failures", "last_failure_s", "persistent", "successes")

    def __init__(self) -> None:
        self.failures = 0
        self.successes = 0
        self.persistent = False
        self.last_failure_s = 0.0

    def succeeded(self) -> None:
        """Note a call that the tool answered, with a value or a refusal of its own."""
        self.successes += 1
        self.failures = 0
        self.persistent = False

    def failed(self, failed: Failed, now_s: float) -> None:
        """Note a failed call."""
        self.failures += 1
        self.persistent = failed.kind in PERSISTENT
        self.last_failure_s = now_s

    def renewed(self) -> None:
        """Note that what was refused has changed, the credentials or the call: it may be tried again."""
        self.failures = 0
        self.persistent = False

    def open(self, now_s: float, *, threshold: int, cooldown_s: float) -> bool:
        """Whether the path is known shut; after the cool-down one call may try it again (half-open)."""
        shut = self.failures >= threshold or (self.persistent and not self.successes)
        return shut and now_s - self.last_failure_s < cooldown_s
