"""The gold run: a task's plan on clean state, which fixes what the checker expects."""

from __future__ import annotations

from typing import Any

from breakfall.errors import RunError
from breakfall.vocab import ALTERNATIVES, Failed, Task
from breakfall.vocab.binding import Resolver, Result
from breakfall.worlds.store.catalogue import entries_of
from breakfall.worlds.store.check import STATE_FIELDS, effect_key, state_value
from breakfall.worlds.store.environment import StoreEnvironment
from breakfall.worlds.store.state import State


class StillClock:
    """A clock that stands at the start of the episode."""

    def now(self) -> float:
        """Return 0."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Let no time pass."""


def play(task: Task, environment: StoreEnvironment) -> Resolver:
    """Follow a task's plan and return what its steps came to.

    Raises:
        RunError: A tool refused a step, so the plan is wrong.
    """
    resolver = Resolver(task.facts)
    for step in task.plan:
        if not all(resolver.holds(condition) for condition in step.when):
            continue
        arguments, _ = resolver.arguments(step.arguments)
        outcome = environment.run(step.tool, arguments)
        if isinstance(outcome, Failed):
            raise RunError(f"task {task.id}, step {step.id}: {step.tool} refused {arguments}: {outcome.message}")
        resolver.results[step.id] = Result(step.id, outcome.value)
    return resolver


def expectations(task: Task, owner: str | None, forbidden: tuple[str, ...]) -> dict[str, Any]:
    """Run the plan and return the task's `details`: effects, state, answer, owner, forbidden effects.

    Args:
        task: The task, still without details.
        owner: Whose records may be touched.
        forbidden: Names of effects that must not happen.
    """
    environment = StoreEnvironment(task, entries_of(ALTERNATIVES), {}, StillClock())
    resolver = play(task, environment)
    state = environment.state
    answer, _ = resolver.arguments(task.answer)
    return {
        "effects": [effect_key(effect, state.created) for effect in environment.effects],
        "state": _changes(state),
        "answer": answer,
        "owner": owner,
        "forbidden": list(forbidden),
    }


def _changes(state: State) -> list[list[Any]]:
    """Return [what, key, field, value] for all that the plan changed in records that were there before."""
    kinds = {kind: what for what, (kind, _) in STATE_FIELDS.items()}
    found = []
    for kind, key, before in state.changed():
        if before is None or kind not in kinds:
            continue
        what = kinds[kind]
        after = state.find(kind, key)
        found += [
            [what, key, field, state_value(state, what, key, field)]
            for field in STATE_FIELDS[what][1]
            if getattr(before, field) != getattr(after, field)
        ]
    return found
