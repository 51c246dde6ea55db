"""BFCL's tasks on the package's real data: clean replays, isolation of episodes, same bytes everywhere."""

from __future__ import annotations

import decimal
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.bfcl.player import Player, answers, facts_of, run, task, tasks_with

from breakfall.vocab import ALTERNATIVES, NATIVE, Verdict
from breakfall.vocab.schema import ArgumentSchema
from breakfall.worlds.bfcl import BfclWorld, facts


class TestReplay:
    @pytest.mark.parametrize("condition", [NATIVE, ALTERNATIVES])
    @pytest.mark.parametrize("split", ["base", "miss_func", "miss_param", "long_context"])
    def test_clean_replays_pass(self, world: BfclWorld, split: str, condition: str) -> None:
        """All 200 tasks of each category pass BFCL's checkers, with exactly gold's effects."""
        tasks = world.tasks(split, None)
        assert len({task.id for task in tasks}) == 200
        for each in tasks:
            verdict = Player(world, each, condition).play()
            assert verdict == Verdict(passed=True, state_ok=True, answer_ok=True), (each.id, verdict)

    def test_episodes_do_not_touch_one_another(self, world: BfclWorld) -> None:
        """Every task answers the same to the byte in a fresh world, again, and in reversed order."""
        for split in world.splits:
            tasks = world.tasks(split, None)
            first, again = {each.id: answers(world, each) for each in tasks}, {}
            for each in reversed(tasks):
                again[each.id] = answers(world, each)
            assert first == again

    def test_same_bytes_in_every_process(self) -> None:
        """Neither the order of sets nor the process changes a task or an answer."""
        code = "from tests.integration.bfcl.player import BfclWorld, digest; print(digest(BfclWorld()))"
        digests = set()
        for hash_seed in ("1", "2"):
            found = subprocess.run(
                [sys.executable, "-c", code],
                cwd=Path(__file__).parents[3],
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                capture_output=True,
                text=True,
                check=True,
            )
            digests.add(found.stdout)
        assert len(digests) == 1

    def test_limit_and_order(self, world: BfclWorld) -> None:
        """A limit takes the first tasks, and they are the same ones each time."""
        few = world.tasks("base", 3)
        assert [each.id for each in few] == ["multi_turn_base_0", "multi_turn_base_1", "multi_turn_base_2"]
        assert list(few) == list(world.tasks("base", None)[:3]) == list(BfclWorld().tasks("base", 3))

    def test_reads_change_nothing_and_gold_fits_the_schemas(self, world: BfclWorld) -> None:
        """Only tools marked as writes change a state in any gold run, and gold's arguments fit the schemas."""
        schemas = {name: ArgumentSchema(tool.parameters) for name, tool in world.tools(NATIVE).items()}
        writes, misfits = set(), []
        for split in world.splits:
            for each in world.tasks(split, None):
                player = Player(world, each)
                for tool, arguments in player.calls():
                    misfits += [(each.id, problem) for problem in schemas[tool].problems(arguments)]
                    case = world._case(each.id)
                    before = {name: facts_of(player.env, name) for name in case.classes}
                    player.note(player.call(tool, arguments))
                    if before != {name: facts_of(player.env, name) for name in case.classes}:
                        writes.add(tool)
        assert writes <= facts.WRITES | facts.IRREVERSIBLE
        assert [name.rsplit("_", 1)[-1] for name, _ in misfits] == [
            "173"
        ] * 4  # the one row whose ticket has a text as id
        assert {problem for _, problem in misfits} == {'ticket_id: "ticket_001" is not of type "integer"'}

    def test_turns_and_messages(self, world: BfclWorld) -> None:
        """The user's messages are BFCL's; where functions were held out, the user says that there are more."""
        each = task(world, "multi_turn_miss_func_0")
        assert each.instruction.en.startswith("Move 'final_report.pdf'")
        assert len(each.turns) == 4
        assert "functions" in each.turns[2].en
        assert [step.turn for step in each.plan] == [0, 0, 0, 1, 1, 3, 4, 4, 4, 4]


class TestIsolation:
    def test_lists_of_the_package_are_not_shared(self, world: BfclWorld) -> None:
        """Mentions added to a tweet that was posted without any do not show in the next episode's tweet."""
        each = next(each for each in tasks_with(world, "post_tweet"))
        for _ in range(2):
            player = Player(world, each)
            if "authenticate_twitter" in {step.tool for step in each.plan}:
                api = player.env._live["TwitterAPI"]  # type: ignore[attr-defined]
                player.call("authenticate_twitter", {"username": api.username, "password": api.password})
            tweet = player.call("post_tweet", {"content": "hello"})
            assert tweet["mentions"] == []
            player.call("mention", {"tweet_id": tweet["id"], "mentioned_usernames": ["@x"]})

    def test_cards_of_the_long_context_are_not_shared(self, world: BfclWorld) -> None:
        """A card that the package adds to every long task keeps its balance whatever another episode charged to it."""
        each = next(
            each for each in world.tasks("long_context", None) if any(s.tool == "book_flight" for s in each.plan)
        )
        balances = []
        for _ in range(2):
            player = Player(world, each)
            cards = player.call("get_all_credit_cards", {})["credit_card_list"]
            own = world._case(each.id)._config["TravelAPI"]["credit_card_list"]
            card = next(name for name in cards if name not in own)
            balances.append(cards[card]["balance"])
            for tool, arguments in player.calls():
                player.note(player.call(tool, arguments))
                if tool == "book_flight":
                    run(player.env.call(tool, {**arguments, "card_id": card}))
        assert balances[0] == balances[1]

    def test_contexts_of_arithmetic_stay_as_they_are(self, world: BfclWorld) -> None:
        """A tool's precision is not the process's afterwards."""
        each = next(each for each in world.tasks("base", None) if "MathAPI" in each.template)
        before = decimal.getcontext().prec
        player = Player(world, each)
        assert player.call("square_root", {"number": 2, "precision": 3}) == {"result": 1.41}
        assert decimal.getcontext().prec == before

    def test_more_reads_of_the_generator_harm_nothing(self, world: BfclWorld) -> None:
        """Reads that draw from the generator may be repeated: every task that has them still passes."""
        for tool in facts.DRAWS_FROM_GENERATOR:
            for each in tasks_with(world, tool):
                assert Player(world, each).play(twice=tool).passed
