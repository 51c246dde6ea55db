"""A world of one counter, small enough to see through: a write that duplicates, its reader, and a second path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from breakfall.agents.plan import PlanAgent
from breakfall.faults.profile import PROFILES, Profile
from breakfall.faults.scenario import Blockade
from breakfall.recovery.policy import BALANCED, Policy
from breakfall.runtime.episode import Limits, Setup
from breakfall.runtime.spec import AgentSpec
from breakfall.vocab import (
    Agent,
    Answer,
    Applied,
    AppliedEffect,
    Clock,
    Effect,
    Failed,
    FaultKind,
    Found,
    Given,
    Ok,
    Outcome,
    Path,
    PlanStep,
    Reader,
    Scenario,
    Settlement,
    Step,
    Task,
    Text,
    Tool,
    Verdict,
)


def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
    applied = any(at >= sent_s for at in value["added_at"])
    return Settlement(applied=Applied.YES if applied else Applied.NO, value={"total": value["total"]})


COUNTER = {
    "type": "object",
    "properties": {"total": {"type": "integer"}, "added_at": {"type": "array", "items": {"type": "number"}}},
    "required": ["total", "added_at"],
}
TOOLS = {
    "count": Tool(
        name="count",
        description="Tell the total.",
        parameters={"type": "object"},
        returns=COUNTER,
        effect=Effect.READ,
        fault_domain="front",
        paths=(Path(tool="recount"),),
    ),
    "recount": Tool(
        name="recount",
        description="Tell the total, from the books.",
        parameters={"type": "object"},
        returns=COUNTER,
        effect=Effect.READ,
        fault_domain="books",
    ),
    "add": Tool(
        name="add",
        description="Add to the total.",
        parameters={"type": "object"},
        effect=Effect.WRITE,
        fault_domain="till",
        reader=Reader(tool="count", arguments=lambda a, c: {}, judge=judge),
    ),
}


class CounterEnvironment:
    """One counter; `misbehave` replaces what a tool does."""

    def __init__(self, clock: Clock, misbehave: Mapping[str, Callable[[], Outcome]]) -> None:
        self.clock = clock
        self.misbehave = misbehave
        self.total = 0
        self.added_at: list[float] = []
        self.effects: list[AppliedEffect] = []
        self.tools: Mapping[str, Tool] = TOOLS
        self.turns = 0

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        if tool in self.misbehave:
            return self.misbehave[tool]()
        if tool == "add":
            self.total += arguments["n"]
            self.added_at.append(self.clock.now())
            self.effects.append(AppliedEffect(name="added", target="counter", details={"n": arguments["n"]}, tool=tool))
            return Ok(value={"total": self.total})
        if tool in ("count", "recount"):
            return Ok(value={"total": self.total, "added_at": list(self.added_at)})
        return Failed(message=f"no tool {tool!r}", status=404)

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        return None

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        return Ok(value={"total": self.total + arguments.get("n", 0)})

    def ids(self, kind: str) -> Sequence[str]:
        return ()

    def next_turn(self) -> None:
        self.turns += 1

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        extra = len(self.effects) - 1
        state_ok = self.total == 5
        return Verdict(
            passed=state_ok and answer.facts.get("total") == 5,
            state_ok=state_ok,
            answer_ok=answer.facts.get("total") == 5,
            duplicate_effects=("added",) * max(extra, 0),
            missing_effects=() if self.effects else ("added",),
        )


class CounterWorld:
    """Offers one task: add five, then tell the total."""

    name = "counter"
    conditions = ("alternatives",)
    splits = ("held-out",)

    def __init__(self, misbehave: Mapping[str, Callable[[], Outcome]] | None = None) -> None:
        self.misbehave = misbehave or {}

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        return (TASK,)

    def tools(self, condition: str) -> Mapping[str, Tool]:
        return TOOLS

    def open(self, task: Task, condition: str, clock: Clock) -> CounterEnvironment:
        return CounterEnvironment(clock, self.misbehave)

    def data_hash(self) -> str:
        return "counter"


TASK = Task(
    id="t1",
    world="counter",
    template="add",
    split="held-out",
    instruction=Text(en="Add five and tell me the total."),
    turns=(Text(en="Thanks."),),
    facts={"n": 5},
    plan=(
        PlanStep(id="before", tool="count", expected="the total before"),
        PlanStep(id="add", tool="add", arguments={"n": Given("n")}, expected="five more"),
        PlanStep(id="after", tool="count", turn=1, expected="the total after"),
    ),
    answer={"total": Found("after", "/total")},
)


def plan_spec(policy: Policy = BALANCED) -> AgentSpec:
    return AgentSpec(name="rules", make=lambda: PlanAgent(careful=True), policy=policy, built_in=True)


@pytest.fixture
def setup_of() -> Callable[..., Setup]:
    """Build a setup in the counter world; by default the rules agent without faults."""

    def build(
        *,
        agent: Agent | None = None,
        policy: Policy = BALANCED,
        profile: Profile = PROFILES["clean"],
        shut: Mapping[str, FaultKind] | None = None,
        misbehave: Mapping[str, Callable[[], Outcome]] | None = None,
        limits: Limits | None = None,
        seed: int = 0,
    ) -> Setup:
        spec = plan_spec(policy)
        if agent is not None:
            own = agent
            spec = AgentSpec(name="own", make=lambda: own, policy=policy)
        return Setup(
            world=CounterWorld(misbehave),
            condition="alternatives",
            task=TASK,
            scenario=Scenario.S1,
            seed=seed,
            profile=profile,
            agent=spec,
            blockade=Blockade(tools=tuple(shut or ()), kinds=dict(shut or {})),
            limits=limits or Limits(),
        )

    return build
