"""What memory says is weighed: whether a failure passes, and which other path is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

import pytest
from msgspec.structs import replace

from breakfall.recovery.policy import BALANCED
from breakfall.runtime.drive import drive
from breakfall.runtime.episode import Setup, run_episode
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState
from breakfall.runtime.wants import Attempt, Done, Reply, Want
from breakfall.seeds import address
from breakfall.vocab import Call, Effect, Failed, FaultKind, Granularity, Ok, Path, Tool


class Told:
    """Believes what it is given."""

    def __init__(self, stays: float | None = None, works: dict[str, float] | None = None) -> None:
        self.stays = stays
        self.works = works or {}

    def persistence(self, tool: str, kind: FaultKind) -> float | None:
        return self.stays

    def switch_works(self, source: str, target: str) -> float | None:
        assert source in ("get", "count")  # the tool that was called, not the last path
        return self.works.get(target)


def _tool(name: str, *paths: Path) -> Tool:
    return Tool(name=name, description="", parameters={}, effect=Effect.READ, fault_domain=name, paths=paths)


TOOLS = {
    tool.name: tool
    for tool in (
        _tool(
            "get", Path(tool="a"), Path(tool="b"), Path(tool="c", granularity=Granularity.PARTIAL, missing=("x",))
        ),
        _tool("a"),
        _tool("b"),
        _tool("c"),
    )
}  # fmt: skip


def taken(belief: Told | None, answers: str = "") -> list[str]:
    """Return the tools that one call of `get` goes through when all but `answers` are out of order."""
    seen: list[str] = []
    state = TaskState(
        tools=TOOLS, policy=BALANCED, place=address("t"), calls_left=50, deadline_s=inf, belief=belief
    )  # fmt: skip

    def perform(want: Want) -> Reply:
        if not isinstance(want, Attempt):
            return 0.0
        seen.append(want.call.tool)
        failed = Failed(message="no", kind=FaultKind.SCHEMA_DRIFT)
        return Done(Ok(value=1) if want.call.tool == answers else failed, 0.0, 0.0)

    drive(call_flow(Call(id="c1", tool="get", arguments={}), state, 0.0), perform)
    return seen


def test_without_memory() -> None:
    """Without memory paths are taken as declared, and a persistent kind is not repeated."""
    assert taken(None) == ["get", "a", "b", "c"]
    assert taken(Told()) == ["get", "a", "b", "c"]


def test_best_path_first() -> None:
    """Of equally exact paths the one that answers more is taken first; an unknown one has the policy's chance."""
    assert taken(Told(works={"a": 0.3, "b": 0.9})) == ["get", "b", "a", "c"]
    assert taken(Told(works={"a": 0.3})) == ["get", "b", "a", "c"]
    assert taken(Told(works={"a": 0.3, "c": 0.99}), answers="a") == ["get", "b", "a"]


def test_what_is_no_path_is_not_taken() -> None:
    """A path of probability 0 is not taken, even if no other is left."""
    assert taken(Told(works={"a": 0.0})) == ["get", "b", "c"]
    assert taken(Told(works={"a": 0.0, "b": 0.0, "c": 0.0})) == ["get"]


def test_one_repeat_on_evidence() -> None:
    """When memory says that a failure passes, a persistent kind is repeated, once; else never."""
    assert taken(Told(stays=0.1)) == ["get", "get", "a", "a", "b", "b", "c", "c"]
    assert taken(Told(stays=0.67)) == ["get", "a", "b", "c"]


@pytest.mark.parametrize(("stays", "tries"), [(None, 1), (0.1, 2)])
def test_an_agent_carries_its_belief(setup_of: Callable[..., Setup], stays: float | None, tries: int) -> None:
    """The belief of an agent's spec reaches the calls of its episode."""
    setup = setup_of(shut={"count": FaultKind.AUTH_ERROR, "recount": FaultKind.AUTH_ERROR})
    setup = replace(setup, agent=replace(setup.agent, belief=Told(stays)))
    steps, _ = asyncio.run(run_episode(setup))
    assert sum(step.tool == "count" for step in steps) == tries
