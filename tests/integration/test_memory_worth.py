"""What a memory is worth, and what a wrong one does, at a small size; benchmarks/memory.py measures it at full size."""

from __future__ import annotations

import pytest
from benchmarks.memory import Hall, Redeclared, by_agent, difference, learned, pathless, spread, swapped
from msgspec.structs import replace

from breakfall.bench.ablation import STUDIED
from breakfall.bench.study import TEACHERS
from breakfall.memory.fallbacks import Standing, fallbacks
from breakfall.vocab import ALTERNATIVES
from breakfall.worlds.store import StoreWorld

WORLD = StoreWorld()
TOOLS = WORLD.tools(ALTERNATIVES)
TRAIN = Hall(world=WORLD, tasks=WORLD.tasks("train", 30), seeds=(0, 1))
HELD_OUT = Hall(world=WORLD, tasks=WORLD.tasks("held-out", 25), seeds=(0, 1))


def test_200_episodes_give_most_of_the_static_gain() -> None:
    """A memory learned from 200 episodes gains at least nine tenths of what the structure gains alone."""
    memory = learned(spread(TRAIN.play(TEACHERS), 200), TOOLS)
    assert memory.episodes == 200
    found = by_agent(HELD_OUT.play(["retry+off", "retry+static", "retry+posterior"], memory))
    static = difference("pass_rate", found["retry+static"], found["retry+off"])
    posterior = difference("pass_rate", found["retry+posterior"], found["retry+off"])
    assert static.low > 0
    assert posterior.difference >= 0.9 * static.difference


@pytest.mark.parametrize("swap", [0, 1])
def test_a_wrong_map_is_found_out_and_does_no_harm(swap: int) -> None:
    """Of a map swapped at random no path passes for one that works, and it leaves no agent worse than without a map.

    `rules`, which has the constraints by itself, is no worse than with its memory off. `retry` pays for the constraints
    while it has few numbers, with a map or without, so it is held beside itself without one.
    """
    declared = swapped(TOOLS, swap)
    memory = learned(replace(TRAIN, world=Redeclared(declared)).play(TEACHERS), declared)
    standings = [path.standing for path in fallbacks(memory)]
    assert standings.count(Standing.WORKS) == 0
    assert standings.count(Standing.WRONG) >= 6
    agents = ("rules+off", "rules+posterior", "retry+posterior")
    found = by_agent(replace(HELD_OUT, world=Redeclared(declared)).play(agents, memory))
    mapless = by_agent(replace(HELD_OUT, world=Redeclared(pathless(declared))).play(["retry+posterior"], memory))
    for one, other in (
        (found["rules+posterior"], found["rules+off"]),
        (found["retry+posterior"], mapless["retry+posterior"]),
    ):
        assert difference("pass_rate", one, other).high >= 0
        assert difference("wrong_effects", one, other, STUDIED).low <= 0
        assert difference("duplicate_effects", one, other, STUDIED).low <= 0
