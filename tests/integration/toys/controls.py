"""Agents whose scores are known beforehand: they hold a bench's scores to account."""

from __future__ import annotations

from typing import Any

from breakfall.agents.plan import PlanAgent
from breakfall.recovery.policy import GIVE_UP, RETRY
from breakfall.runtime.spec import AgentSpec
from breakfall.vocab import Answer, Outcome, Task, Toolbox

hand_over = AgentSpec(name="controls:hand_over", make=lambda: PlanAgent(careful=True), policy=GIVE_UP, built_in=True)
"""Hands over at the first failure, with a packet that is true."""

insist = AgentSpec(name="controls:insist", make=lambda: PlanAgent(careful=True), policy=RETRY, built_in=True)
"""Repeats blindly, and then hands over."""


class _Quiet:
    """A toolbox whose user says nothing of what it knows."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def __getattr__(self, name: str) -> Any:
        return getattr(self._toolbox, name)

    async def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> Outcome:
        more.pop("context", None)
        return await self._toolbox.call(tool, arguments, **more)


class Quiet:
    """Hands over at the first failure, and never says what it knew besides the arguments."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        return await PlanAgent(careful=True).run(task, _Quiet(toolbox))  # type: ignore[arg-type]
