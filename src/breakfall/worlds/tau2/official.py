"""τ²'s own evaluation of an episode, given only the calls that really ran, with their true results.

It runs those calls again on a database that it loads anew, so it takes a hundred times as long as an episode: scores
come from the live state, and this is for comparing them with the official ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from breakfall.worlds.gold.case import Executed
from breakfall.worlds.tau2.package import Package, imported
from breakfall.worlds.tau2.session import Tau2Session, text_of


class Reward(Struct, frozen=True, kw_only=True):
    """What τ² gives an episode, by the parts that it names; assertions in natural language are left out."""

    database: bool
    parts: dict[str, float]
    """Of the task's reward basis."""

    @property
    def total(self) -> float:
        """The reward: the product of its parts."""
        product = 1.0
        for part in self.parts.values():
            product *= part
        return product


def messages(executed: Sequence[Executed], session: Tau2Session, said: str) -> list[Any]:
    """Write the calls that ran, and what the user was told, as τ²'s messages.

    Args:
        executed: The calls that really ran.
        session: Any session of the domain: it knows whose tool each one is.
        said: The answer's text.
    """
    kinds = imported("tau2.data_model.message")
    found: list[Any] = []
    for nth, each in enumerate(executed):
        requestor = session.requestor(each.tool)
        speaker = kinds.UserMessage if requestor == "user" else kinds.AssistantMessage
        call = kinds.ToolCall(id=str(nth), name=each.tool, arguments=each.arguments, requestor=requestor)
        failed = each.ran.error is not None
        found += [
            speaker(role=requestor, tool_calls=[call]),
            kinds.ToolMessage(id=str(nth), role="tool", content=text_of(each.ran), requestor=requestor, error=failed),
        ]
    return [*found, kinds.AssistantMessage(role="assistant", content=said)] if said else found


def reward(package: Package, task: str, trajectory: Sequence[Any]) -> Reward:
    """Let τ²'s evaluators judge messages.

    Args:
        package: The installed package, for the domain.
        task: The task's id.
        trajectory: The messages of the whole episode.

    Raises:
        ValueError: A call does not answer now as it did then.
    """
    found = next(each for each in package.all_tasks if each.id == task)
    history = found.initial_state.message_history if found.initial_state else None
    return reward_of(package, found, [*(history or ()), *trajectory])


def reward_of(package: Package, task: Any, trajectory: list[Any]) -> Reward:
    """Let τ²'s evaluators judge messages of one of its tasks; see `reward`."""
    environment = imported("tau2.evaluator.evaluator_env").EnvironmentEvaluator.calculate_reward(
        environment_constructor=package.constructor, task=task, full_trajectory=trajectory
    )
    found = {part.value: value for part, value in (environment.reward_breakdown or {}).items()}
    for name in ("action", "communicate"):
        evaluators = imported(f"tau2.evaluator.evaluator_{name}")
        judged = getattr(evaluators, f"{name.capitalize()}Evaluator").calculate_reward(
            task=task, full_trajectory=trajectory
        )
        found.update({part.value: value for part, value in judged.reward_breakdown.items()})
    basis = [part.value for part in task.evaluation_criteria.reward_basis]
    database = environment.db_check is None or environment.db_check.db_match
    return Reward(database=database, parts={part: found[part] for part in basis if part in found})
