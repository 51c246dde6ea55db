"""Build the packet for a person from the Steps of a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from breakfall.vocab import Fact, Failed, Handoff, Ok, Step, Tool


def build(
    goal: str, reason: str, steps: Sequence[Step], tools: Mapping[str, Tool], settled: Mapping[str, bool]
) -> Handoff:
    """Fold the steps of a task into what is done, what nobody knows, and what was tried.

    Args:
        goal: What the task was.
        reason: Why a person must take over.
        steps: The task's steps so far.
        tools: The tools by name.
        settled: Call id -> what a look-up said of a write whose answer was lost: applied or not.
    """
    done: dict[str, Fact] = {}
    unknown: dict[str, Fact] = {}
    tried: Counter[tuple[str, str]] = Counter()
    for step in steps:
        tool = tools.get(step.tool)
        outcome = step.observed_outcome
        if isinstance(outcome, Failed) and not outcome.native:
            tried[step.tool, outcome.failure_class] += 1
        if step.purpose or tool is None or not tool.writes:
            continue
        fact = Fact(call=step.call, tool=step.tool, arguments=step.arguments)
        if isinstance(outcome, Ok) or (outcome.ambiguous and settled.get(step.call) is True):
            done[step.call] = fact
            unknown.pop(step.call, None)
        elif outcome.ambiguous and step.call not in settled:
            unknown[step.call] = fact
    return Handoff(
        goal=goal,
        reason=reason,
        done=tuple(done.values()),
        unknown=tuple(unknown.values()),
        tried=tuple(f"{tool}: {kind} × {count}" for (tool, kind), count in tried.items()),
        safe_next_actions=_safe(unknown.values(), tools),
    )


def _safe(unknown: Iterable[Fact], tools: Mapping[str, Tool]) -> tuple[str, ...]:
    actions = []
    for fact in unknown:
        reader = tools[fact.tool].reader
        where = f"with {reader.tool}" if reader else "in the system of record"
        actions.append(f"look up {where} whether {fact.tool} took effect before anything is sent again")
    return (*actions, "repeat the reads; send no write again that is listed as done")
