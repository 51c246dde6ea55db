"""Holding what was observed against what was expected."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from breakfall.vocab import Effect, Expected, Ok, Outcome, Predicate, Verification, VerificationStatus
from breakfall.vocab import pointer as pointers

METHOD = "predicate"

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda found, wanted: found in wanted,
    "not in": lambda found, wanted: found not in wanted,
    "contains": lambda found, wanted: wanted in found,
}


def holds(predicate: Predicate, value: Any) -> bool:
    """Whether a predicate holds of an observed value; of something that is not there, or of another type, none does."""
    try:
        found = pointers.get(value, pointers.parse(predicate.at))
    except LookupError:
        return False
    if predicate.is_ == "exists":
        return True
    try:
        return bool(_COMPARE[predicate.is_](found, predicate.value))
    except TypeError:
        return False


def judge(expected: str | Expected, outcome: Outcome, effect: Effect | None) -> Verification:
    """Say as much of a step's verification as its own answer tells.

    An answer that breaks a predicate fails. One that meets them passes only for a read: what a write answers is a
    claim, and no evidence for itself. A call that failed claims nothing.
    """
    predicates = expected.predicate if isinstance(expected, Expected) else ()
    reads = effect is Effect.READ
    if predicates and isinstance(outcome, Ok):
        broken = [predicate for predicate in predicates if not holds(predicate, outcome.value)]
        if broken:
            return Verification(
                status=VerificationStatus.FAILED, method=f"{METHOD}: {' and '.join(map(str, broken))}", by="runtime"
            )
        if reads:
            return Verification(status=VerificationStatus.PASSED, method=METHOD, by="runtime")
    return Verification(status=VerificationStatus.NOT_APPLICABLE if reads else VerificationStatus.NOT_DONE)
