"""Small worlds and agents for the tests of running: imported by name, also in worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Any

from breakfall.vocab import (
    ALTERNATIVES,
    NATIVE,
    Answer,
    AppliedEffect,
    Clock,
    Effect,
    Failed,
    Found,
    Ok,
    Outcome,
    Path,
    PlanStep,
    Step,
    Task,
    Text,
    Tool,
    Toolbox,
    Verdict,
)

_NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
_TOOLS = {
    name: Tool(
        name=name,
        description="Tell the number.",
        parameters={"type": "object"},
        returns=_NUMBER,
        effect=Effect.READ,
        fault_domain=name,
        paths=paths,
    )
    for name, paths in (("ask", (Path(tool="look"),)), ("look", ()))
}


class Room:
    """One number to be told."""

    effects: Sequence[AppliedEffect] = ()

    def __init__(self, world: Numbers, task: Task) -> None:
        self.world = world
        self.tools: Mapping[str, Tool] = _TOOLS
        self.number = task.details["number"]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        if tool not in self.tools:
            return Failed(message=f"no tool {tool!r}", status=404)
        return Ok(value=self.world.value(self.number))

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        return None

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        return await self.call(tool, arguments)

    def ids(self, kind: str) -> Sequence[str]:
        return ()

    def next_turn(self) -> None:
        return

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        right = answer.facts == {"number": self.number}
        return Verdict(passed=right, state_ok=True, answer_ok=right)


class Numbers:
    """A world whose tasks ask for a number that two tools can tell."""

    name = "numbers"
    conditions = (NATIVE, ALTERNATIVES)
    splits = ("held-out", "train")

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        count = 20 if limit is None else min(20, limit)
        return [
            Task(
                id=f"n{n}",
                world=self.name,
                template="number",
                split=split,
                instruction=Text(en="Which number is it?"),
                plan=(PlanStep(id="told", tool="ask"),),
                answer={"number": Found("told", "/number")},
                details={"number": n},
            )
            for n in range(count)
        ]

    def tools(self, condition: str) -> Mapping[str, Tool]:
        return _TOOLS

    def open(self, task: Task, condition: str, clock: Clock) -> Room:
        return Room(self, task)

    def data_hash(self) -> str:
        return "1"

    def value(self, number: int) -> Any:
        return {"number": number}


class NotANumber(Numbers):
    """Its tools answer with NaN."""

    name = "nan"

    def value(self, number: int) -> Any:
        return {"number": float("nan")}


class Large(Numbers):
    """Its tools answer with 5 MB."""

    name = "large"

    def value(self, number: int) -> Any:
        return {"number": number, "attachment": "x" * 5_000_000}


class Crooked(Numbers):
    """Its third task has a plan that cannot pass, its fourth cannot be opened."""

    name = "crooked"

    def open(self, task: Task, condition: str, clock: Clock) -> Room:
        if task.id == "n3":
            raise OSError("no such room")
        room = Room(self, task)
        if task.id == "n2":
            room.number = -1
            room.check = lambda answer, steps: Verdict(passed=False, state_ok=True, answer_ok=False)  # type: ignore[method-assign]
        return room


class Honest:
    """Asks once and says what it heard."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        outcome = await toolbox.call("ask", {})
        return Answer(facts={"number": outcome.value["number"]} if isinstance(outcome, Ok) else {})


class Raises:
    """Fails by itself."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        raise ZeroDivisionError("half an agent")


class CallsForever:
    """Asks and asks, whatever it hears."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        while True:
            try:
                await toolbox.call("ask", {})
            except Exception:
                continue


class Spins:
    """Computes for ever, and keeps what breaks it off to itself."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue


class WrongTypes:
    """Returns an answer that only looks like one."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        return Answer(text=7)  # type: ignore[arg-type]


class NoJson:
    """Returns an answer with something that is no JSON."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        return Answer(facts={"number": object()})


class DiesOnThree(Honest):
    """Takes its process with it on the task n3."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        if task.id == "n3":
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().run(task, toolbox)


class DiesOnce(Honest):
    """Takes its process with it the first time that it sees the task n3."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        mark = File(os.environ["BREAKFALL_TEST_MARK"])
        if task.id == "n3" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().run(task, toolbox)


class Slow(Honest):
    """Takes 20 ms of the real world."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        time.sleep(0.02)
        return await super().run(task, toolbox)
