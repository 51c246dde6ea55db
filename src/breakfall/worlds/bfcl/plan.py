"""A task made from a row: what the user says, and the gold calls with the bindings that they imply."""

from __future__ import annotations

from breakfall.vocab import PlanStep, Task, Text
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.readers import READERS
from breakfall.worlds.gold.bindings import Results, found_in
from breakfall.worlds.gold.readers import gives


def task_of(case: Case, purposes: dict[str, str]) -> Task:
    """Build the task of a row.

    Args:
        case: The row.
        purposes: What each tool is for, in a few words.
    """
    results = Results()
    steps = []
    for index, call in enumerate(case.calls):
        said = "\n".join(case.messages[: call.turn + 1]).lower()
        steps.append(
            PlanStep(
                id=f"s{index}",
                tool=call.tool,
                arguments={name: results.bound(name, value, said) for name, value in call.arguments.items()},
                expected=purposes[call.tool],
                turn=call.turn,
            )
        )
        results.add(f"s{index}", case.replay.values[index])
    first, *others = case.messages
    return Task(
        id=case.id,
        world="bfcl",
        template="+".join(sorted(case.classes)),
        split=case.split,
        instruction=Text(en=first),
        turns=tuple(Text(en=message) for message in others),
        plan=tuple(steps),
    )


def untold(case: Case, task: Task) -> frozenset[str]:
    """Return the writes that have no reader in this task: a wrong one, or one that cannot give what the plan needs."""
    lacking = set(case.replay.untold)
    for step in task.plan:
        for found in found_in(step.arguments):
            index = int(found.step[1:])
            tool = case.calls[index].tool
            if tool in READERS and not gives(case.replay.settlements[index], found, case.replay.values[index]):
                lacking.add(tool)
    return frozenset(lacking)
