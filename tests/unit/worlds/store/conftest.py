"""What the store's tests share: a clock set by hand, and every call that the gold plans make, with what led to it."""

import asyncio

import pytest

from breakfall.vocab import ALTERNATIVES, Failed
from breakfall.vocab.binding import Resolver, Result
from breakfall.worlds.store import StoreWorld


class HandClock:
    """A clock that the test sets."""

    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return self.seconds

    async def sleep(self, seconds):
        self.seconds += seconds


class Bench:
    """One open store and its clock; `call` lets a second pass and answers."""

    def __init__(self, world, task, condition=ALTERNATIVES):
        self.clock = HandClock()
        self.store = world.open(task, condition, self.clock)

    def call(self, tool, arguments):
        self.clock.seconds += 1.0
        return asyncio.run(self.store.call(tool, arguments))

    def value(self, tool, arguments):
        outcome = self.call(tool, arguments)
        assert not isinstance(outcome, Failed), outcome
        return outcome.value

    def play(self, task):
        """Follow the plan; yield before each call what is about to be called, and afterwards remember what came."""
        resolver = Resolver(task.facts)
        for step in task.plan:
            if all(resolver.holds(condition) for condition in step.when):
                arguments, context = resolver.arguments(step.arguments)[0], resolver.arguments(step.context)[0]
                yield step.tool, arguments, context
                resolver.results[step.id] = Result(step.id, self.value(step.tool, arguments))
        self.facts = resolver.arguments(task.answer)[0]


class Moment:
    """A call of a gold plan: `bench()` opens a store in which everything before it has happened."""

    def __init__(self, world, task, prior, tool, arguments, context):
        self.world, self.task, self.prior = world, task, prior
        self.tool, self.arguments, self.context = tool, arguments, context

    def bench(self):
        made = Bench(self.world, self.task)
        for tool, arguments in self.prior:
            made.value(tool, arguments)
        return made


@pytest.fixture(scope="session")
def world():
    return StoreWorld()


@pytest.fixture(scope="session")
def opened(world):
    """Open a store for a task (any task will do by default)."""

    def opener(task=None, condition=ALTERNATIVES):
        return Bench(world, task or world.tasks("train", 1)[0], condition)

    return opener


@pytest.fixture(scope="session")
def moments(world):
    """Every call of the gold plans of 150 tasks."""
    found = []
    for task in world.tasks("train", 150):
        made, prior = Bench(world, task), []
        for tool, arguments, context in made.play(task):
            found.append(Moment(world, task, tuple(prior), tool, arguments, context))
            prior.append((tool, arguments))
    return found
