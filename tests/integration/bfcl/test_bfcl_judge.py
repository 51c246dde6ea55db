"""What the BFCL world says of episodes in which something went wrong."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.integration.bfcl.player import Player, run, task, tasks_with

from breakfall import catalog
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade
from breakfall.runtime.episode import Setup, run_episode
from breakfall.vocab import (
    ALTERNATIVES,
    Answer,
    Failed,
    FaultKind,
    FaultSource,
    Injection,
    Ok,
    Scenario,
    Step,
    Task,
    Verification,
    VerificationStatus,
)
from breakfall.vocab.step import Uncertainty
from breakfall.worlds.bfcl import BfclWorld
from breakfall.worlds.bfcl.environment import BfclEnvironment
from breakfall.worlds.bfcl.paths import NATIVE_PATHS


class TestJudge:
    @pytest.mark.parametrize(
        "tool",
        [
            *("post_tweet", "comment", "mention", "send_message", "create_ticket", "place_order", "book_flight"),
            *("purchase_insurance", "fund_account", "withdraw_funds", "register_credit_card"),
        ],
    )
    def test_duplicates_are_caught(self, world: BfclWorld, tool: str) -> None:
        """A write that happens twice fails the task and is named as a duplicate effect."""
        caught = 0
        for each in tasks_with(world, tool):
            player = Player(world, each)
            calls = sum(step.tool == tool for step in each.plan)
            verdict = player.play(twice=tool)
            applied = sum(effect.tool == tool for effect in player.env.effects)
            assert len([name for name in verdict.duplicate_effects if f".{tool} " in name]) == applied - calls
            if applied > calls:
                assert not verdict.passed
                assert not verdict.state_ok
                caught += 1
        assert caught

    @pytest.mark.parametrize("tool", ["touch", "post_tweet", "cancel_order", "lockDoors", "send_message"])
    def test_a_write_left_out_is_missing(self, world: BfclWorld, tool: str) -> None:
        """Without one of its writes a task fails, and the effect is named."""
        each = next(each for each in tasks_with(world, tool) if not _bound_to(each, tool))
        verdict = Player(world, each).play(without=tool)
        assert not verdict.passed
        assert any(f".{tool} " in name for name in verdict.missing_effects)
        assert verdict.notes

    def test_a_read_left_out_is_an_answer_missing(self, world: BfclWorld) -> None:
        """Without one of its reads the state is right and the answer is not."""
        each = next(each for each in tasks_with(world, "get_watchlist") if each.plan[-1].tool != "get_watchlist")
        verdict = Player(world, each).play(without="get_watchlist")
        assert (verdict.passed, verdict.state_ok, verdict.answer_ok) == (False, True, False)

    def test_other_writes_are_wrong(self, world: BfclWorld) -> None:
        """A write that the task does not call for fails it and is named as wrong."""
        player = Player(world, next(each for each in tasks_with(world, "post_tweet")))
        for tool, arguments in player.calls():
            player.note(player.call(tool, arguments))
            if tool == "post_tweet":
                player.call(tool, {**arguments, "content": "something else"})
        verdict = player.env.check(Answer(), ())
        assert not verdict.passed
        assert any("something else" in name for name in verdict.wrong_effects)

    def test_every_turn_is_judged(self, world: BfclWorld) -> None:
        """What was wrong at the end of a turn stays wrong, although a later turn puts it right; later turns count."""
        each = task(world, "multi_turn_base_0")
        player = Player(world, each)
        for tool, arguments in player.calls():
            if tool == "grep":
                player.call("touch", {"file_name": "x"})
            player.note(player.call(tool, arguments))
            if tool == "sort":
                player.call("rm", {"file_name": "x"})
        assert any(note.startswith("turn 1:") for note in player.env.check(Answer(), ()).notes)
        early = Player(world, each).env.check(Answer(), ())
        assert not early.passed
        assert any("not reached" in note for note in early.notes)

    def test_checking_twice_says_the_same(self, world: BfclWorld) -> None:
        """A verdict changes nothing."""
        player = Player(world, task(world, "multi_turn_base_0"))
        assert player.play(without="grep") == player.env.check(Answer(), ())

    def test_pretending_does_nothing(self, world: BfclWorld) -> None:
        """A pretended write answers as the real one would, ids included, and the judge knows that it did not run."""
        for tool in ("post_tweet", "book_flight", "send_message", "create_ticket"):
            each = next(each for each in tasks_with(world, tool))
            player = Player(world, each)
            for name, arguments in player.calls():
                if name == tool:
                    shown = run(player.env.pretend(name, arguments))
                    assert shown == run(player.env.pretend(name, arguments))
                player.note(player.call(name, arguments))
                if name == tool:
                    assert shown == Ok(value=player.resolver.results[player.step].value)
            assert player.env.check(Answer(), ()).passed
            lazy = Player(world, each)
            for name, arguments in lazy.calls():
                if name == tool:
                    lazy.note(run(lazy.env.pretend(name, arguments)).value)
                else:
                    outcome = run(lazy.env.call(name, arguments))
                    lazy.note(outcome.value if isinstance(outcome, Ok) else None)
            verdict = lazy.env.check(Answer(), ())
            assert not verdict.passed
            assert any(f".{tool} " in name for name in verdict.missing_effects)

    def test_a_switch_counts_for_what_a_fault_struck_alone(self, world: BfclWorld) -> None:
        """The answer of a path stands in for gold's where a fault struck that; without one BFCL's word stands."""
        each = next(each for each in tasks_with(world, "wc"))
        player = Player(world, each)
        struck: list[Step] = []
        for tool, arguments in player.calls():
            if tool == "wc":
                struck.append(_struck(tool, arguments, len(struck)))
                (path,) = NATIVE_PATHS["wc"]
                given = path.arguments(arguments, {})
                assert given is not None
                player.note(path.value(player.call(path.tool, given), arguments, {}))
            else:
                player.note(player.call(tool, arguments))
        assert not player.env.check(Answer(), ()).passed
        assert player.env.check(Answer(), struck).passed


def test_the_judge_sees_the_executed_projection(world: BfclWorld) -> None:
    """Under noise, what the judge counts as run is what the steps say was executed, call by call."""
    opened: list[BfclEnvironment] = []

    class Watched(BfclWorld):
        def open(self, *place: Any) -> BfclEnvironment:
            opened.append(super().open(*place))
            return opened[-1]

    watched, struck = Watched(), 0
    for each in watched.tasks("base", 60):
        setup = Setup(
            world=watched,
            condition=ALTERNATIVES,
            task=each,
            scenario=Scenario.S1,
            seed=1,
            profile=PROFILES["paper"],
            agent=catalog.AGENTS["rules"],
            blockade=Blockade(),
        )
        steps, _ = anyio.run(run_episode, setup)
        assert [step.tool for step in steps if step.executed] == [call.tool for call in opened[-1]._executed]
        struck += sum(not step.executed for step in steps)
        for step in steps:
            if step.injection is not None and step.injection.true_value is not None:
                assert any(call.ran.value == step.injection.true_value for call in opened[-1]._executed)
    assert struck


def _bound_to(each: Task, tool: str) -> bool:
    """Whether the plan needs what one of the tool's calls answers."""
    return any(f"step='{step.id}'" in repr(each.plan) for step in each.plan if step.tool == tool)


def _struck(tool: str, arguments: dict[str, Any], n: int) -> Step:
    return Step(
        episode="e",
        n=n,
        call=f"c{n}",
        tool=tool,
        arguments=arguments,
        at_s=0.0,
        expected_outcome="",
        observed_outcome=Failed(message="503", kind=FaultKind.SERVER_ERROR),
        verification=Verification(status=VerificationStatus.NOT_DONE),
        uncertainty_signal=Uncertainty.MISSING,
        executed=False,
        injection=Injection(kind=FaultKind.SERVER_ERROR, source=FaultSource.BLOCKADE, nth=n, executed=False),
    )
