"""Scenarios: which paths of a task are shut for the whole episode, and whether a scenario applies to it at all."""

from __future__ import annotations

from msgspec import Struct

from breakfall import seeds
from breakfall.vocab import OBSERVABLE, FaultKind, Scenario


class Openings(Struct, frozen=True, kw_only=True):
    """The ways through a task, as found on the episode's own initial state."""

    needed: tuple[str, ...]
    """Tools that the plan's clean run calls, in the order of their first use."""
    sufficient: dict[str, tuple[str, ...]] = {}
    """Needed tool -> tools of its paths that proved sufficient for this task."""
    paths: dict[str, tuple[str, ...]] = {}
    """Needed tool -> tools of all its paths."""


class Blockade(Struct, frozen=True, kw_only=True):
    """What is shut for an episode."""

    tools: tuple[str, ...] = ()
    kinds: dict[str, FaultKind] = {}
    """How each shut tool fails, all episode."""
    for_tool: str | None = None
    """The tool whose equivalence is shut, on one side or on all."""

    def __post_init__(self) -> None:
        """Refuse a shut tool that does not fail observably."""
        for name in self.tools:
            if name not in self.kinds or self.kinds[name].silent:
                raise ValueError(f"kinds.{name} must be an observable fault kind: how the shut tool fails")
        for name in self.kinds:
            if name not in self.tools:
                raise ValueError(f"kinds.{name} is of a tool that is not shut; add it to tools")


def plan(scenario: Scenario, openings: Openings, *, seed: int, world: str, task: str) -> Blockade | str:
    """Draw what a scenario shuts for one task, or say why the scenario does not apply to it.

    CLEAN and S1 shut nothing. S2 draws a needed tool with a path that suffices, then which of the two is shut. S3
    draws a needed tool and shuts it and all its paths. The agent takes no part in the draw.
    """
    if scenario in (Scenario.CLEAN, Scenario.S1):
        return Blockade()
    if not openings.needed:
        return "the plan calls no tool, so there is nothing to shut"
    draw = seeds.stream(seed, "blockade", world, task, scenario.value)
    if scenario is Scenario.S3:
        tool = draw.choice(openings.needed)
        shut = tuple(dict.fromkeys((tool, *openings.paths.get(tool, ()))))
    else:
        pairs = [(tool, path) for tool in openings.needed for path in openings.sufficient.get(tool, ())]
        if not pairs:
            return "no tool that the plan needs has a path that suffices on this task's initial state"
        tool, path = draw.choice(pairs)
        shut = (tool,) if draw.uniform() < 0.5 else (path,)
    kinds = {name: seeds.stream(seed, "blockade kind", world, task, name).choice(OBSERVABLE) for name in shut}
    return Blockade(tools=shut, kinds=kinds, for_tool=tool)
