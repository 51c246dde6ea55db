"""A task made from a row: what the user says, and the gold calls with the bindings that they imply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from breakfall.vocab import Applied, Found, PlanStep, Settlement, Task, Text
from breakfall.vocab import pointer as pointers
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.readers import READERS

_TEXT_LENGTH = 3
_TRIVIAL = 10
"""Numbers below this are counts, levels and flags more often than they are found; only an id may be so small."""

_ID = re.compile(r"(.*_)?id", re.IGNORECASE)


def task_of(case: Case, purposes: dict[str, str]) -> Task:
    """Build the task of a row.

    Args:
        case: The row.
        purposes: What each tool is for, in a few words.
    """
    places: list[tuple[str, str, Any]] = []
    steps = []
    for index, call in enumerate(case.calls):
        said = "\n".join(case.messages[: call.turn + 1]).lower()
        steps.append(
            PlanStep(
                id=f"s{index}",
                tool=call.tool,
                arguments={name: _bound(name, value, places, said) for name, value in call.arguments.items()},
                expected=purposes[call.tool],
                turn=call.turn,
            )
        )
        places.extend((f"s{index}", *place) for place in _leaves(case.replay.values[index], ""))
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
        for found in _found(step.arguments):
            index = int(found.step[1:])
            tool = case.calls[index].tool
            if tool in READERS and not _gives(case.replay.settlements[index], found, case.replay.values[index]):
                lacking.add(tool)
    return frozenset(lacking)


def _gives(settlement: Settlement | None, found: Found, value: Any) -> bool:
    if settlement is None or settlement.applied is not Applied.YES:
        return False
    place = pointers.parse(found.pointer)
    try:
        return bool(pointers.get(settlement.value, place) == pointers.get(value, place))
    except (LookupError, TypeError):
        return False


def _found(value: Any) -> Iterator[Found]:
    if isinstance(value, Found):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _found(item)
    elif isinstance(value, list):
        for item in value:
            yield from _found(item)


def _bound(name: str, value: Any, places: list[tuple[str, str, Any]], said: str) -> Any:
    """Bind an argument to the latest result that holds it, unless the user said it or it is too common to tell."""
    if isinstance(value, dict):
        return {key: _bound(key, item, places, said) for key, item in value.items()}
    if isinstance(value, list):
        return [_bound(name, item, places, said) for item in value]
    if not _telling(name, value) or _stated(value, said):
        return value
    for step, pointer, held in reversed(places):
        if type(held) is type(value) and held == value and (not _small(value) or _ID.fullmatch(_last(pointer))):
            return Found(step, pointer)
    return value


def _telling(name: str, value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= _TEXT_LENGTH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not _small(value) or bool(_ID.fullmatch(name))


def _small(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < _TRIVIAL and float(value).is_integer()


def _stated(value: Any, said: str) -> bool:
    """Whether the user said the value, a number also in the forms ``1,500`` and ``1500.00``."""
    if isinstance(value, str):
        return value.lower() in said
    forms = {str(value), f"{value:,}", f"{value:.2f}", f"{value:,.2f}"}
    if float(value).is_integer():
        forms |= {str(int(value)), f"{int(value):,}"}
    return any(re.search(rf"(?<![\d.,]){re.escape(form)}(?!\d|[.,]\d)", said) for form in forms)


def _last(pointer: str) -> str:
    return pointer.rsplit("/", 1)[-1]


def _leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{at}/{pointers.escape(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{at}/{index}")
    else:
        yield at, value
