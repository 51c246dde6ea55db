"""A player of tasks with gold calls: follows a plan call by call on one environment, without faults."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from tests.integration.bfcl.player import run

from breakfall.runtime.clock import VirtualClock
from breakfall.vocab import NATIVE, Answer, Ok, Task, Verdict
from breakfall.vocab.binding import Resolver, Result, Unbound
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.world import GoldWorld


class Player:
    """Plays a task's plan call by call on one environment."""

    def __init__(self, world: GoldWorld, task: Task, condition: str = NATIVE) -> None:
        environment = world.open(task, condition, VirtualClock())
        assert isinstance(environment, GoldEnvironment)
        self.env = environment
        self.task = task
        self.resolver = Resolver(task.facts)
        self.values: list[Any] = []

    def calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the plan's calls with bound arguments; one whose source was refused or left out is passed over."""
        for step in self.task.plan:
            self.step = step.id
            try:
                arguments = self.resolver.arguments(step.arguments)[0]
            except Unbound:
                continue
            yield step.tool, arguments

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Make a call and note its value for later steps."""
        outcome = run(self.env.call(tool, arguments))
        self.values.append(outcome)
        if isinstance(outcome, Ok):
            self.resolver.results[self.step] = Result(self.step, outcome.value)
        return outcome

    def play(self, twice: str = "", without: str = "") -> Verdict:
        """Play the plan, one tool's calls twice or not at all, and judge it."""
        for tool, arguments in self.calls():
            if tool == without:
                continue
            self.call(tool, arguments)
            if tool == twice:
                run(self.env.call(tool, arguments))
        return self.judge()

    def answer(self) -> Answer:
        """Give the answer that the plan's results lead to."""
        facts: dict[str, Any] = {}
        for name, bound in self.task.answer.items():
            try:
                facts |= self.resolver.arguments({name: bound})[0]
            except Unbound:
                continue
        return Answer(text="; ".join(map(str, facts.values())), facts=facts)

    def judge(self) -> Verdict:
        return self.env.check(self.answer(), ())


def tasks_with(world: GoldWorld, tool: str) -> list[Task]:
    return [task for task in world.tasks(world.splits[0], None) if any(step.tool == tool for step in task.plan)]


def answers(world: GoldWorld, task: Task) -> bytes:
    """Everything that an episode of a task shows, as bytes."""
    player = Player(world, task)
    verdict = player.play()
    return msgspec.json.encode([task, player.values, list(player.env.effects), verdict])


def digest(world: GoldWorld) -> str:
    """Hash the tasks of the default split, their answers and their effects."""
    found = hashlib.sha256()
    for task in world.tasks(world.splits[0], None):
        found.update(answers(world, task))
    return found.hexdigest()
