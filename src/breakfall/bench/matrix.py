"""The matrix of a bench: which worlds, tasks, scenarios, seeds and agents, expanded in one fixed order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from math import prod

from msgspec import Struct

from breakfall import catalog
from breakfall.bench import remember, setting
from breakfall.errors import UsageError, unknown_name
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import EpisodeKey, Scenario, World

_UNIT_EPISODES = 128
"""A work unit holds about so many episodes: enough to make handing it out cheap, few enough to spread."""


_MOST_TASKS = 100_000
_MOST_EPISODES = 10_000_000
"""A run is reported from memory, so it must have an end in sight."""


class Spec(Struct, frozen=True, kw_only=True):
    """What a run runs. The same spec, code and data give the same episodes, byte for byte."""

    worlds: tuple[str, ...] = ("store",)
    conditions: tuple[str, ...] = ()
    """Empty: each world's default one."""
    tasks: str = "100"
    """`N` tasks of each world's default split, all of a `SPLIT`, `SPLIT:N`, or `SPLIT:A-B/S`.

    The last is every S-th task from the A-th to the B-th; without `/S`, every one.
    """
    scenarios: tuple[Scenario, ...] = tuple(Scenario)
    agents: tuple[str, ...] = tuple(catalog.AGENTS)
    """Names of agents; NAME+MODE is one with `memory` in a mode."""
    memory: str = ""
    """The memory's file; "" is none."""
    profile: str = "paper"
    """A built-in profile's name or a TOML file's path; CLEAN always runs without noise."""
    seeds: int = 5
    """Seeds 0 to `seeds` - 1."""
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Refuse what would run nothing or the same episode twice."""
        if self.seeds < 1:
            raise UsageError(f"--seeds is {self.seeds}, must be at least 1")
        for flag in ("worlds", "scenarios", "agents"):
            if not getattr(self, flag):
                raise UsageError(f"no {flag} given; at least one is needed")
        for flag in ("worlds", "conditions", "scenarios", "agents"):
            values = getattr(self, flag)
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise UsageError(f"{flag} name {str(twice[0])!r} twice; once is enough")
        self.require_an_end(1)

    def require_an_end(self, tasks: int) -> None:
        """Refuse more episodes than one run can hold.

        Raises:
            UsageError: So many tasks would make more.
        """
        sizes = (tasks, len(self.scenarios), len(self.agents), self.seeds)
        if prod(sizes) > _MOST_EPISODES:
            raise UsageError(
                f"these are {prod(sizes):,} episodes (tasks × scenarios × agents × seeds: "
                f"{' × '.join(f'{size:,}' for size in sizes)}), a run holds up to {_MOST_EPISODES:,}; choose fewer"
            )

    @property
    def command(self) -> str:
        """The command that runs this again."""
        parts = ["breakfall", "bench", "--world", ",".join(self.worlds)]
        parts += ["--tasks", self.tasks, "--scenarios", ",".join(self.scenarios), "--agents", ",".join(self.agents)]
        parts += ["--profile", self.profile, "--seeds", str(self.seeds)]
        parts += setting.written(self.conditions, self.memory, self.limits)
        return shlex.join(parts)


class Unit(Struct, frozen=True, kw_only=True):
    """Episodes of one task that one worker runs in a row, so that it prepares the task once."""

    source: str
    """What `catalog.world` loads the world by."""
    world: str
    condition: str
    split: str
    limit: int | None
    """The task is among the first `limit` of the split."""
    task: str
    scenarios: tuple[Scenario, ...]
    seeds: tuple[int, ...]
    agents: tuple[str, ...]

    def episodes(self) -> Iterator[EpisodeKey]:
        """Yield the episodes in the order in which they run."""
        for scenario in self.scenarios:
            for seed in self.seeds:
                for agent in self.agents:
                    yield self.key(scenario, seed, agent)

    def key(self, scenario: Scenario, seed: int, agent: str) -> EpisodeKey:
        """Return the key of one episode."""
        return EpisodeKey(
            world=self.world, condition=self.condition, agent=agent, scenario=scenario, task=self.task, seed=seed
        )

    @property
    def foreign(self) -> bool:
        """Whether code of someone else's runs in it, which may do anything to its process."""
        return not catalog.trusted(self.source, (remember.parted(name)[0] for name in self.agents))

    @property
    def size(self) -> int:
        """How many episodes it holds."""
        return len(self.scenarios) * len(self.seeds) * len(self.agents)


def expand(spec: Spec) -> list[Unit]:
    """Expand a spec into work units, always the same ones in the same order.

    Raises:
        UsageError: A world, condition, split or agent does not exist, or a split has too few tasks.
    """
    for name in spec.agents:
        remember.check(name, has_memory=bool(spec.memory))
    per_seed = len(spec.scenarios) * len(spec.agents)
    stride = max(1, _UNIT_EPISODES // per_seed)
    chunks = [tuple(range(start, min(start + stride, spec.seeds))) for start in range(0, spec.seeds, stride)]
    units = []
    for name in spec.worlds:
        world = catalog.world(name)
        choice = _chosen(spec.tasks, world)
        if choice.last is not None:
            spec.require_an_end((choice.last - choice.first) // choice.step + 1)
        tasks = _tasks(world, choice.split, choice.last)[choice.first - 1 :: choice.step]
        spec.require_an_end(len(tasks))
        for condition in conditions_of(spec, world):
            units += [
                Unit(
                    source=name,
                    world=world.name,
                    condition=condition,
                    split=choice.split,
                    limit=choice.last,
                    task=task,
                    scenarios=spec.scenarios,
                    seeds=seeds,
                    agents=spec.agents,
                )
                for task in tasks
                for seeds in chunks
            ]
    return units


def conditions_of(spec: Spec, world: World) -> tuple[str, ...]:
    """Return the conditions in which a spec runs a world.

    Raises:
        UsageError: The world has no such condition.
    """
    for name in spec.conditions:
        if name not in world.conditions:
            raise unknown_name("condition", name, world.conditions, f"conditions of world {world.name!r}")
    return spec.conditions or world.conditions[:1]


class _Choice(Struct, frozen=True):
    """Which tasks of a world: every `step`-th of a split from the `first` to the `last`, counted from 1."""

    split: str
    first: int = 1
    last: int | None = None
    step: int = 1


_RANGE = re.compile(r"(?:(?P<first>\d+)-)?(?P<last>\d+)(?:/(?P<step>\d+))?")


def _chosen(tasks: str, world: World) -> _Choice:
    """Read `N`, `SPLIT`, `SPLIT:N` or `SPLIT:A-B/S` for one world."""
    split, colon, count = tasks.rpartition(":")
    if not colon:
        split, count = (world.splits[0], tasks) if tasks.isdecimal() else (tasks, "")
    if split not in world.splits:
        raise unknown_name("split", split, world.splits, f"splits of world {world.name!r}; --tasks N, SPLIT or SPLIT:N")
    if not count and not colon:
        return _Choice(split)
    found = _RANGE.fullmatch(count)
    if found is not None:
        first, last, step = (int(found[name] or 1) for name in ("first", "last", "step"))
        if last > _MOST_TASKS:
            raise UsageError(f"--tasks is {tasks!r}: there are {_MOST_TASKS:,} tasks to choose from, not {last:,}")
        if 1 <= first <= last and step >= 1:
            return _Choice(split, first, last, step)
    right = "A-B or A-B/STEP with 1 <= A <= B" if "-" in count else "a whole number from 1"
    raise UsageError(f"--tasks is {tasks!r}: the number of tasks is {count!r}, must be {right}")


def _tasks(world: World, split: str, limit: int | None) -> list[str]:
    with catalog.asking(f"world {world.name!r}", f"tasks({split!r}, {limit}) failed"):
        found = [task.id for task in world.tasks(split, limit)]
    if limit is not None and len(found) < limit:
        raise UsageError(
            f"split {split!r} of world {world.name!r} has {len(found)} tasks, {limit} were asked for; "
            f"use --tasks {split}"
        )
    return found
