"""The faults that an episode met: what would have been right after each, and what the agent did first and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from breakfall.recovery.classify import classify
from breakfall.vocab import (
    Ending,
    EpisodeEnd,
    Failed,
    FaultKind,
    FaultSource,
    IdempotencyKind,
    Injection,
    Ok,
    Response,
    Scenario,
    Step,
    Tool,
)
from breakfall.vocab.relation import response

HAND_OVER = "transfer_to_human"
"""A tool whose name begins so hands over; calling it is not going on."""


class FaultMet(Struct, frozen=True, kw_only=True):
    """One fault that fired, and the agent's responses to it."""

    step: int
    """`Step.n` of the call that it struck."""
    kind: FaultKind
    source: FaultSource
    tool: str
    truth: Response
    """What would have been right."""
    first: Response
    eventual: Response
    responses: tuple[Response, ...] = ()
    """Every later step that answered it, in order."""
    recovered: Response | None = None
    """`RETRY` or `SWITCH` where the same or another path answered later."""
    adopted: bool | None = None
    """For silent faults: whether the false value was used; None where nothing can tell."""

    @property
    def right(self) -> bool:
        """Whether the first response was the right one."""
        return self.first is self.truth


def fired(step: Step) -> Injection | None:
    """Return the fault that struck the step; a draw that a cap suppressed is none."""
    injection = step.injection
    return injection if injection is not None and not injection.suppressed else None


def ambiguous(step: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether the step left its caller not knowing whether a write took effect."""
    outcome = step.observed_outcome
    tool = tools.get(step.tool)
    if not isinstance(outcome, Failed) or tool is None or not tool.writes:
        return False
    return outcome.ambiguous or classify(outcome, writes=True).ambiguous


def truth(step: Step, injection: Injection, scenario: Scenario, tools: Mapping[str, Tool]) -> Response:
    """Return what is right after a fault, given what the scenario fixes."""
    if injection.source is FaultSource.BLOCKADE:
        return Response.STOP if scenario is Scenario.S3 else Response.SWITCH
    if injection.kind.silent:
        return Response.VERIFY
    tool = tools.get(step.tool)
    if injection.sticky:
        other = tool is not None and any(path.tool in tools for path in tool.paths)
        return Response.SWITCH if other else Response.STOP
    if ambiguous(step, tools) and not _repeatable(step, tool):
        return Response.VERIFY
    return Response.RETRY


def _repeatable(step: Step, tool: Tool | None) -> bool:
    """Whether sending the write again cannot do it twice."""
    if tool is None or tool.idempotency.kind is IdempotencyKind.NONE:
        return False
    return tool.idempotency.kind is IdempotencyKind.NATURAL or step.key is not None


def meet(at: int, injection: Injection, end: EpisodeEnd, steps: Sequence[Step], tools: Mapping[str, Tool]) -> FaultMet:
    """Describe the fault that struck `steps[at]`, without what silent faults led to."""
    step = steps[at]
    answers: list[tuple[Response, Step]] = []
    others = 0
    for later in steps[at + 1 :]:
        found = response(step, later, tools)
        if found is not None:
            answers.append((found, later))
        elif not later.purpose and not later.tool.startswith(HAND_OVER):
            others += 1
    recovered = next(
        (found for found, later in answers if found in _OWN_WORK and isinstance(later.observed_outcome, Ok)), None
    )
    first = answers[0][0] if answers else _unanswered(injection, end, steps, others)
    return FaultMet(
        step=step.n,
        kind=injection.kind,
        source=injection.source,
        tool=step.tool,
        truth=truth(step, injection, end.key.scenario, tools),
        first=first,
        eventual=_eventual(step, injection, end, steps, answers, first),
        responses=tuple(found for found, _ in answers),
        recovered=recovered,
    )


_OWN_WORK = frozenset({Response.RETRY, Response.SWITCH})


def handed_over(end: EpisodeEnd, steps: Sequence[Step]) -> bool:
    """Whether the episode ended with a person being asked to take over."""
    return end.answer.handoff is not None or any(step.tool.startswith(HAND_OVER) for step in steps)


def _unanswered(injection: Injection, end: EpisodeEnd, steps: Sequence[Step], others: int) -> Response:
    """Name a fault that no later step answered: the agent stopped, or it went on (or fell over)."""
    if others:
        return Response.IGNORE
    if handed_over(end, steps):
        return Response.STOP
    return Response.STOP if end.ending is Ending.ANSWERED and not injection.kind.silent else Response.IGNORE


def _eventual(
    step: Step,
    injection: Injection,
    end: EpisodeEnd,
    steps: Sequence[Step],
    answers: Sequence[tuple[Response, Step]],
    first: Response,
) -> Response:
    """Return the last response; `STOP` where the call stayed open and the episode was handed over or ended there."""
    if not answers:
        stopped = handed_over(end, steps) and not injection.kind.silent
        return Response.STOP if stopped else first
    last, at = answers[-1]
    if last is Response.VERIFY and not injection.kind.silent:
        handoff = end.answer.handoff
        is_open = handoff is not None and step.call not in {fact.call for fact in handoff.done}
        return Response.STOP if is_open else last
    outcome = at.observed_outcome
    given_up = isinstance(outcome, Failed) and not classify(outcome, writes=False).native
    ended_there = end.ending is Ending.ANSWERED and at.n == steps[-1].n
    return Response.STOP if given_up and (handed_over(end, steps) or ended_there) else last
