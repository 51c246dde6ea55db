"""The faults that an episode met: what would have been right after each, and what the agent did first and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from breakfall.bench.lookups import ambiguous, confirmed, in_doubt, reader_of, repeatable
from breakfall.bench.ways import fired, open_ways, stays
from breakfall.recovery.classify import classify
from breakfall.vocab import (
    Ending,
    EpisodeEnd,
    Failed,
    FaultKind,
    FaultSource,
    Injection,
    Ok,
    Response,
    Step,
    Task,
    Tool,
)
from breakfall.vocab.relation import response

HAND_OVER = "transfer_to_human"
"""A tool whose name begins so hands over; calling it is not going on."""

KNOWN_SHUT_AFTER = 3
"""Failures after which a shut path is known to be shut."""

TELLING_AT_ONCE = frozenset({FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT})
"""Kinds of which one failure says that a repeat of the same call is vain."""


class FaultMet(Struct, frozen=True, kw_only=True):
    """One fault that fired, and the agent's responses to it."""

    step: int
    """`Step.n` of the call that it struck."""
    kind: FaultKind
    source: FaultSource
    tool: str
    look_up: bool = False
    """Whether it struck a look-up that the runtime made, and no call of the agent's own."""
    truth: Response
    """What would have been right."""
    first: Response
    eventual: Response
    judged: bool = True
    """Whether `first` can be held against `truth`: not where a path that was shut was only tried again, before
    anybody could know that it was."""
    in_doubt: bool = False
    """Whether it left a write of which nobody ever learned whether it took effect."""
    way_left: bool = True
    """Whether the call could still be served: by the same path, which comes back, or by one that is open."""
    responses: tuple[Response, ...] = ()
    """Every later step that answered it, in order."""
    recovered: Response | None = None
    """`RETRY` or `SWITCH` where the same or another path served the call later, `VERIFY` where a look-up found that
    the write had taken effect."""
    adopted: bool | None = None
    """For silent faults: whether the false value was used; None where nothing can tell."""

    @property
    def right(self) -> bool:
        """Whether the first response was the right one."""
        return self.first is self.truth


def truth(
    at: int, injection: Injection, steps: Sequence[Step], tools: Mapping[str, Tool], task: Task | None
) -> Response:
    """Return what is right after a fault, given what the scenario fixes and what was tried before."""
    step = steps[at]
    if injection.kind.silent:
        return Response.VERIFY
    readable = reader_of(step, tools) is not None
    lasting = stays(injection)
    if ambiguous(step, tools) and (lasting or not repeatable(step, tools)):
        return Response.VERIFY if readable else Response.STOP
    if not lasting:
        return Response.RETRY
    if not open_ways(at, steps, tools, task):
        return Response.STOP
    return Response.VERIFY if readable else Response.SWITCH  # a write is looked up before another path is taken


def known_shut(at: int, steps: Sequence[Step]) -> bool:
    """Whether the agent knew after `steps[at]`, which a lasting fault struck, that this path is shut."""
    step = steps[at]
    struck = [
        injection.kind
        for earlier in steps[: at + 1]
        if earlier.tool == step.tool and (injection := fired(earlier)) is not None and stays(injection)
    ]
    return len(struck) >= KNOWN_SHUT_AFTER or not TELLING_AT_ONCE.isdisjoint(struck)


def meet(
    at: int,
    injection: Injection,
    end: EpisodeEnd,
    steps: Sequence[Step],
    tools: Mapping[str, Tool],
    task: Task | None = None,
) -> FaultMet:
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
    first = answers[0][0] if answers else _unanswered(injection, end, steps, others)
    return FaultMet(
        step=step.n,
        kind=injection.kind,
        source=injection.source,
        tool=step.tool,
        look_up=bool(step.purpose),
        truth=truth(at, injection, steps, tools, task),
        first=first,
        eventual=_eventual(step, injection, end, steps, answers, first),
        judged=first is not Response.RETRY or not _worth_a_try(at, injection, steps, tools),
        way_left=not stays(injection) or bool(open_ways(at, steps, tools, task)),
        in_doubt=not step.purpose and in_doubt(step, steps, tools),
        responses=tuple(found for found, _ in answers),
        recovered=_recovered(step, answers, steps, tools),
    )


def _worth_a_try(at: int, injection: Injection, steps: Sequence[Step], tools: Mapping[str, Tool]) -> bool:
    """Whether the fault lasts, but its agent could not know, so that trying the same path again was sensible."""
    blind = ambiguous(steps[at], tools) and not repeatable(steps[at], tools)
    return stays(injection) and not blind and not known_shut(at, steps)


_OWN_WORK = frozenset({Response.RETRY, Response.SWITCH})


def _recovered(
    step: Step, answers: Sequence[tuple[Response, Step]], steps: Sequence[Step], tools: Mapping[str, Tool]
) -> Response | None:
    """Return how the call came to its end after all; None if it did not."""
    for found, later in answers:
        outcome = later.observed_outcome
        answered = isinstance(outcome, Ok) or (found is Response.RETRY and _refused(outcome))
        if found in _OWN_WORK and (answered or confirmed(later, steps, tools)):
            return found
    return Response.VERIFY if confirmed(step, steps, tools) else None


def _refused(outcome: Failed) -> bool:
    """Whether the tool came back and refused the call itself."""
    return classify(outcome, writes=False).native


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
    given_up = isinstance(outcome, Failed) and not _refused(outcome)
    ended_there = end.ending is Ending.ANSWERED and at.n == steps[-1].n
    return Response.STOP if given_up and (handed_over(end, steps) or ended_there) else last
