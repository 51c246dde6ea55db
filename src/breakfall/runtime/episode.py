"""One episode: one agent does one task in one world under one scenario."""

from __future__ import annotations

from typing import Any

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
        return [], _end(key, (), Ending.WORLD_ERROR, Answer(), _UNJUDGED, error=_named(error))
    toolbox = _toolbox(setup, key, environment, clock)
    answer, ending, problem = await _run_agent(setup, toolbox)
    verdict = _judge(environment, answer, toolbox.steps)
    if isinstance(verdict, str):
        ending, problem, verdict = Ending.WORLD_ERROR, verdict, _UNJUDGED
    cost = Cost(tool_calls=len(toolbox.steps), seconds=round(clock.now(), 6), usd=round(toolbox.usd, 6))
    end = _end(key, setup.blockade.tools, ending, answer, verdict, error=problem, steps=len(toolbox.steps), cost=cost)
    return toolbox.steps, end


_UNJUDGED = Verdict(passed=False, state_ok=False, answer_ok=False, notes=("the episode could not be judged",))


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


async def _run_agent(setup: Setup, toolbox: EpisodeToolbox) -> tuple[Answer, Ending, str]:
    """Let the agent run; classify at this one boundary how it ended."""
    wall_s = None if setup.agent.built_in else setup.limits.wall_s
    try:
        agent: Any = setup.agent.make()
        if wall_s is None:
            answer = await agent.run(setup.task, toolbox)
        else:
            with anyio.move_on_after(wall_s) as scope:
                answer = await agent.run(setup.task, toolbox)
            if scope.cancelled_caught:
                return Answer(), Ending.OUT_OF_BUDGET, f"the agent did not stop within {wall_s:g} s"
    except OutOfBudget as spent:
        return Answer(), Ending.OUT_OF_BUDGET, str(spent) or f"the agent did not stop within {setup.limits.calls} calls"
    except BaseExceptionGroup as group:  # an agent that calls its tools from a task group
        if group.subgroup(OutOfBudget) is not None:
            return Answer(), Ending.OUT_OF_BUDGET, f"the agent did not stop within {setup.limits.calls} calls"
        if not isinstance(group, ExceptionGroup):
            raise
        return Answer(), Ending.AGENT_ERROR, _named(group)
    except WorldBroke as error:
        return Answer(), Ending.WORLD_ERROR, str(error)
    except Exception as error:
        return Answer(), Ending.AGENT_ERROR, _named(error)
    if not isinstance(answer, Answer):
        return Answer(), Ending.AGENT_ERROR, f"run() returned {type(answer).__name__}, must return an Answer"
    return answer, Ending.HANDED_OVER if answer.handoff is not None else Ending.ANSWERED, ""


def _judge(environment: Environment, answer: Answer, steps: list[Step]) -> Verdict | str:
    try:
        return environment.check(answer, steps)
    except Exception as error:
        return _named(error)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _end(
    key: EpisodeKey,
    blockaded: tuple[str, ...],
    ending: Ending,
    answer: Answer,
    verdict: Verdict,
    *,
    error: str = "",
    steps: int = 0,
    cost: Cost | None = None,
) -> EpisodeEnd:
    return EpisodeEnd(
        episode=key.id,
        key=key,
        steps=steps,
        ending=ending,
        answer=answer,
        verdict=verdict,
        blockaded=blockaded,
        cost=cost or Cost(),
        error=error,
    )
