"""The ways that were open: which tools could still serve a call that had failed, from what its caller knew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from breakfall.vocab import Failed, FaultSource, Injection, Ok, Response, Step, Task, Tool
from breakfall.vocab.binding import Resolver, Result, Unbound
from breakfall.vocab.relation import mapped, response, root


def fired(step: Step) -> Injection | None:
    """Return the fault that struck the step; a draw that a cap suppressed is none."""
    injection = step.injection
    return injection if injection is not None and not injection.suppressed else None


def stays(injection: Injection) -> bool:
    """Whether every further call of the tool meets the same fault."""
    return injection.source is FaultSource.BLOCKADE or injection.sticky


def seen_shut(steps: Iterable[Step]) -> set[str]:
    """Return the tools that have refused a call for good in these steps."""
    return {step.tool for step in steps if (injection := fired(step)) is not None and stays(injection)}


def open_ways(at: int, steps: Sequence[Step], tools: Mapping[str, Tool], task: Task | None) -> list[str]:
    """Return the tools that could still serve the call of `steps[at]` right after it, the original first.

    Not open: a tool that has refused a call for good by then, one behind the same backend as the original, and one
    whose arguments the caller did not know.

    Args:
        at: Which step failed.
        steps: The steps of the episode.
        tools: The tools by name.
        task: The task, to tell what a caller knew who did not say so; None if it is not known.
    """
    closed = seen_shut(steps[: at + 1]) | {steps[at].tool}
    return [name for name in ways(at, steps, tools, task) if name not in closed]


def ways(at: int, steps: Sequence[Step], tools: Mapping[str, Tool], task: Task | None) -> list[str]:
    """Return the tools that could serve the call of `steps[at]` if they answered, the original first."""
    asked = asked_for(at, steps, tools)
    original = tools.get(root(asked))
    if original is None:
        return []
    knew = asked.context or _stated(asked, steps, task)
    found = [original.name]
    for path in original.paths:
        other = tools.get(path.tool)
        if other is None or other.fault_domain == original.fault_domain:
            continue
        if mapped(path.arguments, asked, knew) is not None:
            found.append(path.tool)
    return found


def asked_for(at: int, steps: Sequence[Step], tools: Mapping[str, Tool]) -> Step:
    """Return the failed call of the original for which `steps[at]` took another path; the step itself if it did not."""
    step = steps[at]
    for earlier in steps[:at]:
        failed = isinstance(earlier.observed_outcome, Failed) and earlier.path_of is None
        if failed and response(earlier, step, tools) is Response.SWITCH:
            return earlier
    return step


def _stated(step: Step, steps: Sequence[Step], task: Task | None) -> Mapping[str, Any]:
    """Return what a caller knew who gives no context: what the plan says of this call, as far as it was found out."""
    if task is None:
        return {}
    resolver = Resolver(task.facts)
    for planned in task.plan:
        try:
            arguments, _ = resolver.arguments(planned.arguments)
        except Unbound:
            continue
        if planned.tool == root(step) and _agree(arguments, step):
            return _known(planned.context, resolver)
        for earlier in steps[: step.n]:
            outcome = earlier.observed_outcome
            if earlier.tool == planned.tool and isinstance(outcome, Ok) and _agree(arguments, earlier):
                resolver.results[planned.id] = Result(earlier.call, outcome.value)
                break
    return {}


def _agree(arguments: Mapping[str, Any], step: Step) -> bool:
    return all(step.arguments.get(name) == value for name, value in arguments.items())


def _known(bound: Mapping[str, Any], resolver: Resolver) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name, binding in bound.items():
        try:
            known |= resolver.arguments({name: binding})[0]
        except Unbound:
            continue
    return known
