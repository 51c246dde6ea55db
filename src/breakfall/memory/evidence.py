"""What one episode's steps are evidence of, as its agent saw them: retries, switches, and reads that agree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from breakfall.vocab import Effect, Failed, FaultKind, Ok, Response, Step, Tool
from breakfall.vocab.relation import response, root

_WINDOW = 32
"""How many earlier reads a read is held beside."""


class Served(StrEnum):
    """What became of a call that took another path; the first that applies of its attempts."""

    ANSWERED = "answered"
    UNFIT = "unfit"
    FAILED = "failed"


class Chain(Struct, frozen=True):
    """A failure, and the repeats of the same call that followed it."""

    at: int
    kind: FaultKind
    repeats: tuple[int, ...]


def chains(steps: Sequence[Step], tools: Mapping[str, Tool]) -> list[Chain]:
    """Find the failures that begin something: a repeat that failed as well belongs to the first."""
    found = []
    inside: set[int] = set()
    for at, step in enumerate(steps):
        kind = _kind(step)
        if kind is None or at in inside:
            continue
        repeats = tuple(n for n in range(at + 1, len(steps)) if _repeats(step, steps[n], tools))
        inside.update(repeats)
        found.append(Chain(at, kind, repeats))
    return found


def retried(steps: Sequence[Step], found: Sequence[Chain]) -> Iterator[tuple[str, FaultKind, bool]]:
    """Yield (tool, kind of the first failure, whether a repeat was answered) for each call that was repeated."""
    for chain in found:
        if chain.repeats:
            yield steps[chain.at].tool, chain.kind, any(_answered(steps[n]) for n in chain.repeats)


def switched(
    steps: Sequence[Step], found: Sequence[Chain], tools: Mapping[str, Tool]
) -> Iterator[tuple[str, str, Served]]:
    """Yield (tool, tool of the other path, what came of it) for each call and path that was taken."""
    taken: dict[tuple[str, ...], list[Served]] = {}
    for step in steps:
        if step.path_of is not None:
            asked = next(
                (s for s in steps if (s.call, s.purpose, s.tool) == (step.call, step.purpose, step.path_of)), None
            )
            served = _served(step, step.path_of, None if asked is None else asked.arguments, tools)
            taken.setdefault((step.path_of, step.tool, step.call, step.purpose), []).append(served)
    for chain in found:
        fault = steps[chain.at]
        for later in steps[chain.at + 1 :]:
            if later.path_of is None and response(fault, later, tools) is Response.SWITCH:
                served = _served(later, root(fault), fault.arguments, tools)
                taken.setdefault((root(fault), later.tool, str(fault.n)), []).append(served)
    for (source, target, *_), attempts in taken.items():
        yield source, target, next(served for served in Served if served in attempts)


def compared(steps: Sequence[Step], tools: Mapping[str, Tool]) -> Iterator[tuple[str, str, bool]]:
    """Yield (reading tool, another one, whether the second gave all values of the first), once per pair.

    Two reads are compared when they share an argument, no write lies between them, and the second's answer has every
    field of the first's, less those that say when it was read.
    """
    seen: set[tuple[str, str]] = set()
    window: deque[tuple[Step, dict[str, Any]]] = deque(maxlen=_WINDOW)
    for step in steps:
        if not _reads(step, tools):
            window.clear()
            continue
        fields = _fields(step, tools)
        if not fields:
            continue
        for earlier, others in window:
            if earlier.tool == step.tool or not _same_thing(earlier, step):
                continue
            for one, mine, other, theirs in ((earlier, others, step, fields), (step, fields, earlier, others)):
                if (one.tool, other.tool) not in seen and mine.keys() <= theirs.keys():
                    seen.add((one.tool, other.tool))
                    yield one.tool, other.tool, all(theirs[name] == value for name, value in mine.items())
        window.append((step, fields))


def _kind(step: Step) -> FaultKind | None:
    outcome = step.observed_outcome
    return outcome.kind if isinstance(outcome, Failed) and not outcome.native else None


def _answered(step: Step) -> bool:
    """Whether the tool itself answered, with a value or a refusal of its own."""
    outcome = step.observed_outcome
    return isinstance(outcome, Ok) or outcome.native


def _repeats(fault: Step, later: Step, tools: Mapping[str, Tool]) -> bool:
    """Whether `later` is the same call again; with other arguments it would be a remedy, not a repeat."""
    same = later.tool == fault.tool and (later.call == fault.call or later.arguments == fault.arguments)
    return same and response(fault, later, tools) is not None


def _served(step: Step, source: str, arguments: Mapping[str, Any] | None, tools: Mapping[str, Tool]) -> Served:
    outcome = step.observed_outcome
    if isinstance(outcome, Failed):
        return Served.UNFIT if outcome.native else Served.FAILED
    tool = tools.get(source)
    if tool is None or arguments is None:
        return Served.ANSWERED
    return Served.ANSWERED if _fits(tool, step.tool, outcome.value, arguments) else Served.UNFIT


class _Context(Mapping[str, Any]):
    """Stands for what the caller knew, which steps do not hold; it notes whether it was asked."""

    def __init__(self) -> None:
        self.asked = False

    def __getitem__(self, name: str) -> Any:
        self.asked = True
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self.asked = True
        return iter(())

    def __len__(self) -> int:
        return 0


def _fits(tool: Tool, target: str, value: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether a path's answer is what the original tool would give, as far as steps can tell."""
    path = next((path for path in tool.paths if path.tool == target), None)
    if path is None:
        return True
    context = _Context()
    try:
        mapped = path.value(value, arguments, context)
    except (LookupError, TypeError, ValueError, AttributeError):
        return context.asked
    if tool.writes or tool.returns.get("type") != "object":
        return True
    needed = set(tool.returns.get("required", ())) - set(path.missing)
    return isinstance(mapped, dict) and needed <= mapped.keys()


def _reads(step: Step, tools: Mapping[str, Tool]) -> bool:
    tool = tools.get(step.tool)
    effect = tool.effect if tool is not None else step.effect
    return effect is Effect.READ


def _fields(step: Step, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Return the fields of an answer that do not depend on when it was given; none where it is no record."""
    outcome = step.observed_outcome
    if not isinstance(outcome, Ok) or not isinstance(outcome.value, dict):
        return {}
    tool = tools.get(step.tool)
    properties = tool.returns.get("properties", {}) if tool is not None else {}
    return {name: value for name, value in outcome.value.items() if properties.get(name, {}).get("x-kind") != "as_of"}


def _same_thing(one: Step, other: Step) -> bool:
    return any(other.arguments.get(name) == value and value is not None for name, value in one.arguments.items())
