"""The plan agent: follows a task's plan without a model, with arguments bound to earlier results."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from breakfall.vocab import Answer, Ok, PlanStep, Task, Toolbox
from breakfall.vocab.binding import Resolver, Result, Unbound

_REREADS = 2


class _Stopped(Exception):
    """The plan cannot go on."""


class PlanAgent(Struct, frozen=True, kw_only=True):
    """Follows the plan as a model that knows the right plan would: a corrupted read leads to a wrong write.

    Args:
        careful: Read again when a result lacks what a later step needs, and hand over to a person when the plan
            cannot go on. A careless agent just answers that it failed.
    """

    careful: bool

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        """Do the task and return the answer."""
        run = _Run(task, toolbox, careful=self.careful)
        try:
            for step in task.plan:
                await run.reach_turn(step.turn)
                await run.step(step)
            await run.reach_turn(len(task.turns))
            facts, sources = await run.answer()
        except _Stopped as stopped:
            reason = str(stopped)
            handoff = toolbox.handoff(reason) if self.careful else None
            return Answer(text=f"The task could not be finished: {reason}", steered=run.steered, handoff=handoff)
        return Answer(text=_worded(facts), facts=facts, sources=sources, steered=run.steered)


class _Run:
    """One run of one plan."""

    __slots__ = ("calls", "careful", "rereads", "resolver", "steered", "task", "toolbox", "turn")

    def __init__(self, task: Task, toolbox: Toolbox, *, careful: bool) -> None:
        self.task = task
        self.toolbox = toolbox
        self.careful = careful
        self.resolver = Resolver(task.facts)
        self.calls: dict[str, PlanStep] = {}
        self.steered: dict[str, Any] = {}
        self.rereads = 0
        self.turn = 0

    async def reach_turn(self, turn: int) -> None:
        """Let the user speak until it is this turn."""
        while self.turn < turn:
            await self.toolbox.say("Done.")
            self.turn += 1

    async def step(self, step: PlanStep) -> None:
        """Make one step of the plan, or pass it over when its conditions do not hold."""
        while True:
            read: dict[str, Any] = {}
            try:
                if not all(self.resolver.holds(condition, read) for condition in step.when):
                    self.steered |= read
                    return
                arguments, sources = self.resolver.arguments(step.arguments)
                self.steered |= read
                break
            except Unbound as error:
                await self.read_again(error)
        outcome = await self.toolbox.call(
            step.tool,
            arguments,
            expected=step.expected,
            context=self.context(step),
            sources=sources,
            again=True,  # each step of a plan is meant
        )
        if isinstance(outcome, Ok):
            self.resolver.results[step.id] = Result(self.toolbox.last_call, outcome.value)
            self.calls[step.id] = step
        elif not outcome.native:
            raise _Stopped(f"{step.tool} failed: {outcome.message}")

    def context(self, step: PlanStep) -> dict[str, Any]:
        """Resolve what else is known; what is not known is left out."""
        known = {}
        for name, bound in step.context.items():
            try:
                known[name] = self.resolver.arguments({name: bound})[0][name]
            except Unbound:
                continue
        return known

    async def read_again(self, missing: Unbound) -> None:
        """Call the read again whose result lacks what is needed.

        Raises:
            _Stopped: Nothing can be read again, or it was read again often enough.
        """
        step = self.calls.get(missing.step or "")
        if not self.careful or step is None or self.toolbox.tools[step.tool].writes or self.rereads >= _REREADS:
            raise _Stopped(str(missing)) from None
        self.rereads += 1
        await self.step(step)

    async def answer(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Resolve the facts that the answer gives; one whose step was passed over is left out."""
        facts: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for name, bound in self.task.answer.items():
            while True:
                try:
                    found, where = self.resolver.arguments({name: bound})
                    facts.update(found)
                    sources.update(where)
                    break
                except Unbound as error:
                    if error.step is not None and error.step not in self.resolver.results:
                        break
                    await self.read_again(error)
        return facts, sources


def _worded(facts: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in facts.items()) or "Done."
