"""A player of BFCL tasks: follows a plan call by call on one environment, without faults."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from breakfall.vocab import NATIVE, Answer, Environment, Ok, Task, Verdict
from breakfall.vocab.binding import Resolver, Result
from breakfall.worlds.bfcl import BfclWorld, state


class Clock:
    """No tool of this world reads it."""

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        return None


class Player:
    """Plays a task's plan call by call on one environment."""

    def __init__(self, world: BfclWorld, task: Task, condition: str = NATIVE) -> None:
        self.env: Environment = world.open(task, condition, Clock())
        self.task = task
        self.resolver = Resolver(task.facts)
        self.turn = 0

    def calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the plan's calls with bound arguments; `note` must be told each one's value."""
        for step in self.task.plan:
            self.reach(step.turn)
            self.step = step.id
            yield step.tool, self.resolver.arguments(step.arguments)[0]
        self.reach(len(self.task.turns))

    def reach(self, turn: int) -> None:
        while self.turn < turn:
            self.env.next_turn()
            self.turn += 1

    def note(self, value: Any) -> None:
        self.resolver.results[self.step] = Result(self.step, value)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Make a call that must not be refused and return its value."""
        outcome = run(self.env.call(tool, arguments))
        assert isinstance(outcome, Ok), (self.task.id, tool, arguments, outcome)
        return outcome.value

    def play(self, twice: str = "", without: str = "") -> Verdict:
        """Play the plan, one tool's calls twice or not at all, and judge it."""
        for tool, arguments in self.calls():
            if tool == without:
                continue
            outcome = run(self.env.call(tool, arguments))
            assert isinstance(outcome, Ok) or without, (self.task.id, tool, arguments, outcome)
            self.note(outcome.value if isinstance(outcome, Ok) else None)
            if tool == twice:
                run(self.env.call(tool, arguments))
        return self.env.check(Answer(), ())


def run(call: Any) -> Any:
    """Run one of the environment's coroutines, which never wait."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the environment waited")


def task(world: BfclWorld, name: str) -> Task:
    return next(task for task in world.tasks(name.split("multi_turn_")[1].rsplit("_", 1)[0], None) if task.id == name)


def tasks_with(world: BfclWorld, tool: str) -> list[Task]:
    return [task for task in world.tasks("base", None) if any(step.tool == tool for step in task.plan)]


def facts_of(env: Environment, name: str) -> Any:
    """The frozen state of one class."""
    return state.frozen(env._live[name])  # type: ignore[attr-defined]


def answers(world: BfclWorld, each: Task) -> bytes:
    player = Player(world, each)
    values = []
    for tool, arguments in player.calls():
        values.append(player.call(tool, arguments))
        player.note(values[-1])
    return msgspec.json.encode([each, values, list(player.env.effects), player.env.check(Answer(), ())])


def digest(world: BfclWorld) -> str:
    """Hash all tasks, answers and effects, and a refusal that spells out a set."""
    found = hashlib.sha256()
    for split in world.splits:
        for each in world.tasks(split, None):
            found.update(answers(world, each))
    flight = next(each for each in world.tasks("base", None) if any(step.tool == "book_flight" for step in each.plan))
    player = Player(world, flight)
    for tool, arguments in player.calls():
        if tool == "book_flight":
            refused = run(player.env.call(tool, {**arguments, "travel_class": "steerage"}))
            found.update(msgspec.json.encode(refused))
        player.note(player.call(tool, arguments))
    return found.hexdigest()
