"""One episode: one agent does one task in one world under one scenario."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeAlias

import anyio
from msgspec import Struct

from breakfall.faults.inject import Injector
from breakfall.faults.profile import Profile
from breakfall.faults.scenario import Blockade
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.spec import AgentSpec
from breakfall.runtime.toolbox import EpisodeToolbox, Limits, OutOfBudget, WorldBroke
from breakfall.vocab import (
    Answer,
    Cost,
    Ending,
    Environment,
    EpisodeEnd,
    EpisodeKey,
    Scenario,
    Step,
    Task,
    Verdict,
    World,
)


class Setup(Struct, frozen=True, kw_only=True):
    """Everything that fixes an episode."""

    world: World
    condition: str
    task: Task
    scenario: Scenario
    seed: int
    profile: Profile
    agent: AgentSpec
    blockade: Blockade
    limits: Limits = Limits()
    told: tuple[str, ...] | None = None
    """What an agent that is told the scenario hears is shut; None: the truth."""

    @property
    def key(self) -> EpisodeKey:
        """The episode's key in the ledger."""
        return EpisodeKey(
            world=self.world.name,
            condition=self.condition,
            agent=self.agent.name,
            scenario=self.scenario,
            task=self.task.id,
            seed=self.seed,
        )


async def run_episode(setup: Setup) -> tuple[list[Step], EpisodeEnd]:
    """Run one episode to its end; what the agent or the world does wrong is recorded, not raised."""
    key = setup.key
    clock = VirtualClock()
    try:
        environment = setup.world.open(setup.task, setup.condition, clock)
    except Exception as error:
        return [], broken(key, Ending.WORLD_ERROR, _named(error))
    toolbox = _toolbox(setup, key, environment, clock)
    answer, ending, problem = await _run_agent(setup, toolbox)
    verdict = _judge(environment, answer, toolbox.steps)
    if isinstance(verdict, str):
        ending, problem, verdict = Ending.WORLD_ERROR, verdict, _UNJUDGED
    cost = Cost(tool_calls=len(toolbox.steps), seconds=round(clock.now(), 6), usd=round(toolbox.usd, 6))
    end = EpisodeEnd(
        episode=key.id,
        key=key,
        steps=len(toolbox.steps),
        ending=ending,
        answer=answer,
        verdict=verdict,
        blockaded=setup.blockade.tools,
        cost=cost,
        error=problem,
    )
    return toolbox.steps, end


_UNJUDGED = Verdict(passed=False, state_ok=False, answer_ok=False, notes=("the episode could not be judged",))


def broken(key: EpisodeKey, ending: Ending, error: str) -> EpisodeEnd:
    """Return the end of an episode of which nothing else can be told."""
    return EpisodeEnd(episode=key.id, key=key, steps=0, ending=ending, answer=Answer(), verdict=_UNJUDGED, error=error)


def _toolbox(setup: Setup, key: EpisodeKey, environment: Environment, clock: VirtualClock) -> EpisodeToolbox:
    told = setup.blockade.tools if setup.told is None else setup.told
    injector = Injector(
        environment, setup.profile, setup.blockade, seed=setup.seed, world=setup.world.name, task=setup.task.id
    )
    return EpisodeToolbox(
        task=setup.task,
        episode=key.id,
        environment=environment,
        injector=injector,
        clock=clock,
        policy=setup.agent.policy,
        belief=setup.agent.belief,
        limits=setup.limits,
        place=(setup.seed, "recovery", setup.world.name, setup.task.id),
        shut=frozenset(told) if setup.agent.told_scenario else None,
        share_results=setup.agent.built_in,
    )


_Ended: TypeAlias = tuple[Answer, Ending, str]
"""What an agent came to: its answer, how it ended, and what went wrong."""


async def _run_agent(setup: Setup, toolbox: EpisodeToolbox) -> _Ended:
    """Let the agent run; one that is not built in gets a copy of the task, a task of its own and limited real time."""
    if setup.agent.built_in:
        return await _ended(setup, toolbox, setup.task)
    ended: list[_Ended] = []

    async def play() -> None:  # apart from ours, so that an agent that cancels its own task cancels nothing else
        ended.append(await _ended(setup, toolbox, deepcopy(setup.task)))

    with anyio.move_on_after(setup.limits.wall_s) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(play)
    if scope.cancelled_caught:
        return Answer(), Ending.OUT_OF_BUDGET, f"the agent did not stop within {setup.limits.wall_s:g} s"
    return ended[0]


async def _ended(setup: Setup, toolbox: EpisodeToolbox, task: Task) -> _Ended:
    """Run the agent; classify at this one boundary how it ended."""
    try:
        agent: Any = setup.agent.make()
        answer = await agent.run(task, toolbox)
    except BaseException as error:
        if isinstance(error, WorldBroke):
            return Answer(), Ending.WORLD_ERROR, str(error)
        if spent := _out_of_budget(error):
            return Answer(), Ending.OUT_OF_BUDGET, str(spent) or _too_many_calls(setup)
        if setup.agent.built_in and not isinstance(error, Exception):
            raise  # such as Ctrl-C; someone else's agent may raise whatever it likes, and ends nothing but itself
        return Answer(), Ending.AGENT_ERROR, _named(error)
    if not isinstance(answer, Answer):
        return Answer(), Ending.AGENT_ERROR, f"run() returned {type(answer).__name__}, must return an Answer"
    return answer, Ending.HANDED_OVER if answer.handoff is not None else Ending.ANSWERED, ""


def _out_of_budget(error: BaseException) -> BaseException | None:
    """Return the spent budget that an error is or holds, as it does for an agent that calls from a task group."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for one in error.exceptions if (found := _out_of_budget(one))), None)
    return error if isinstance(error, OutOfBudget) else None


def _too_many_calls(setup: Setup) -> str:
    return f"the agent did not stop within {setup.limits.calls} calls"


def _judge(environment: Environment, answer: Answer, steps: list[Step]) -> Verdict | str:
    try:
        return environment.check(answer, steps)
    except Exception as error:
        return _named(error)


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
