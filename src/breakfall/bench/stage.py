"""The stage: prepares tasks once per process and plays single episodes on them."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from breakfall import catalog
from breakfall.bench import remember
from breakfall.bench.matrix import Unit
from breakfall.bench.rehearse import rehearse
from breakfall.errors import RunError
from breakfall.faults.profile import PROFILES, Profile
from breakfall.faults.scenario import Blockade, Openings, plan
from breakfall.ledger.line import check_readable
from breakfall.memory.beliefs import Memory
from breakfall.runtime.episode import Setup, broken, run_episode
from breakfall.runtime.spec import AgentSpec
from breakfall.runtime.toolbox import Limits, OutOfBudget
from breakfall.vocab import Ending, EpisodeEnd, EpisodeKey, NotApplicable, Scenario, Step, Task

Played: TypeAlias = tuple[list[Step], EpisodeEnd] | NotApplicable

Watch: TypeAlias = Callable[[float], None]
"""Told when code of someone else's is overdue, on the monotonic clock; 0 when it has come back."""

PATIENCE = 3
"""An agent that is too late so often in a row is not waited for again in the same work unit."""

_GRACE_S = 2.0


def watch_nothing(due_s: float) -> None:
    """Tell nobody."""


class Stage:
    """Plays episodes under one profile, memory and set of limits; keeps tasks and rehearsals between them."""

    def __init__(
        self, profile: Profile, limits: Limits, memory: Memory | None = None, watch: Watch = watch_nothing
    ) -> None:
        self._profile = profile
        self._limits = limits
        self._memory = memory
        self._watch = watch
        self._unit: Unit | None = None
        self._late: dict[str, int] = {}
        """How often in a row an agent was too late in this unit."""
        self._agents: dict[str, AgentSpec] = {}
        self._tasks: dict[tuple[str, str, int | None], dict[str, Task]] = {}
        self._openings: dict[tuple[str, str, str], Openings | RunError] = {}
        self._drawn: tuple[object, Blockade | str] = (None, "")

    async def play(self, unit: Unit, key: EpisodeKey) -> Played:
        """Play one episode of a unit; what goes wrong in it is its outcome and reaches no other episode.

        Raises:
            UsageError: The world or the agent cannot be loaded.
        """
        if unit is not self._unit:
            self._unit, self._late = unit, {}
        if self._late.get(key.agent, 0) >= PATIENCE:
            return [], broken(key, Ending.OUT_OF_BUDGET, untried(self._limits))
        world = catalog.world(unit.source)
        agent = self._agent(key.agent)
        try:
            task = self._task(unit)
            blockade = self._blockade(unit, key, await self._rehearsed(unit, task))
        except RunError as error:
            return [], broken(key, Ending.WORLD_ERROR, str(error))
        if isinstance(blockade, str):
            return NotApplicable(key=key, reason=blockade)
        setup = Setup(
            world=world,
            condition=key.condition,
            task=task,
            scenario=key.scenario,
            seed=key.seed,
            profile=PROFILES["clean"] if key.scenario is Scenario.CLEAN else self._profile,
            agent=agent,
            blockade=blockade,
            limits=self._limits,
        )
        if agent.built_in and catalog.trusted(unit.source):
            return await run_episode(setup)
        return await self._play_foreign(setup)

    def _agent(self, name: str) -> AgentSpec:
        if name not in self._agents:
            self._agents[name] = remember.agent(name, self._memory)
        return self._agents[name]

    async def _play_foreign(self, setup: Setup) -> Played:
        """Play an episode with code of someone else's in it, which may do anything."""
        key = setup.key
        began_s = time.monotonic()
        self._watch(began_s + self._limits.wall_s + 2 * _GRACE_S)
        try:
            with _at_home(), _alarm(self._limits.wall_s + _GRACE_S), _world_boundary(key.world):
                steps, end = await run_episode(setup)
        except OutOfBudget as error:
            steps, end = [], broken(key, Ending.OUT_OF_BUDGET, str(error))
        except RunError as error:
            steps, end = [], broken(key, Ending.WORLD_ERROR, str(error))
        try:
            check_readable(steps, end)
        except RunError as error:
            steps, end = [], broken(key, Ending.AGENT_ERROR, without_name(error, key))
        self._watch(0.0)
        late = end.ending is Ending.OUT_OF_BUDGET and time.monotonic() - began_s >= self._limits.wall_s
        self._late[key.agent] = self._late.get(key.agent, 0) + 1 if late else 0
        return steps, end

    def _task(self, unit: Unit) -> Task:
        place = (unit.source, unit.split, unit.limit)
        if place not in self._tasks:
            with _world_boundary(unit.world):
                found = catalog.world(unit.source).tasks(unit.split, unit.limit)
            self._tasks[place] = {task.id: task for task in found}
        try:
            return self._tasks[place][unit.task]
        except KeyError:
            raise RunError(f"{unit.world}: split {unit.split!r} no longer has task {unit.task!r}") from None

    async def _rehearsed(self, unit: Unit, task: Task) -> Openings:
        place = (unit.source, unit.condition, unit.task)
        if place not in self._openings:
            try:
                with _world_boundary(unit.world):
                    self._openings[place] = await rehearse(catalog.world(unit.source), task, unit.condition)
            except RunError as error:
                self._openings[place] = error
        found = self._openings[place]
        if isinstance(found, RunError):
            raise found
        return found

    def _blockade(self, unit: Unit, key: EpisodeKey, openings: Openings) -> Blockade | str:
        """Draw the blockade, which all agents share."""
        place = (unit.source, unit.condition, key.task, key.scenario, key.seed)
        if self._drawn[0] != place:
            drawn = plan(key.scenario, openings, seed=key.seed, world=unit.world, task=key.task)
            self._drawn = (place, drawn)
        return self._drawn[1]


def untried(limits: Limits) -> str:
    """Say why an episode of an agent that is always late was not played."""
    return f"not tried: the agent did not stop within {limits.wall_s:g} s, {PATIENCE} times in a row in this task"


def without_name(error: RunError, key: EpisodeKey) -> str:
    """Return an error's text without the episode's name, so that equal errors of many episodes are one."""
    return str(error).replace(f"episode {key.id}", "the episode")


@contextmanager
def _world_boundary(world: str) -> Iterator[None]:
    """Turn whatever a world raises into a `RunError` that names it."""
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        raise RunError(f"world {world!r}: {type(error).__name__}: {error}") from error


@contextmanager
def _at_home() -> Iterator[None]:
    """Come back to the current directory afterwards, which the next episode may rely on."""
    home = Path.cwd()
    try:
        yield
    finally:
        with suppress(OSError):
            os.chdir(home)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Break off code that computes on and on without ever awaiting; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if asyncio.current_task() is not None:  # else nothing computes, and the event loop itself would break
            raise OutOfBudget(f"the agent did not stop within {seconds:g} s and did not await")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
