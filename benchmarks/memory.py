"""What a memory needs to be of use, and what a wrong one does: episodes to learn from, and a map swapped at random.

    python benchmarks/memory.py [TASKS]

Learns on the store world's train split and plays its held-out split; all differences are paired, in points, with 95 %
intervals over tasks.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from breakfall import seeds
from breakfall.bench import remember
from breakfall.bench.ablation import RECOVERABLE, STUDIED
from breakfall.bench.compare import Paired, paired
from breakfall.bench.rehearse import rehearse
from breakfall.bench.score import EpisodeScore, score_episode
from breakfall.bench.study import TEACHERS
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import plan
from breakfall.memory.beliefs import Memory
from breakfall.memory.choose import Mode
from breakfall.memory.fallbacks import Standing, fallbacks
from breakfall.memory.learn import Learner
from breakfall.runtime.episode import Setup, run_episode
from breakfall.vocab import ALTERNATIVES, Clock, EpisodeEnd, Scenario, Step, Task, Tool
from breakfall.worlds.store import StoreWorld
from breakfall.worlds.store.catalogue import entries_of
from breakfall.worlds.store.environment import StoreEnvironment

LEARNED = (25, 50, 100, 200, 400, 800)
AGENTS = ("retry", "rules")
Played = tuple[list[Step], EpisodeEnd]


class Redeclared(StoreWorld):
    """The store with other paths declared; what a scenario shuts follows the true ones."""

    def __init__(self, declared: Mapping[str, Tool]) -> None:
        self.declared = declared

    def open(self, task: Task, condition: str, clock: Clock) -> StoreEnvironment:
        """Open an environment whose tools declare those paths."""
        return StoreEnvironment(task, entries_of(condition), self.declared, clock)


def pathless(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Declare no path at all."""
    return {name: replace(tool, paths=()) for name, tool in tools.items()}


def swapped(tools: Mapping[str, Tool], swap: int) -> dict[str, Tool]:
    """Give each path the target of another path at random; none keeps a target that was declared for its tool."""
    places = [(name, n) for name, tool in tools.items() for n in range(len(tool.paths))]
    targets = [tools[name].paths[n].tool for name, n in places]
    draw = seeds.stream(swap, "swapped map")
    for _ in range(100_000):
        mixed = draw.shuffled(targets)
        if all(_wrong(tools[name], target) for (name, _), target in zip(places, mixed, strict=True)):
            break
    else:
        raise ValueError("found no way to swap the paths")
    new = dict(zip(places, mixed, strict=True))
    return {
        name: replace(tool, paths=tuple(replace(path, tool=new[name, n]) for n, path in enumerate(tool.paths)))
        for name, tool in tools.items()
    }


def _wrong(tool: Tool, target: str) -> bool:
    return target != tool.name and all(path.tool != target for path in tool.paths)


class Hall(Struct, frozen=True, kw_only=True):
    """Plays agents on tasks whose scenarios are drawn from the true world, in it or in another one."""

    world: StoreWorld
    tasks: Sequence[Task]
    seeds: Sequence[int]
    scenarios: Sequence[Scenario] = STUDIED

    def play(self, agents: Iterable[str], memory: Memory | None = None) -> list[Played]:
        """Play every agent on every task, scenario and seed."""
        return asyncio.run(self._play(tuple(agents), memory))

    async def _play(self, agents: Sequence[str], memory: Memory | None) -> list[Played]:
        truth = StoreWorld()
        specs = [remember.agent(name, memory) for name in agents]
        found = []
        for task in self.tasks:
            openings = await rehearse(truth, task, ALTERNATIVES)
            for scenario, seed in product(self.scenarios, self.seeds):
                blockade = plan(scenario, openings, seed=seed, world=truth.name, task=task.id)
                if isinstance(blockade, str):
                    continue
                for spec in specs:
                    setup = Setup(
                        world=self.world,
                        condition=ALTERNATIVES,
                        task=task,
                        scenario=scenario,
                        seed=seed,
                        profile=PROFILES["paper"],
                        agent=spec,
                        blockade=blockade,
                    )
                    found.append(await run_episode(setup))
        return found


def learned(episodes: Sequence[Played], tools: Mapping[str, Tool]) -> Memory:
    """Learn from episodes."""
    learner = Learner()
    learner.know(tools)
    for steps, _ in episodes:
        learner.episode(steps, tools)
    return learner.memory()


def spread(episodes: Sequence[Played], count: int) -> list[Played]:
    """Draw so many of the episodes."""
    return seeds.stream(0, "learned from").sample(episodes, count)


def by_agent(episodes: Iterable[Played]) -> dict[str, list[EpisodeScore]]:
    """Score episodes by the true tools, agent by agent."""
    tools = StoreWorld().tools(ALTERNATIVES)
    found: dict[str, list[EpisodeScore]] = {}
    for steps, end in episodes:
        found.setdefault(end.key.agent, []).append(score_episode(end, steps, tools))
    return found


def difference(
    metric: str, a: Iterable[EpisodeScore], b: Iterable[EpisodeScore], scenarios: Sequence[Scenario] = RECOVERABLE
) -> Paired:
    """Return `a` minus `b` over their conclusive pairs."""
    sides = [
        {(s.key.task, s.key.scenario, s.key.seed): s for s in side if s.conclusive and s.key.scenario in scenarios}
        for side in (a, b)
    ]
    found = paired(metric, *sides)
    assert found is not None
    return found


def curve(world: StoreWorld, train: Hall, held_out: Hall) -> None:
    """Print the gain over `off` by the number of episodes that were learned."""
    rollouts = train.play(TEACHERS)
    off = by_agent(held_out.play([remember.named(agent, Mode.OFF) for agent in AGENTS]))
    static = by_agent(held_out.play([remember.named(agent, Mode.STATIC) for agent in AGENTS]))
    for agent in AGENTS:
        told = difference("pass_rate", static[f"{agent}+static"], off[f"{agent}+off"])
        print(f"{agent}: static structure {points(told)}")
    for count in LEARNED:
        if count > len(rollouts):
            break
        memory = learned(spread(rollouts, count), world.tools(ALTERNATIVES))
        found = by_agent(held_out.play([remember.named(agent, Mode.POSTERIOR) for agent in AGENTS], memory))
        cells = (
            f"{agent} {points(difference('pass_rate', found[f'{agent}+posterior'], off[f'{agent}+off']))}"
            for agent in AGENTS
        )
        print(f"learned from {count:>4} episodes: {'; '.join(cells)}")


def wrong_map(declared: Mapping[str, Tool], train: Hall, held_out: Hall) -> None:
    """Print whether a wrong map is found out, and what it does beside no memory and beside no map."""
    memory = learned(replace(train, world=Redeclared(declared)).play(TEACHERS), declared)
    standings = [path.standing for path in fallbacks(memory)]
    print(", ".join(f"{standings.count(one)} {one}" for one in Standing), "of", len(standings), "declared paths")
    posterior = [remember.named(agent, Mode.POSTERIOR) for agent in AGENTS]
    off = [remember.named(agent, Mode.OFF) for agent in AGENTS]
    found = by_agent(replace(held_out, world=Redeclared(declared)).play([*off, *posterior], memory))
    mapless = by_agent(replace(held_out, world=Redeclared(pathless(declared))).play(posterior, memory))
    for agent in AGENTS:
        one = found[f"{agent}+posterior"]
        for beside, other in (
            ("off", found[f"{agent}+off"]),
            ("posterior without a map", mapless[f"{agent}+posterior"]),
        ):
            passed, wrong = difference("pass_rate", one, other), difference("wrong_effects", one, other, STUDIED)
            print(f"{agent}: posterior minus {beside}: passed {points(passed)}, wrong effects {points(wrong)}")


def points(one: Paired) -> str:
    """Write a difference in points."""
    return f"{100 * one.difference:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"


def main() -> None:
    """Measure both."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    world = StoreWorld()
    train = Hall(world=world, tasks=world.tasks("train", count), seeds=(0, 1, 2))
    held_out = Hall(world=world, tasks=world.tasks("held-out", count), seeds=(0, 1, 2))
    print(f"episodes needed, store, {count} tasks")
    curve(world, train, held_out)
    for swap in range(2):
        print(f"map swapped at random, draw {swap}")
        wrong_map(swapped(world.tools(ALTERNATIVES), swap), train, held_out)


if __name__ == "__main__":
    main()
