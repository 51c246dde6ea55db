"""A task made from a case: what the user says, and the gold calls with the bindings that they imply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from breakfall.vocab import Given, PlanStep, Task, Text
from breakfall.worlds.gold.bindings import Results, found_in
from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.readers import gives


def task_of(case: Case, world: str, purposes: Mapping[str, str]) -> Task:
    """Build the task of a case.

    Args:
        case: The case.
        world: The world's name.
        purposes: What each tool is for, in a few words.
    """
    instruction = _told(case)
    said = instruction.lower()
    results = Results()
    steps = []
    for index, (call, ran, context) in enumerate(zip(case.calls, case.replay.ran, case.replay.contexts, strict=True)):
        steps.append(
            PlanStep(
                id=f"s{index}",
                tool=call.tool,
                arguments={name: results.bound(name, value, said) for name, value in call.arguments.items()},
                context={name: _context(case, name, value, results) for name, value in context.items()},
                expected=purposes[call.tool],
            )
        )
        results.add(f"s{index}", ran.value)
    return Task(
        id=case.id,
        world=world,
        template=case.template,
        split=case.split,
        instruction=Text(en=instruction),
        facts=case.known,
        plan=tuple(steps),
        answer={f"say_{nth}": results.worded(text) or text for nth, text in enumerate(case.said)},
        feasible=case.feasible,
    )


def untold(case: Case, task: Task) -> frozenset[str]:
    """Return the writes that have no reader in this task: a wrong one, or one that cannot give what the plan needs."""
    lacking = set(case.replay.untold)
    bound = [*(step.arguments for step in task.plan), *(step.context for step in task.plan), task.answer]
    for found in found_in(bound):
        index = int(found.step[1:])
        tool = case.calls[index].tool
        if tool in case.domain.readers and not gives(
            case.replay.settlements[index], found, case.replay.ran[index].value
        ):
            lacking.add(tool)
    return frozenset(lacking)


def _context(case: Case, name: str, value: Any, results: Results) -> Any:
    if case.known.get(name) == value:
        return Given(name)
    return results.found(value) or value


def _told(case: Case) -> str:
    """Return the benchmark's own text and, marked as such, what we let the user state besides."""
    if not case.known:
        return case.instruction
    facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in case.known.items())
    return f"{case.instruction}\nIf that cannot be looked up, you can also state: {facts}."
