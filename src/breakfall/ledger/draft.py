"""Drafts: the fields of a step as a log call or another program's export gives them, and the Step they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from breakfall.errors import UsageError
from breakfall.ledger.observed import answered, in_doubt
from breakfall.ledger.uncertainty import parse
from breakfall.vocab import (
    Applied,
    Cost,
    Effect,
    Expected,
    Failed,
    FaultKind,
    Ok,
    Outcome,
    Response,
    Step,
    Uncertainty,
    Verification,
    VerificationStatus,
)

REQUIRED = {
    "expected_outcome": "say what the step was for",
    "observed_outcome": "give what the tool answered, or `error`, `exception` or `status` of a failure",
    "verification": "say passed, failed, not_done or not_applicable",
    "uncertainty_signal": "say none, low, high, or missing if the model did not say, or give its `model_text`",
}
"""The four fields without which a step is none, and what to do where one is missing."""

_UNSEEN = "the source does not say how it ended"


class Draft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a source can say of a step; what it leaves out is unset or unknown."""

    tool: str
    episode: str = ""
    run: str = ""
    call: str = ""
    parent: str = ""
    """The call inside which it was made."""
    agent: str = ""
    agent_version: str = ""
    arguments: dict[str, Any] = {}
    attempt: int = 1
    strategy: Response | None = None
    path_of: str | None = None
    effect: Effect | None = None
    key: str | None = None
    expected_outcome: str | Expected | UnsetType = UNSET
    target: str = ""
    """Makes a free expected outcome one in parts."""
    observed_outcome: Any = UNSET
    """What the tool answered, parsed; an `Outcome` is taken as it is."""
    error: str | None = None
    exception: str | None = None
    status: int | None = None
    body: str | None = None
    fault: FaultKind | None = None
    native: bool = False
    applied: Applied | None = None
    size_bytes: int | None = None
    verification: VerificationStatus | Verification | UnsetType = UNSET
    method: str = ""
    by: str = ""
    evidence: str = ""
    """The call that is the evidence."""
    uncertainty_signal: Uncertainty | UnsetType = UNSET
    model_text: str | None = None
    """What the model wrote; its ``UNCERTAINTY:`` line is read where there is no `uncertainty_signal`."""
    unix_s: float | None = None
    ended_unix_s: float | None = None
    took_s: float | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    usd: float | None = None


FIELDS = frozenset(Draft.__struct_fields__)


class Place(Struct, frozen=True, kw_only=True):
    """What a draft cannot know of itself: where the step stands."""

    episode: str
    n: int
    call: str
    at_s: float
    unix_s: float | None = None
    took_s: float = 0.0
    parent: int | None = None
    parent_episode: str = ""
    evidence: int | None = None


def read(fields: Mapping[str, Any]) -> Draft:
    """Check the fields of a draft.

    Raises:
        UsageError: One is unknown or of a wrong type, or there is no tool; the message names it.
    """
    if "tool" not in fields:
        raise UsageError("Step needs tool; say which tool was called")
    try:
        return msgspec.convert(fields, Draft)
    except msgspec.ValidationError as error:
        raise UsageError(f"Step: {error}") from None


def missing(draft: Draft) -> tuple[str, ...]:
    """Return which of the four required fields a draft lacks."""
    lacks = {
        "expected_outcome": draft.expected_outcome is UNSET or not draft.expected_outcome,
        "observed_outcome": not _observed(draft),
        "verification": draft.verification is UNSET,
        "uncertainty_signal": draft.uncertainty_signal is UNSET and draft.model_text is None,
    }
    return tuple(name for name, lack in lacks.items() if lack)


def refusal(lacking: tuple[str, ...]) -> UsageError:
    """Build the error for a step that lacks required fields."""
    return UsageError(f"Step needs {' and '.join(lacking)}; {'; '.join(REQUIRED[name] for name in lacking)}")


def step_of(draft: Draft, place: Place, *, accept_incomplete: bool = False) -> Step:
    """Make a Step of a draft.

    Args:
        draft: What the source says.
        place: Where it stands.
        accept_incomplete: Accept a draft without all four fields: the step names them in `incomplete`, and what
            stands in them claims nothing: an unknown outcome, verification not done, uncertainty missing.

    Raises:
        UsageError: A required field is missing and that is not accepted.
    """
    lacking = missing(draft)
    if lacking and not accept_incomplete:
        raise refusal(lacking)
    return Step(
        episode=place.episode,
        n=place.n,
        call=place.call,
        tool=draft.tool,
        arguments=draft.arguments,
        attempt=draft.attempt,
        strategy=draft.strategy,
        path_of=draft.path_of,
        at_s=place.at_s,
        took_s=place.took_s,
        key=draft.key,
        expected_outcome=_expected(draft),
        observed_outcome=_outcome(draft),
        verification=_verification(draft, place),
        uncertainty_signal=_signal(draft),
        effect=draft.effect,
        run=draft.run,
        parent=place.parent,
        parent_episode=place.parent_episode,
        agent=draft.agent,
        agent_version=draft.agent_version,
        unix_s=place.unix_s,
        size_bytes=draft.size_bytes,
        cost=_cost(draft),
        incomplete=lacking,
    )


def _observed(draft: Draft) -> bool:
    failure = (draft.error, draft.exception, draft.status, draft.body, draft.fault)
    return draft.observed_outcome is not UNSET or any(said is not None for said in failure)


def _expected(draft: Draft) -> str | Expected:
    expected = draft.expected_outcome
    if isinstance(expected, UnsetType):
        return ""
    return Expected(intent=expected, target=draft.target) if isinstance(expected, str) and draft.target else expected


def _outcome(draft: Draft) -> Outcome:
    answer = draft.observed_outcome
    if isinstance(answer, Ok | Failed):
        return answer
    if draft.error is None and draft.exception is None and draft.fault is None:
        if answer is not UNSET or draft.status is not None or draft.body is not None:
            value = draft.body if isinstance(answer, UnsetType) else answer
            outcome = answered(value, status=draft.status, effect=draft.effect)
            return _with_applied(outcome, draft)
        return Failed(message=_UNSEEN, applied=in_doubt(draft.effect))
    body = draft.body
    if body is None and not isinstance(answer, UnsetType):
        body = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
    failed = Failed(
        message=draft.error or draft.exception or str(draft.fault),
        kind=draft.fault,
        native=draft.native,
        status=draft.status,
        exception=draft.exception,
        body=body,
        applied=in_doubt(draft.effect),
    )
    return _with_applied(failed, draft)


def _with_applied(outcome: Outcome, draft: Draft) -> Outcome:
    if isinstance(outcome, Failed) and draft.applied is not None:
        return msgspec.structs.replace(outcome, applied=draft.applied)
    return outcome


def _verification(draft: Draft, place: Place) -> Verification:
    said = draft.verification
    if isinstance(said, Verification):
        return said
    status = VerificationStatus.NOT_DONE if isinstance(said, UnsetType) else said
    return Verification(status=status, method=draft.method, by=draft.by, evidence=place.evidence)


def _signal(draft: Draft) -> Uncertainty:
    if not isinstance(draft.uncertainty_signal, UnsetType):
        return draft.uncertainty_signal
    return parse(draft.model_text) if draft.model_text else Uncertainty.MISSING


def _cost(draft: Draft) -> Cost | None:
    said = (draft.tokens_in, draft.tokens_cached, draft.tokens_out, draft.usd)
    if all(value is None for value in said):
        return None
    return Cost(
        tokens_in=draft.tokens_in or 0,
        tokens_cached=draft.tokens_cached or 0,
        tokens_out=draft.tokens_out or 0,
        usd=draft.usd or 0.0,
    )
