"""How grave a step is, derived from its four fields; no agent writes it and no line holds it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from breakfall.stats import Interval, wilson
from breakfall.vocab import Applied, Effect, Failed, Step, Uncertainty, VerificationStatus


class Severity(StrEnum):
    """What a step asks of whoever is on call."""

    INFO = "info"
    """Nothing."""
    WARNING = "warning"
    """A look: verified but uncertain, or a write that nobody verified."""
    ERROR = "error"
    """Block and escalate: verification failed."""


class Ruling(Struct, frozen=True):
    """A severity and the reason for it; the reason of `INFO` is empty."""

    severity: Severity
    reason: str = ""


_INFO = Ruling(Severity.INFO)
_UNCERTAIN = frozenset({Uncertainty.LOW, Uncertainty.HIGH})


def rule(step: Step) -> Ruling:
    """Derive how grave a step is, and why."""
    verification = step.verification
    status = verification.status
    if status is VerificationStatus.FAILED:
        looked = f" by {verification.method}" if verification.method else ""
        return Ruling(Severity.ERROR, f"verification failed{looked}")
    if status is VerificationStatus.PASSED and step.uncertainty_signal in _UNCERTAIN:
        return Ruling(Severity.WARNING, f"verified, but the model's uncertainty is {step.uncertainty_signal.value}")
    if status is VerificationStatus.NOT_DONE and _may_have_written(step):
        what = "write" if step.effect is not None else "step"
        return Ruling(Severity.WARNING, f"{what} that nobody verified")
    return _INFO


def severity(step: Step) -> Severity:
    """Derive how grave a step is."""
    return rule(step).severity


def _may_have_written(step: Step) -> bool:
    """Whether the step may have changed something; of a step whose effect nobody named, that is assumed."""
    if step.effect is Effect.READ:
        return False
    outcome = step.observed_outcome
    return outcome.applied is not Applied.NO if isinstance(outcome, Failed) else not outcome.replayed


class SeverityTally(Struct, frozen=True, kw_only=True):
    """How many steps of each severity; two tallies of different steps add up."""

    info: int = 0
    warning: int = 0
    error: int = 0
    incomplete: int = 0
    """Of all of them, those that an import accepted without all four fields."""

    @property
    def steps(self) -> int:
        """All steps."""
        return self.info + self.warning + self.error

    def rate(self, severity: Severity) -> float | None:
        """Return the share of steps of a severity; None if there are no steps."""
        return self._count(severity) / self.steps if self.steps else None

    def interval(self, severity: Severity) -> Interval | None:
        """Return the 95 % interval of that share; None if there are no steps."""
        return wilson(self._count(severity), self.steps) if self.steps else None

    def __add__(self, other: SeverityTally) -> SeverityTally:
        return SeverityTally(
            info=self.info + other.info,
            warning=self.warning + other.warning,
            error=self.error + other.error,
            incomplete=self.incomplete + other.incomplete,
        )

    def _count(self, severity: Severity) -> int:
        return {Severity.INFO: self.info, Severity.WARNING: self.warning, Severity.ERROR: self.error}[severity]


def tally(steps: Iterable[Step]) -> SeverityTally:
    """Count steps by severity."""
    counts = dict.fromkeys(Severity, 0)
    incomplete = 0
    for step in steps:
        counts[severity(step)] += 1
        incomplete += bool(step.incomplete)
    return SeverityTally(
        info=counts[Severity.INFO],
        warning=counts[Severity.WARNING],
        error=counts[Severity.ERROR],
        incomplete=incomplete,
    )
