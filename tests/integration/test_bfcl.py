"""The BFCL world on the package's real data: its tasks, its judge and the isolation of its episodes."""

from __future__ import annotations

import decimal
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from breakfall.errors import UsageError
from breakfall.vocab import (
    ALTERNATIVES,
    NATIVE,
    Answer,
    Applied,
    Environment,
    Failed,
    FaultKind,
    FaultSource,
    Injection,
    Ok,
    Step,
    Task,
    Verdict,
    Verification,
    VerificationStatus,
)
from breakfall.vocab.binding import Resolver, Result
from breakfall.vocab.schema import ArgumentSchema
from breakfall.vocab.step import Uncertainty
from breakfall.worlds.bfcl import BfclWorld, facts
from breakfall.worlds.bfcl.paths import NATIVE_PATHS

NEVER = 10**6


class Clock:
    """No tool of this world reads it."""

    def now(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        return None


class Player:
    """Plays a task's plan call by call on one environment."""

    def __init__(self, world: BfclWorld, task: Task, condition: str = NATIVE) -> None:
        self.env: Environment = world.open(task, condition, Clock())
        self.task = task
        self.resolver = Resolver(task.facts)
        self.turn = 0

    def calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the plan's calls with bound arguments; `note` must be told each one's value."""
        for step in self.task.plan:
            self.reach(step.turn)
            self.step = step.id
            yield step.tool, self.resolver.arguments(step.arguments)[0]
        self.reach(len(self.task.turns))

    def reach(self, turn: int) -> None:
        while self.turn < turn:
            self.env.next_turn()
            self.turn += 1

    def note(self, value: Any) -> None:
        self.resolver.results[self.step] = Result(self.step, value)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Make a call that must not be refused and return its value."""
        outcome = run(self.env.call(tool, arguments))
        assert isinstance(outcome, Ok), (self.task.id, tool, arguments, outcome)
        return outcome.value

    def play(self, twice: str = "", without: str = "") -> Verdict:
        """Play the plan, one tool's calls twice or not at all, and judge it."""
        for tool, arguments in self.calls():
            if tool == without:
                continue
            outcome = run(self.env.call(tool, arguments))
            assert isinstance(outcome, Ok) or without, (self.task.id, tool, arguments, outcome)
            self.note(outcome.value if isinstance(outcome, Ok) else None)
            if tool == twice:
                run(self.env.call(tool, arguments))
        return self.env.check(Answer(), ())


def run(call: Any) -> Any:
    """Run one of the environment's coroutines, which never wait."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the environment waited")


@pytest.fixture(scope="module")
def world() -> BfclWorld:
    return BfclWorld()


def task(world: BfclWorld, name: str) -> Task:
    return next(task for task in world.tasks(name.split("multi_turn_")[1].rsplit("_", 1)[0], None) if task.id == name)


def tasks_with(world: BfclWorld, tool: str) -> list[Task]:
    return [task for task in world.tasks("base", None) if any(step.tool == tool for step in task.plan)]


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
            first, again = {each.id: _answers(world, each) for each in tasks}, {}
            for each in reversed(tasks):
                again[each.id] = _answers(world, each)
            assert first == again

    def test_same_bytes_in_every_process(self) -> None:
        """Neither the order of sets nor the process changes a task or an answer."""
        code = "import sys; sys.path.insert(0, sys.argv[1]); import test_bfcl as t\nprint(t.digest(t.BfclWorld()))"
        digests = set()
        for hash_seed in ("1", "2"):
            found = subprocess.run(
                [sys.executable, "-c", code, str(Path(__file__).parent)],
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


def facts_of(env: Environment, name: str) -> Any:
    """The frozen state of one class."""
    from breakfall.worlds.bfcl import state

    return state.frozen(env._live[name])  # type: ignore[attr-defined]


def _answers(world: BfclWorld, each: Task) -> bytes:
    player = Player(world, each)
    values = []
    for tool, arguments in player.calls():
        values.append(player.call(tool, arguments))
        player.note(values[-1])
    return msgspec.json.encode([each, values, list(player.env.effects), player.env.check(Answer(), ())])


def digest(world: BfclWorld) -> str:
    """Hash all tasks, answers and effects, and a refusal that spells out a set."""
    found = hashlib.sha256()
    for split in world.splits:
        for each in world.tasks(split, None):
            found.update(_answers(world, each))
    flight = next(each for each in world.tasks("base", None) if any(step.tool == "book_flight" for step in each.plan))
    player = Player(world, flight)
    for tool, arguments in player.calls():
        if tool == "book_flight":
            refused = run(player.env.call(tool, {**arguments, "travel_class": "steerage"}))
            found.update(msgspec.json.encode(refused))
        player.note(player.call(tool, arguments))
    return found.hexdigest()


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


class TestRefusals:
    def test_unknown_tools_and_wrong_arguments(self, world: BfclWorld) -> None:
        """What the caller sends wrong is a native failure that names what happened, and no call of it is judged."""
        player = Player(world, task(world, "multi_turn_base_0"))
        for tool in ("no_such_tool", "_load_scenario", "place_order", "__init__"):
            refused = run(player.env.call(tool, {}))
            assert isinstance(refused, Failed)
            assert refused.native
            assert tool in refused.message
            assert run(player.env.pretend(tool, {})) == refused
        wrong = run(player.env.call("cat", {"speed": 3}))
        assert (wrong.native, wrong.exception, wrong.applied) == (True, "TypeError", Applied.NO)
        assert run(player.env.call("cat", {"file_name": 7})).native
        assert run(player.env.call("cat", {"file_name": "none.txt"})).message.startswith("cat: 'none.txt'")
        assert player.env.effects == []

    def test_folders_that_contain_themselves(self, world: BfclWorld) -> None:
        """A folder copied into itself, which the package lets happen, is refused or judged but never raises."""
        each = next(each for each in tasks_with(world, "cp"))
        player = Player(world, each)
        player.call("mkdir", {"dir_name": "d"})
        player.call("cp", {"source": "d", "destination": "d"})
        player.call("cp", {"source": "d", "destination": "d2"})
        assert run(player.env.call("du", {})).exception == "RecursionError"
        run(player.env.pretend("ls", {}))
        assert not player.env.check(Answer(), ()).passed

    def test_a_refusal_that_changed_something_says_so(self, world: BfclWorld) -> None:
        """Stopping the engine is refused by the package after it stopped it: applied, and in the effect log."""
        each = next(
            each for each in tasks_with(world, "startEngine") if each.plan[-1].tool != "startEngine" and len(each.plan)
        )
        player = Player(world, each)
        for tool, arguments in player.calls():
            player.note(player.call(tool, arguments))
        refused = run(player.env.call("startEngine", {"ignitionMode": "STOP"}))
        assert isinstance(refused, Failed)
        assert refused.applied is Applied.YES
        assert player.env.effects[-1].tool == "startEngine"

    def test_excluded_functions(self, world: BfclWorld) -> None:
        """What a row excludes is not offered in any condition, nor a mirror of it, nor a path or reader by it."""
        rows = {row["id"]: row for split in world.splits for row in world._package.rows(split)}
        excluding = 0
        for split in world.splits:
            for each in world.tasks(split, None):
                for excluded in rows[each.id].get("excluded_function", ()):
                    excluding += 1
                    for condition in world.conditions:
                        env = world.open(each, condition, Clock())
                        for tool in env.tools.values():
                            assert not tool.name.startswith(excluded + "_")
                            assert excluded not in (tool.name, *(path.tool for path in tool.paths))
                            assert tool.reader is None or tool.reader.tool != excluded
                        assert isinstance(run(env.call(excluded, {})), Failed)
        assert excluding == 72

    def test_held_out_functions(self, world: BfclWorld) -> None:
        """A held-out function and its mirror come in the turn in which BFCL gives them, in the same mapping."""
        each = task(world, "multi_turn_miss_func_0")
        env = world.open(each, ALTERNATIVES, Clock())
        tools = env.tools
        for turn in range(len(each.turns) + 1):
            assert ("sort" in tools) is (turn >= 3)
            assert ("sort_via_gateway" in tools) is (turn >= 3)
            assert isinstance(run(env.call("sort", {"file_name": "x"})), Failed)
            env.next_turn()

    def test_gold_that_comes_before_its_function(self, world: BfclWorld) -> None:
        """In the one row whose gold uses a function too early, it is there when gold needs it, and not before."""
        env = world.open(task(world, "multi_turn_miss_func_49"), NATIVE, Clock())
        assert "tail" not in env.tools
        assert "wc" not in env.tools
        env.next_turn()
        assert "tail" in env.tools
        assert "wc" not in env.tools

    def test_names(self, world: BfclWorld) -> None:
        """Unknown splits, conditions and tasks are usage errors that say what would be right."""
        with pytest.raises(UsageError, match="no split 'bas'; did you mean 'base'"):
            world.tasks("bas", None)
        with pytest.raises(UsageError, match="no condition 'nativ'; did you mean 'native'"):
            world.tools("nativ")
        unknown = msgspec.structs.replace(world.tasks("base", 1)[0], id="multi_turn_base_999")
        with pytest.raises(UsageError, match="no task 'multi_turn_base_999'"):
            world.open(unknown, NATIVE, Clock())

    @pytest.mark.parametrize("module", ["bfcl_eval", "mpmath"])
    def test_a_missing_package_says_what_to_install(self, module: str) -> None:
        """Without the package the world is a usage error of one line with the command, and importing it is none."""
        code = (
            f"import sys; sys.modules[{module!r}] = None\n"
            "from breakfall.errors import UsageError\n"
            "from breakfall.worlds.bfcl import BfclWorld\n"
            "try:\n    BfclWorld()\nexcept UsageError as error:\n    print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert found.count("\n") == 1
        assert module in found
        assert "pip install --no-deps bfcl-eval mpmath" in found

    def test_data_hash(self, world: BfclWorld) -> None:
        """The hash is the same for every world of one package."""
        assert world.data_hash() == BfclWorld().data_hash()
        assert len(world.data_hash()) == 32


class TestPast:
    def test_reads_of_the_state_before(self, world: BfclWorld) -> None:
        """An earlier value is what the read said before the last change; without a change there is none."""
        each = next(each for each in tasks_with(world, "echo") if "cd" not in {step.tool for step in each.plan})
        player = Player(world, each)
        player.call("touch", {"file_name": "new.txt"})
        assert "new.txt" not in player.env.earlier("ls", {})["current_directory_content"]
        player.call("echo", {"file_name": "new.txt", "content": "one"})
        player.call("echo", {"file_name": "new.txt", "content": "two"})
        assert player.env.earlier("cat", {"file_name": "new.txt"}) == {"file_content": "one"}
        assert player.call("cat", {"file_name": "new.txt"}) == {"file_content": "two"}
        assert Player(world, each).env.earlier("ls", {}) is None
        assert player.env.earlier("no_such_tool", {}) is None

    def test_the_past_is_read_from_where_the_session_stands(self, world: BfclWorld) -> None:
        """Changing the folder is no change of what is read in it."""
        player = Player(world, next(each for each in tasks_with(world, "mkdir")))
        player.call("mkdir", {"dir_name": "here"})
        player.call("mkdir", {"dir_name": "other"})
        player.call("cd", {"folder": "here"})
        assert player.env.earlier("ls", {}) == {"current_directory_content": []}

    def test_answers_of_writes_with_the_state_before(self, world: BfclWorld) -> None:
        """A stale answer of a write shows the value from before it, and asking for it applies nothing."""
        player = Player(world, next(each for each in tasks_with(world, "fillFuelTank")))
        level = player.call("displayCarStatus", {"option": "fuel"})["fuelLevel"]
        assert player.env.earlier("fillFuelTank", {"fuelAmount": 1}) == {"fuelLevel": level}
        assert player.call("fillFuelTank", {"fuelAmount": 1}) == {"fuelLevel": level + 1}
        assert player.env.earlier("fillFuelTank", {"fuelAmount": NEVER}) is None
        assert player.env.earlier("set_navigation", {"destination": "x"}) is None
        player = Player(world, next(each for each in tasks_with(world, "fund_account")))
        balance = player.call("get_account_info", {})["balance"]
        assert player.env.earlier("fund_account", {"amount": 5})["new_balance"] == balance

    def test_drawn_numbers_have_no_past(self, world: BfclWorld) -> None:
        """What is drawn afresh by every read has no earlier value."""
        player = Player(world, next(each for each in tasks_with(world, "fillFuelTank")))
        player.call("fillFuelTank", {"fuelAmount": 1})
        assert player.env.earlier("get_current_speed", {}) is None

    def test_ids(self, world: BfclWorld) -> None:
        """Each kind that a schema marks has the ids that the instances hold, and no id stands elsewhere."""
        kinds: set[str] = set()
        for tool in world.tools(NATIVE).values():
            kinds |= _kinds(tool.returns)
        seen = set()
        for each in world.tasks("base", None):
            env = world.open(each, NATIVE, Clock())
            for kind in kinds:
                found: Sequence[str] = env.ids(kind)
                assert all(isinstance(one, str) for one in found)
                assert list(found) == list(env.ids(kind.removeprefix("id:")))
                if found:
                    seen.add(kind)
            assert env.ids("planet") == ()
        assert seen == kinds
        env = world.open(task(world, "multi_turn_base_60"), NATIVE, Clock())
        assert env.ids("ticket") == ["1"]


def _kinds(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = {schema["x-kind"]} if "x-kind" in schema else set()
        return own.union(*(_kinds(part) for part in schema.values()))
    return set()
