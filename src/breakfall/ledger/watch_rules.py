"""What a step's own record says against its claim: ok over what is none, and verifications without evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from breakfall.ledger.expected import METHOD, holds
from breakfall.ledger.partial import partial_read, partial_write
from breakfall.ledger.verdict import Judgement, Rule
from breakfall.vocab import Applied, Effect, Expected, Failed, Ok, Step, VerificationStatus

SaysError: TypeAlias = Callable[[Any], str | None]
"""What shows that a value is an error although the call came back, or None: `recovery.bodies` knows."""

_FIRST_ERROR = 400
_BODY_EXPECTED = (200, 201, 203, 206)


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule found."""

    judgement: Judgement
    rule: Rule
    why: str
    steps: tuple[int, ...] = ()
    """`Step.n` of the evidence."""


def reads(step: Step) -> bool:
    """Whether a step only reads, as far as it says."""
    if step.effect is None:
        return step.verification.status is VerificationStatus.NOT_APPLICABLE
    return step.effect is Effect.READ


def claims_effect(step: Step) -> bool:
    """Whether a step says that it changed something."""
    outcome = step.observed_outcome
    if step.purpose or reads(step):
        return False
    return outcome.applied is Applied.YES if isinstance(outcome, Failed) else not outcome.replayed


def claims_verification(step: Step) -> bool:
    """Whether a step says that somebody looked and it was good."""
    return step.verification.status is VerificationStatus.PASSED


def against_itself(step: Step, says_error: SaysError) -> Finding | None:
    """Hold a step that says ok against what came back; None where nothing speaks against it."""
    outcome = step.observed_outcome
    if not isinstance(outcome, Ok) or outcome.replayed:
        return None
    if outcome.status is not None and outcome.status >= _FIRST_ERROR:
        return _contradicted(step, Rule.STATUS, f"it says ok over HTTP {outcome.status}")
    error = says_error(outcome.value)
    if error is not None:
        over = f"HTTP {outcome.status}: " if outcome.status is not None else ""
        return _contradicted(step, Rule.ERROR_BODY, f"it says ok over {over}{error}")
    return _empty(step, outcome) or _partial(step, outcome) or _unexpected(step, outcome)


def _contradicted(step: Step, rule: Rule, why: str) -> Finding:
    return Finding(judgement=Judgement.CONTRADICTED, rule=rule, why=why, steps=(step.n,))


def _empty(step: Step, outcome: Ok) -> Finding | None:
    """Find an answer that is none. A write may answer with nothing; then nobody can tell what it did."""
    empty = outcome.value is None or (isinstance(outcome.value, str) and not outcome.value.strip())
    if step.size_bytes == 0 and not empty:
        return _contradicted(step, Rule.EMPTY_BODY, "it shows a value, and the answer had 0 bytes")
    if not empty or outcome.status not in _BODY_EXPECTED or step.arguments.get("method") == "HEAD":
        return None
    why = f"it says ok over HTTP {outcome.status} with an empty body"
    expected = step.expected_outcome
    shown = isinstance(expected, Expected) and bool(expected.predicate)
    if reads(step) or shown:
        return _contradicted(step, Rule.EMPTY_BODY, why)
    return Finding(judgement=Judgement.UNVERIFIABLE, rule=Rule.EMPTY_BODY, why=why, steps=(step.n,))


def _partial(step: Step, outcome: Ok) -> Finding | None:
    """Find success that was made of a part: a write that did not do all, a check that did not see all."""
    if not reads(step):
        found = partial_write(outcome.value, step.arguments)
        return None if found is None else _contradicted(step, Rule.PARTIAL, f"it says ok, and {found}")
    found = partial_read(outcome.value, outcome.status) if claims_verification(step) else None
    return None if found is None else _contradicted(step, Rule.PARTIAL, f"it says verified, and {found}")


def _unexpected(step: Step, outcome: Ok) -> Finding | None:
    expected = step.expected_outcome
    if not isinstance(expected, Expected) or step.verification.status is VerificationStatus.FAILED:
        return None
    broken = [str(one) for one in expected.predicate if not holds(one, outcome.value)]
    return _contradicted(step, Rule.PREDICATE, f"not so: {' and '.join(broken)}") if broken else None


def against_evidence(step: Step, evidence: Step | None) -> Finding | None:
    """Hold a step that says that it was verified against the step that it names as evidence.

    Args:
        step: The step.
        evidence: What stands at `verification.evidence`; None where nothing does.
    """
    why = _no_evidence(step, evidence)
    if why is None:
        return None
    named = (evidence.n,) if evidence is not None else ()
    return Finding(judgement=Judgement.FABRICATED_VERIFICATION, rule=Rule.EVIDENCE, why=why, steps=named)


def _no_evidence(step: Step, evidence: Step | None) -> str | None:
    """Say why a claimed verification has no evidence, or None."""
    named = step.verification.evidence
    if named is None:
        if step.verification.method.startswith(METHOD) and _speaks_for_itself(step):
            return None
        return "it says verified, and names no call that looked"
    if evidence is None:
        return f"it says verified by step {named}, and there is no such step"
    if named == step.n:
        return "it says verified by itself"
    outcome = evidence.observed_outcome
    if isinstance(outcome, Failed) and not _tells(outcome):
        return f"it says verified by step {named}, and that call failed: {outcome.message}"
    if isinstance(outcome, Ok) and outcome.replayed:
        return f"it says verified by step {named}, and that call was answered from memory: nothing looked"
    if evidence.effect not in (None, Effect.READ):
        return f"it says verified by step {named}, and that was a {evidence.effect.value}, not a look"
    if not reads(step) and evidence.at_s < step.at_s and evidence.n < step.n:
        return f"it says verified by step {named}, and that looked before the write"
    if _about_another(step, evidence):
        return f"it says verified by step {named}, and that looked at something else"
    return None


def _speaks_for_itself(step: Step) -> bool:
    """Whether what a read brought back is the evidence: there are predicates, and they hold."""
    expected, outcome = step.expected_outcome, step.observed_outcome
    if not isinstance(expected, Expected) or not isinstance(outcome, Ok) or not reads(step):
        return False
    return bool(expected.predicate) and all(holds(one, outcome.value) for one in expected.predicate)


def _tells(outcome: Failed) -> bool:
    """Whether a failed look-up tells something all the same: that there is nothing."""
    if outcome.kind is not None:
        return False
    return outcome.status is None or outcome.status in (404, 410) or outcome.native


def _about_another(step: Step, evidence: Step) -> bool:
    """Whether the look-up was for another thing: an argument of the same name with another value, and none in common.

    In doubt it was not: a look-up may name what the write made, or list what is left after a removal.
    """
    theirs = {name: value for name, value in evidence.arguments.items() if _names(value)}
    differ = any(name in step.arguments and step.arguments[name] != value for name, value in theirs.items())
    if not differ:
        return False
    known = _texts([step.arguments, getattr(step.observed_outcome, "value", None), _target(step)])
    return not any(str(value) in text for value in theirs.values() for text in known)


def _names(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _target(step: Step) -> str:
    return step.expected_outcome.target if isinstance(step.expected_outcome, Expected) else ""


def _texts(value: Any) -> set[str]:
    """Return every text and number in a JSON value."""
    if isinstance(value, dict):
        return _texts(list(value.values()))
    if isinstance(value, list):
        return {text for item in value for text in _texts(item)}
    return {str(value)} if _names(value) else set()
