"""Silent adoption: whether a value that a silent fault made false reached a later argument, a decision or the answer.

Where the agent says where its values come from (`Step.sources`, `Answer.sources`) and what it decided by
(`Answer.steered`), the false value is followed as a taint. Where it says nothing, values are compared, and only a false
value that was nowhere to be had truthfully counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from breakfall.bench.met import FaultMet
from breakfall.bench.ways import fired
from breakfall.vocab import Corruption, Ending, EpisodeEnd, Ok, Response, Step, Task, Tool
from breakfall.vocab import pointer as pointers

_PLAIN = (str, int, float)
_WORD = re.compile(r"[\w.,:@#/-]+")
_TELLING = 3
"""Shorter texts and smaller whole numbers turn up by chance, so finding one says nothing."""


class _Use(Struct, frozen=True):
    """One value that the agent passed on, and the pointer into the answer that it took it from."""

    value: Any
    source: str


def adopted(
    met: FaultMet, end: EpisodeEnd, steps: Sequence[Step], tools: Mapping[str, Tool], task: Task | None
) -> bool | None:
    """Return whether the false value was used; None where nothing can tell.

    Args:
        met: The silent fault.
        end: The episode's end.
        steps: Its steps.
        tools: The tools by name.
        task: The task, whose facts may hold the same value truthfully; None if it is not known.
    """
    step = steps[met.step]
    injection = fired(step)
    if injection is None or step.purpose or not isinstance(step.observed_outcome, Ok):
        return None
    tool = tools.get(step.tool)
    if (
        tool is not None
        and tool.writes
        and not injection.executed
        and (believed := _believed(met, step, end)) is not False
    ):
        return believed
    if not injection.corruptions:
        return False
    if end.answer.sources or end.answer.steered or any(later.sources for later in steps):
        return _followed(step, injection.corruptions, end, steps)
    return _compared(step, injection.corruptions, end, steps, task)


def _believed(met: FaultMet, step: Step, end: EpisodeEnd) -> bool | None:
    """Whether a write was taken as done that was said to have happened and had not.

    Doing it again is not believing it. A hand-over says by itself what it takes as done; an answer takes it as done,
    but nobody can tell what an agent that had read it back meant by its answer.
    """
    if Response.RETRY in met.responses or Response.SWITCH in met.responses:
        return False
    handoff = end.answer.handoff
    if handoff is not None:
        return any(fact.call == step.call for fact in handoff.done)
    if end.ending is not Ending.ANSWERED:
        return False
    return None if Response.VERIFY in met.responses else True


def _followed(step: Step, corruptions: Sequence[Corruption], end: EpisodeEnd, steps: Sequence[Step]) -> bool | None:
    shown = max(
        (s.n for s in steps if s.call == step.call and not s.purpose and isinstance(s.observed_outcome, Ok)), default=-1
    )
    if shown != step.n:
        return False  # the caller was handed another answer to this call
    doubtful = False
    for use in _sourced(step, end, steps):
        for corruption in corruptions:
            found = _reached(step, use, corruption)
            if found:
                return True
            doubtful = doubtful or found is None
    return None if doubtful else False


def _sourced(step: Step, end: EpisodeEnd, steps: Sequence[Step]) -> Iterator[_Use]:
    """Yield what was taken from the call, with the pointer into its value as `source`."""
    for later in steps[step.n + 1 :]:
        if not later.purpose:
            yield from _from_call(step.call, later.arguments, later.sources)
    yield from _from_call(step.call, end.answer.facts, end.answer.sources)
    for source, value in end.answer.steered.items():
        name, _, pointer = source.partition("#")
        if name == step.call:
            yield _Use(value, pointer)


def _from_call(call: str, values: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[_Use]:
    for place, source in sources.items():
        name, _, pointer = source.partition("#")
        if name == call:
            yield _Use(_at(values, place), pointer)


def _at(values: Mapping[str, Any], place: str) -> Any:
    """Return what stands at a place such as ``items/0/sku``; for a part of a built text, the text."""
    value: Any = dict(values)
    for part in pointers.parse("/" + place):
        try:
            value = pointers.get(value, (part,))
        except LookupError:
            return value
    return value


def _reached(step: Step, use: _Use, corruption: Corruption) -> bool | None:
    """Whether a value taken from the shown answer holds what the corruption made false."""
    if step.path_of is not None:  # its pointers are of the original's form, so only the value can tell
        false = set(_leaves(corruption.shown))
        return None if corruption.removed or not false else bool(_found(use.value, false))
    if not corruption.removed:
        return pointers.overlap(use.source, corruption.pointer)
    if _within(corruption.pointer, use.source):
        return True  # the whole from which something was taken away
    parent, _, last = corruption.pointer.rpartition("/")
    if last.isdigit() and _within(use.source, parent):
        return None  # an item of the shortened list: nobody can tell whether the lost one would have been taken
    return False


def _within(inner: str, outer: str) -> bool:
    return inner == outer or not outer or inner.startswith(outer + "/")


def _compared(
    step: Step, corruptions: Sequence[Corruption], end: EpisodeEnd, steps: Sequence[Step], task: Task | None
) -> bool | None:
    false = {leaf for corruption in corruptions if not corruption.removed for leaf in _leaves(corruption.shown)}
    if not false:
        return None
    known = _stated(task)
    doubtful = False
    for later in steps:
        if later.n > step.n and not later.purpose:
            used = _found(later.arguments, false)
            if any(_telling(value) and value not in known for value in used):
                return True
            doubtful = doubtful or bool(used)
        known |= _shown(later)
    used = _found([end.answer.facts, end.answer.text], false)
    if any(_telling(value) and value not in known for value in used):
        return True
    return None if doubtful or used else False


def _stated(task: Task | None) -> set[Any]:
    """Return what the user said: the stated facts, and the words of the messages."""
    if task is None:
        return set()
    words = {word for text in (task.instruction, *task.turns) for word in _words(text.en)}
    return set(_leaves(task.facts)) | words


def _shown(step: Step) -> set[Any]:
    """Return the true values that a step showed."""
    outcome = step.observed_outcome
    if not isinstance(outcome, Ok):
        return set()
    injection = fired(step)
    false = {leaf for c in injection.corruptions for leaf in _leaves(c.shown)} if injection is not None else set()
    return set(_leaves(outcome.value)) - false


def _found(value: Any, false: set[Any]) -> set[Any]:
    """Return which of the false values stand in `value`: as a value in it, or as a word of a longer text."""
    leaves = set(_leaves(value))
    words = {word for leaf in leaves if isinstance(leaf, str) for word in _words(leaf)}
    return {one for one in false if one in leaves or str(one) in words}


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the texts and numbers in a JSON value."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, _PLAIN) and not isinstance(value, bool):
        yield value


def _words(text: str) -> list[str]:
    return [word.strip(".,:") for word in _WORD.findall(text)]


def _telling(value: Any) -> bool:
    """Whether a value is rare enough that finding it says where it came from."""
    if isinstance(value, str):
        return len(value) >= _TELLING
    return bool(value != int(value) or abs(value) >= 10**_TELLING)
