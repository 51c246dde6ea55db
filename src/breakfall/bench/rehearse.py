"""Rehearse a task without noise: which tools its plan needs, and which other paths really suffice."""

from __future__ import annotations

from breakfall import catalog
from breakfall.errors import RunError
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade, Openings
from breakfall.runtime.episode import Setup, run_episode
from breakfall.vocab import EpisodeEnd, FaultKind, Scenario, Step, Task, World


async def rehearse(world: World, task: Task, condition: str) -> Openings:
    """Find the ways through a task on its own initial state.

    A path suffices when the whole task passes with its tool shut and this path alone to stand in for it.

    Raises:
        RunError: The plan does not pass even with nothing shut, so the task measures nothing.
    """
    steps, end = await _run(world, task, condition, Blockade(), ())
    if not end.verdict.passed:
        why = end.error or "; ".join((*end.verdict.missing_effects, *end.verdict.wrong_effects, *end.verdict.notes))
        raise RunError(f"{world.name}: the plan of task {task.id!r} does not pass without faults: {why or end.ending}")
    needed = tuple(dict.fromkeys(step.tool for step in steps))
    tools = world.tools(condition)
    paths = {name: tuple(path.tool for path in tools[name].paths) for name in needed if tools[name].paths}
    sufficient = {}
    for name, others in paths.items():
        found = [other for other in others if await _suffices(world, task, condition, (name, other), others)]
        if found:
            sufficient[name] = tuple(found)
    return Openings(needed=needed, sufficient=sufficient, paths=paths)


async def _suffices(world: World, task: Task, condition: str, pair: tuple[str, str], others: tuple[str, ...]) -> bool:
    name, other = pair
    told = (name, *(tool for tool in others if tool != other))
    blockade = Blockade(tools=(name,), kinds={name: FaultKind.SERVER_ERROR}, for_tool=name)
    steps, end = await _run(world, task, condition, blockade, told)
    return end.verdict.passed and {step.tool for step in steps if step.path_of == name} == {other}


async def _run(
    world: World, task: Task, condition: str, blockade: Blockade, told: tuple[str, ...]
) -> tuple[list[Step], EpisodeEnd]:
    setup = Setup(
        world=world,
        condition=condition,
        task=task,
        scenario=Scenario.CLEAN,
        seed=0,
        profile=PROFILES["clean"],
        agent=catalog.AGENTS["oracle"],
        blockade=blockade,
        told=told,
    )
    return await run_episode(setup)
