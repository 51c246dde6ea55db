"""Look-ups: which writes were left in doubt, and what the reads that followed told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from breakfall.recovery.classify import classify
from breakfall.vocab import Applied, Failed, IdempotencyKind, Ok, Reader, Step, Tool
from breakfall.vocab.relation import mapped, reads_back

_ROUNDING_S = 1e-6
"""Steps hold their time rounded to this; a reader is asked about the moment before."""


def attempts(steps: Sequence[Step], tools: Mapping[str, Tool]) -> list[Step]:
    """Return the steps that sent a write."""
    return [step for step in steps if not step.purpose and (tool := tools.get(step.tool)) is not None and tool.writes]


def ambiguous(step: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether the step left its caller not knowing whether a write took effect."""
    outcome = step.observed_outcome
    tool = tools.get(step.tool)
    if not isinstance(outcome, Failed) or tool is None or not tool.writes:
        return False
    return outcome.ambiguous or classify(outcome, writes=True).ambiguous


def repeatable(step: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether the write may be sent again unseen: with its key, or if a repeat changes nothing and nobody can look."""
    tool = tools.get(step.tool)
    if tool is None or tool.idempotency.kind is IdempotencyKind.NONE:
        return False
    if tool.idempotency.kind is IdempotencyKind.KEY:
        return step.key is not None
    return reader_of(step, tools) is None


def reader_of(write: Step, tools: Mapping[str, Tool]) -> Reader | None:
    """Return the reader that its caller could look the write up with; None if there is none."""
    tool = tools.get(write.tool)
    if tool is None or not tool.writes or tool.reader is None or tool.reader.tool not in tools:
        return None
    return tool.reader


def told(write: Step, later: Step, steps: Sequence[Step], tools: Mapping[str, Tool]) -> Applied:
    """Return what a later step told of a write: `UNKNOWN` if it is no look-up of it, failed, or cannot tell."""
    outcome = later.observed_outcome
    reader = reader_of(write, tools)
    if reader is None or not isinstance(outcome, Ok) or not reads_back(write, later, tools):
        return Applied.UNKNOWN
    value = outcome.value
    sent_s = min(step.at_s for step in steps if step.call == write.call and not step.purpose)
    try:
        if later.tool != reader.tool:
            path = next(path for path in tools[reader.tool].paths if path.tool == later.tool)
            value = path.value(value, mapped(reader.arguments, write) or {}, write.context)
        return reader.judge(value, write.arguments, sent_s - _ROUNDING_S).applied
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):
        return Applied.UNKNOWN


def confirmed(write: Step, steps: Sequence[Step], tools: Mapping[str, Tool]) -> bool:
    """Whether the write took effect although its answer was lost, and a look-up said so."""
    if not write.effects or not ambiguous(write, tools):
        return False
    return any(told(write, later, steps, tools) is Applied.YES for later in steps[write.n + 1 :])


def in_doubt(write: Step, steps: Sequence[Step], tools: Mapping[str, Tool]) -> bool:
    """Whether nobody learned what became of a write whose answer was lost: neither looked up nor answered later."""
    if not ambiguous(write, tools):
        return False
    for later in steps[write.n + 1 :]:
        answered = later.call == write.call and not later.purpose and isinstance(later.observed_outcome, Ok)
        if answered or told(write, later, steps, tools) is not Applied.UNKNOWN:
            return False
    return True


def looked_up(write: Step, steps: Sequence[Step], tools: Mapping[str, Tool]) -> bool:
    """Whether anybody tried to look the write up, whatever came of it."""
    return any(reads_back(write, later, tools) for later in steps[write.n + 1 :])
