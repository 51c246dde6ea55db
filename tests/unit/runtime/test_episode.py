"""An episode ends with a record, whatever the agent, the world or the tools do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest

from breakfall.faults.profile import PROFILES, load
from breakfall.recovery.policy import GIVE_UP, RETRY
from breakfall.runtime.episode import Limits, Setup, run_episode
from breakfall.vocab import Answer, Applied, Ending, EpisodeEnd, Failed, FaultKind, Ok, Response, Step, Task, Toolbox

SetupOf = Callable[..., Setup]


def run(setup: Setup) -> tuple[list[Step], EpisodeEnd]:
    async def main() -> tuple[list[Step], EpisodeEnd]:
        return await run_episode(setup)

    return anyio.run(main)


def test_clean_episode_passes(setup_of: SetupOf) -> None:
    """Without faults the plan passes, and every attempt is a step in order, with its effects and sources."""
    steps, end = run(setup_of())
    assert end.verdict.passed
    assert end.ending is Ending.ANSWERED
    assert [(s.n, s.tool, s.call) for s in steps] == [(0, "count", "c1"), (1, "add", "c2"), (2, "count", "c3")]
    assert [e.name for s in steps for e in s.effects] == ["added"]
    assert end.answer.sources == {"total": "c3#/total"}
    assert end.cost.tool_calls == 3


def test_same_seed_same_bytes(setup_of: SetupOf) -> None:
    """Two runs of one episode are the same to the byte; another seed meets other faults."""
    storm = PROFILES["paper"]
    lines = [msgspec.json.encode(run(setup_of(profile=storm, seed=seed))) for seed in (1, 1, 2)]
    assert lines[0] == lines[1]
    assert lines[0] != lines[2]


@pytest.mark.parametrize("seed", range(40))
def test_rules_never_add_twice(setup_of: SetupOf, seed: int) -> None:
    """When a write's answer is lost, rules look it up and add once, and still finish."""
    lossy = load('base = "clean"\nmax_total = 9\n[tools.add]\nserver_error = 1.0\n', "lossy.toml")
    steps, end = run(setup_of(profile=lossy, seed=seed))
    assert end.verdict.passed
    assert not end.verdict.duplicate_effects
    assert steps[2].purpose == "probe"
    assert steps[2].strategy is Response.VERIFY


def test_blind_retry_adds_twice(setup_of: SetupOf) -> None:
    """Under the same losses blind retry adds twice in some episodes: the world above can tell the difference."""
    lossy = load('base = "clean"\nmax_total = 9\n[tools.add]\nserver_error = 1.0\n', "lossy.toml")
    twice = [bool(run(setup_of(profile=lossy, policy=RETRY, seed=s))[1].verdict.duplicate_effects) for s in range(40)]
    assert any(twice)


def test_switch_when_shut(setup_of: SetupOf) -> None:
    """A shut read is left for its other path after its attempts, and later calls go there at once."""
    steps, end = run(setup_of(shut={"count": FaultKind.SERVER_ERROR}))
    assert end.verdict.passed
    assert [(s.tool, s.path_of) for s in steps] == [
        ("count", None),
        ("count", None),
        ("count", None),
        ("recount", "count"),
        ("add", None),
        ("recount", "count"),
    ]


def test_stop_when_all_is_shut(setup_of: SetupOf) -> None:
    """With every path shut the agent hands over, and says truly that nothing is done."""
    steps, end = run(setup_of(shut={"count": FaultKind.SERVER_ERROR, "recount": FaultKind.TIMEOUT}))
    assert end.ending is Ending.HANDED_OVER
    assert end.answer.handoff is not None
    assert end.answer.handoff.done == ()
    assert {s.tool for s in steps} == {"count", "recount"}


def test_unknown_write_is_handed_over_as_unknown(setup_of: SetupOf) -> None:
    """A write whose answer is lost and that cannot be looked up is handed over as unknown, not as done."""
    steps, end = run(
        setup_of(
            shut={
                "add": FaultKind.TIMEOUT,
                "recount": FaultKind.SERVER_ERROR,
            },
            misbehave={"count": _answers_once()},
        )
    )
    assert end.answer.handoff is not None
    assert [fact.tool for fact in end.answer.handoff.unknown] == ["add"]
    assert sum(step.tool == "add" for step in steps) == 1


def _answers_once() -> Callable[[], Any]:
    answers = iter([Ok(value={"total": 0, "added_at": []})])
    return lambda: next(answers, Failed(message="gone", exception="ReadTimeout"))


def test_give_up_answers_without_a_handoff(setup_of: SetupOf) -> None:
    """The policy give-up makes one call on a shut path and stops."""
    steps, end = run(setup_of(policy=GIVE_UP, shut={"count": FaultKind.SERVER_ERROR}))
    assert len(steps) == 1
    assert not end.verdict.passed


class Raises:
    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        await toolbox.call("count", {})
        raise KeyError("total")


class NeverStops:
    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        while True:
            try:
                await toolbox.call("count", {})
            except Exception:
                continue


class Hangs:
    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        await anyio.sleep_forever()
        return Answer()


class AnswersNonsense:
    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        return "done"  # type: ignore[return-value]


class Meddles:
    """Changes what it was handed, in the hope to change the record."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        arguments = {"n": 5}
        outcome = await toolbox.call("add", arguments)
        arguments["n"] = 7
        assert isinstance(outcome, Ok)
        outcome.value["total"] = 99
        return Answer()


@pytest.mark.parametrize(
    ("agent", "ending", "words"),
    [
        (Raises(), Ending.AGENT_ERROR, "KeyError: 'total'"),
        (NeverStops(), Ending.OUT_OF_BUDGET, "did not stop within 9 calls"),
        (Hangs(), Ending.OUT_OF_BUDGET, "did not stop within 0.2 s"),
        (AnswersNonsense(), Ending.AGENT_ERROR, "run() returned str, must return an Answer"),
    ],
)
def test_bad_agents_are_recorded(setup_of: SetupOf, agent: Any, ending: Ending, words: str) -> None:
    """An agent that raises, never stops, hangs or answers nonsense ends its episode with a named reason."""
    steps, end = run(setup_of(agent=agent, policy=GIVE_UP, limits=Limits(calls=9, wall_s=0.2)))
    assert end.ending is ending
    assert words in end.error
    assert end.steps == len(steps) <= 9


def test_records_cannot_be_changed_by_the_agent(setup_of: SetupOf) -> None:
    """What an agent of one's own does to its arguments and results leaves the steps as they were."""
    steps, _ = run(setup_of(agent=Meddles(), policy=GIVE_UP))
    assert steps[0].arguments == {"n": 5}
    assert steps[0].observed_outcome == Ok(value={"total": 5})


class Knows:
    """Says what it knows besides the arguments, and changes it afterwards."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        context = {"name": "Ada"}
        await toolbox.call("add", {"n": 5}, context=context)
        context.clear()
        await toolbox.call("count", {})
        return Answer()


def test_what_the_caller_knew_is_recorded(setup_of: SetupOf) -> None:
    """A step keeps the context of its call as it was, so that scores can tell which paths were open; none if none."""
    steps, _ = run(setup_of(agent=Knows(), policy=GIVE_UP))
    assert [step.context for step in steps] == [{"name": "Ada"}, {}]
    assert b"context" not in msgspec.json.encode(steps[1])


class Insists:
    """Sends the same write again and again until it is answered."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        for _ in range(9):
            if isinstance(await toolbox.call("add", {"n": 5}), Ok):
                break
        return Answer()


def test_an_agent_of_ones_own_is_not_protected(setup_of: SetupOf) -> None:
    """Each call of an agent that recovers by itself is one attempt: what it repeats is sent, and may happen twice."""
    lossy = load('base = "clean"\nmax_total = 9\n[tools.add]\nserver_error = 1.0\n', "lossy.toml")
    ran = [run(setup_of(agent=Insists(), policy=GIVE_UP, profile=lossy, seed=seed)) for seed in range(20)]
    assert all(len(steps) == 3 for steps, _ in ran)
    assert any(end.verdict.duplicate_effects for _, end in ran)


def test_world_that_raises_is_recorded(setup_of: SetupOf) -> None:
    """A tool that raises ends the episode as the world's error, with its steps kept."""

    def broken() -> Any:
        raise OSError("disk gone")

    _, end = run(setup_of(misbehave={"add": broken}))
    assert end.ending is Ending.WORLD_ERROR
    assert "OSError: disk gone" in end.error


def test_nan_is_not_a_value(setup_of: SetupOf) -> None:
    """A tool that answers NaN is seen as a malformed response, not as null."""
    steps, _ = run(setup_of(misbehave={"count": lambda: Ok(value={"total": float("nan"), "added_at": []})}))
    outcome = steps[0].observed_outcome
    assert isinstance(outcome, Failed)
    assert outcome.kind is FaultKind.MALFORMED_RESPONSE
    assert outcome.applied is Applied.NO


def test_large_answer_is_kept_whole(setup_of: SetupOf) -> None:
    """A 5 MB answer goes through and is recorded whole."""
    big = "x" * 5_000_000
    steps, _ = run(setup_of(misbehave={"count": lambda: Ok(value={"total": 0, "added_at": [], "note": big})}))
    outcome = steps[0].observed_outcome
    assert isinstance(outcome, Ok)
    assert outcome.value["note"] == big


def test_user_speaks_in_turns(setup_of: SetupOf) -> None:
    """The environment is told of each turn that the plan reaches."""
    steps, end = run(setup_of())
    assert end.verdict.passed
    assert len(steps) == 3
