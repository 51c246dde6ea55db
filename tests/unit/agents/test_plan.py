"""The plan agent says what it was steered by."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from breakfall.agents.plan import PlanAgent
from breakfall.vocab import Answer, Condition, Effect, Failed, Found, Ok, Outcome, PlanStep, Task, Text, Tool


class Desk:
    """A toolbox whose tools answer, one after the other, what it was given."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.left = list(outcomes)
        self.made: list[str] = []
        self.tools = {
            name: Tool(name=name, description="", parameters={}, effect=effect, fault_domain="desk")
            for name, effect in (("look", Effect.READ), ("ship", Effect.WRITE))
        }

    @property
    def last_call(self) -> str:
        return f"c{len(self.made)}"

    async def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> Outcome:
        self.made.append(tool)
        return self.left.pop(0)

    async def say(self, text: str) -> str | None:
        return None

    def handoff(self, reason: str) -> Any:
        return None


_TASK = Task(
    id="t",
    world="desk",
    template="t",
    split="s",
    instruction=Text(en="Ship it if it is paid for."),
    plan=(
        PlanStep(id="order", tool="look"),
        PlanStep(
            id="shipped",
            tool="ship",
            arguments={"order": Found("order", "/id")},
            when=(
                Condition(left=Found("order", "/status"), is_="==", right="paid"),
                Condition(left=Found("order", "/stock"), is_=">", right=0),
            ),
        ),
    ),
)


def _answer(desk: Desk) -> Answer:
    async def main() -> Answer:
        return await PlanAgent(careful=True).run(_TASK, desk)

    return anyio.run(main)


@pytest.mark.parametrize(
    ("status", "made", "steered"),
    [
        ("paid", ["look", "ship"], {"c1#/status": "paid", "c1#/stock": 3}),
        ("open", ["look"], {"c1#/status": "open"}),
    ],
)
def test_decisions_are_named(status: str, made: list[str], steered: dict[str, object]) -> None:
    """Whether a step is made or passed over, the answer names the values that decided it, and no others."""
    desk = Desk(Ok(value={"id": "O1", "status": status, "stock": 3}), Ok(value={}))
    assert _answer(desk).steered == steered
    assert desk.made == made


def test_decisions_are_named_when_the_plan_stops() -> None:
    """A plan that cannot go on still names what it was steered by."""
    desk = Desk(Ok(value={"id": "O1", "status": "paid", "stock": 3}), Failed(message="down", status=500))
    assert set(_answer(desk).steered) == {"c1#/status", "c1#/stock"}


def test_what_was_read_again_decides() -> None:
    """A result that lacked what a decision needs decided nothing: the one that was read again did."""
    desk = Desk(Ok(value={"status": "paid"}), Ok(value={"id": "O1", "status": "paid", "stock": 0}))
    answer = _answer(desk)
    assert answer.steered == {"c2#/status": "paid", "c2#/stock": 0}
    assert desk.made == ["look", "look"]
