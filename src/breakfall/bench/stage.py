"""The stage: prepares tasks once per process and plays single episodes on them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
from breakfall.runtime.episode import Setup, run_episode
from breakfall.runtime.spec import AgentSpec
from breakfall.runtime.toolbox import Limits, OutOfBudget
from breakfall.vocab import Answer, Ending, EpisodeEnd, EpisodeKey, NotApplicable, Scenario, Step, Task, Verdict

Played: TypeAlias = tuple[list[Step], EpisodeEnd] | NotApplicable

_UNJUDGED = Verdict(passed=False, state_ok=False, answer_ok=False, notes=("the episode could not be judged",))
_GRACE_S = 2.0


class Stage:
    """Plays episodes under one profile, memory and set of limits; keeps tasks and rehearsals between them."""

    def __init__(self, profile: Profile, limits: Limits, memory: Memory | None = None) -> None:
        self._profile = profile
        self._limits = limits
        self._memory = memory
        self._agents: dict[str, AgentSpec] = {}
        self._tasks: dict[tuple[str, str, int | None], dict[str, Task]] = {}
        self._openings: dict[tuple[str, str, str], Openings | RunError] = {}
        self._drawn: tuple[object, Blockade | str] = (None, "")

    async def play(self, unit: Unit, key: EpisodeKey) -> Played:
        """Play one episode of a unit; what goes wrong in it is its outcome and reaches no other episode.

        Raises:
            UsageError: The world or the agent cannot be loaded.
        """
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
        if agent.built_in and unit.source in catalog.WORLDS:
            return await run_episode(setup)
        return await self._play_foreign(setup)

    def _agent(self, name: str) -> AgentSpec:
        if name not in self._agents:
            self._agents[name] = remember.agent(name, self._memory)
        return self._agents[name]

    async def _play_foreign(self, setup: Setup) -> Played:
        """Play an episode with code of someone else's in it, which may do anything."""
        key = setup.key
        try:
            with _alarm(self._limits.wall_s + _GRACE_S), _world_boundary(key.world):
                steps, end = await run_episode(setup)
        except OutOfBudget as error:
            return [], broken(key, Ending.OUT_OF_BUDGET, str(error))
        except RunError as error:
            return [], broken(key, Ending.WORLD_ERROR, str(error))
        try:
            check_readable(steps, end)
        except RunError as error:
            return [], broken(key, Ending.AGENT_ERROR, str(error))
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


def broken(key: EpisodeKey, ending: Ending, error: str) -> EpisodeEnd:
    """Return the end of an episode of which nothing else can be told."""
    return EpisodeEnd(episode=key.id, key=key, steps=0, ending=ending, answer=Answer(), verdict=_UNJUDGED, error=error)


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
def _alarm(seconds: float) -> Iterator[None]:
    """Break off code that computes on and on without ever awaiting; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfBudget(f"the agent did not stop within {seconds:g} s and did not await")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
