"""What the τ² worlds say of episodes in which something went wrong, and that τ²'s own evaluators say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.integration.bfcl.player import run
from tests.integration.tau2.player import Player, tasks_with

from breakfall import catalog
from breakfall.bench.rehearse import rehearse
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.episode import Setup, run_episode
from breakfall.vocab import (
    ALTERNATIVES,
    NATIVE,
    Answer,
    Clock,
    Environment,
    Failed,
    FaultKind,
    Ok,
    Scenario,
    Task,
)
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.official import Reward, messages, reward
from breakfall.worlds.tau2.session import Tau2Session
from breakfall.worlds.tau2.source import Tau2Source

Load = Callable[[str], GoldWorld]

DUPLICATES = [
    ("airline", "cancel_reservation"),
    ("airline", "send_certificate"),
    ("telecom", "refuel_data"),
    ("telecom", "toggle_airplane_mode"),
    ("telecom", "toggle_data_saver_mode"),
]


class Watched:
    """A world that keeps the last environment that it opened."""

    def __init__(self, world: GoldWorld) -> None:
        self._world = world
        self.opened: GoldEnvironment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def open(self, task: Task, condition: str, clock: Clock) -> Environment:
        environment = self._world.open(task, condition, clock)
        assert isinstance(environment, GoldEnvironment)
        self.opened = environment
        return environment


def official(world: GoldWorld, task: Task, environment: GoldEnvironment, answer: Answer) -> Reward:
    session, source = environment._session, world._source
    assert isinstance(session, Tau2Session)
    assert isinstance(source, Tau2Source)
    said = "\n".join([answer.text, *map(str, answer.facts.values())])
    return reward(source.package, task.id, messages(environment.executed, session, said))


class TestJudge:
    @pytest.mark.parametrize(("domain", "tool"), DUPLICATES)
    def test_duplicates_are_caught(self, load: Load, domain: str, tool: str) -> None:
        """A write that happens once more than gold wants is named as a duplicate effect, each time."""
        for task in tasks_with(load(domain), tool):
            player = Player(load(domain), task)
            wanted = sum(step.tool == tool for step in task.plan)
            verdict = player.play(twice=tool)
            applied = sum(effect.name == tool for effect in player.env.effects)
            assert applied > wanted
            assert len(verdict.duplicate_effects) == applied - wanted
            assert all(name.startswith(f"{tool} ") for name in verdict.duplicate_effects)

    @pytest.mark.parametrize(("domain", "tool"), DUPLICATES[:2])
    def test_a_duplicate_fails_the_task(self, load: Load, domain: str, tool: str) -> None:
        """In a domain that is judged by its database, a write that happened twice does not pass."""
        for task in tasks_with(load(domain), tool):
            verdict = Player(load(domain), task).play(twice=tool)
            assert (verdict.passed, verdict.state_ok, verdict.answer_ok) == (False, False, True)

    @pytest.mark.parametrize(
        ("domain", "tool"),
        [
            ("retail", "cancel_pending_order"),
            ("retail", "modify_user_address"),
            ("airline", "update_reservation_flights"),
            ("telecom", "refuel_data"),
            ("mock", "create_task"),
        ],
    )
    def test_a_write_left_out_is_missing(self, load: Load, domain: str, tool: str) -> None:
        """Without its write a task fails, the effect is named, and so is what differs."""
        world = load(domain)
        task = next(task for task in tasks_with(world, tool) if world._cases[task.id].replay.effects)
        verdict = Player(world, task).play(without=tool)
        assert not verdict.passed
        assert any(name.startswith(f"{tool} ") for name in verdict.missing_effects)
        assert verdict.notes

    def test_other_writes_are_wrong(self, load: Load) -> None:
        """A write that the task does not call for fails it and is named as wrong."""
        task = load("retail").tasks("base", 1)[0]
        player = Player(load("retail"), task)
        player.play()
        user = {"user_id": "yusuf_rossi_9620", "address1": "1 New Road", "address2": "", "city": "Rome"}
        player.call("modify_user_address", {**user, "state": "NY", "country": "USA", "zip": "10001"})
        verdict = player.judge()
        assert not verdict.passed
        assert any("1 New Road" in name for name in verdict.wrong_effects)
        assert verdict.notes == ("not as gold leaves it: tools/users/yusuf_rossi_9620",)

    def test_what_the_user_must_be_told(self, load: Load) -> None:
        """An answer that leaves out what τ² wants said fails on the answer alone; commas and letters do not matter."""
        task = next(task for task in load("retail").tasks("base", None) if task.answer)
        player = Player(load("retail"), task)
        player.play()
        verdict = player.env.check(Answer(text="Done."), ())
        assert (verdict.passed, verdict.state_ok, verdict.answer_ok) == (False, True, False)
        said = [str(value) for value in player.answer().facts.values()]
        spoken = [f"{float(text):,.2f}" if "." in text else f"{int(text):,}" for text in said]
        assert player.env.check(Answer(text=" and ".join(spoken)), ()).passed

    def test_assertions_in_natural_language_are_reported(self, load: Load) -> None:
        """What only a reader of the talk could judge is said to be not scored."""
        verdict = Player(load("airline"), load("airline").tasks("base", 3)[2]).play()
        assert verdict.passed
        assert verdict.notes == ("not scored: 4 assertions in natural language (its reward leaves them out)",)

    @pytest.mark.parametrize("domain", ["retail", "telecom"])
    def test_checking_twice_says_the_same(self, load: Load, domain: str) -> None:
        """A verdict changes nothing."""
        for task in load(domain).tasks("base", 10):
            player = Player(load(domain), task)
            assert player.play() == player.judge()

    def test_a_form_does_what_the_tool_does(self, load: Load) -> None:
        """Asked for by form, a write has the same effect under the same name; sent on both paths it is a duplicate."""
        task = tasks_with(load("airline"), "send_certificate")[0]
        player = Player(load("airline"), task, ALTERNATIVES)
        for tool, arguments in player.calls():
            player.call(f"{tool}_by_form" if tool == "send_certificate" else tool, arguments)
        assert player.judge().passed
        player.call("send_certificate", arguments)
        (duplicate,) = player.judge().duplicate_effects
        assert duplicate.startswith("send_certificate ")

    def test_two_transfers_are_one_effect(self, load: Load) -> None:
        """A transfer to a person is in the log once, whatever its summary says."""
        task = tasks_with(load("retail"), "transfer_to_human_agents")[0]
        player = Player(load("retail"), task)
        player.play()
        player.call("transfer_to_human_agents", {"summary": "again"})
        assert [effect.name for effect in player.env.effects].count("transfer_to_human_agents") == 1
        assert player.judge().passed


class TestOfficial:
    @pytest.mark.parametrize(("domain", "count"), [("retail", 3), ("airline", 2), ("telecom", 40), ("mock", 9)])
    @pytest.mark.parametrize("slip", ["none", "twice", "without"])
    def test_the_live_state_agrees(self, load: Load, domain: str, count: int, slip: str) -> None:
        """τ²'s evaluators, given the calls that ran, come to the same reward as the live state."""
        for task in [task for task in load(domain).tasks("base", None) if task.plan][:count]:
            player = Player(load(domain), task)
            write = next((step.tool for step in task.plan if player.env.tools[step.tool].writes), "")
            verdict = player.play(**({} if slip == "none" else {slip: write}))
            try:
                found = official(load(domain), task, player.env, player.answer()).total
            except ValueError:  # τ² breaks off where an assertion finds no record
                found = 0.0
            assert (found == 1.0) is verdict.passed, (task.id, verdict)

    @pytest.mark.parametrize(("domain", "count"), [("retail", 2), ("telecom", 40)])
    @pytest.mark.parametrize("agent", ["rules", "retry"])
    def test_under_faults_too(self, load: Load, domain: str, count: int, agent: str) -> None:
        """Whatever the injector showed, the projection of what ran gets the verdict's reward."""
        world = Watched(load(domain))
        outcomes = set()
        for seed, task in enumerate([task for task in world.tasks("base", None) if task.plan][:count]):
            setup = Setup(
                world=world,
                condition=ALTERNATIVES,
                task=task,
                scenario=Scenario.S1,
                seed=seed,
                profile=PROFILES["paper"],
                agent=catalog.AGENTS[agent],
                blockade=Blockade(),
            )
            _, end = anyio.run(run_episode, setup)
            found = official(load(domain), task, world.opened, end.answer).total
            assert (found == 1.0) is end.verdict.passed, (task.id, end.verdict)
            outcomes.add(end.verdict.passed)
        assert domain == "retail" or outcomes == {True, False}


class TestEnvironment:
    @pytest.mark.parametrize(
        ("domain", "tool", "arguments"),
        [
            ("retail", "cancel_pending_order", {"order_id": "#W2974929", "reason": "no longer needed"}),
            ("airline", "send_certificate", {"user_id": "noah_muller_9847", "amount": 50}),
            ("telecom", "refuel_data", {"customer_id": "C1001", "line_id": "L1002", "gb_amount": 2.0}),
            ("mock", "create_task", {"user_id": "user_1", "title": "x"}),
        ],
    )
    def test_pretending_does_nothing(self, load: Load, domain: str, tool: str, arguments: dict[str, Any]) -> None:
        """A pretended write answers as the real one does, and leaves no trace."""
        environment = load(domain).open(load(domain).tasks("base", 1)[0], NATIVE, VirtualClock())
        assert isinstance(environment, GoldEnvironment)
        before = environment._session.changes()
        shown = run(environment.pretend(tool, dict(arguments)))
        assert environment._session.changes() == before
        assert not environment.effects
        assert not environment.executed
        assert run(environment.call(tool, dict(arguments))) == shown
        assert len(environment.effects) == 1

    def test_earlier(self, load: Load) -> None:
        """A read shows what it would have shown before the last change, a write the record before it, else nothing."""
        player = Player(load("retail"), load("retail").tasks("base", 1)[0])
        order, cancel = {"order_id": "#W2974929"}, {"order_id": "#W2974929", "reason": "no longer needed"}
        player.step = "x"
        pending = player.call("get_order_details", order).value
        assert player.env.earlier("get_order_details", order) is None
        assert player.env.earlier("cancel_pending_order", cancel) == pending
        cancelled = player.call("cancel_pending_order", cancel).value
        assert cancelled["status"] == "cancelled"
        assert player.env.earlier("get_order_details", order) == pending
        assert player.call("get_order_details", order).value == cancelled
        assert player.env.earlier("transfer_to_human_agents", {"summary": ""}) is None
        assert player.env.earlier("get_order_details", {"order_id": "#W0"}) is None
        assert player.env.earlier("no_tool", {}) is None

    @pytest.mark.parametrize(
        ("tool", "arguments", "says"),
        [
            ("get_order_details", {"order_id": "#W0"}, "Order not found"),
            ("get_order_details", {"order": "#W0"}, "unexpected keyword argument 'order'"),
            ("get_order_details", {}, "missing 1 required positional argument"),
            ("calculate", {"expression": "1/0"}, "division by zero"),
            ("list_user_orders", {"user_id": "nobody"}, "User not found"),
            ("list_user_orders", {}, "lacks or misstates something: 'user_id'"),
            ("no_such_tool", {}, "there is no tool 'no_such_tool'"),
        ],
    )
    def test_refusals(self, load: Load, tool: str, arguments: dict[str, Any], says: str) -> None:
        """What the package refuses, or what was called wrongly, is a native failure that says why."""
        environment = load("retail").open(load("retail").tasks("base", 1)[0], ALTERNATIVES, VirtualClock())
        outcome = run(environment.call(tool, arguments))
        assert isinstance(outcome, Failed)
        assert outcome.native
        assert says in outcome.message
        assert not environment.effects

    def test_ids(self, load: Load) -> None:
        """Every kind that the tools' schemas name has ids, with and without the prefix."""
        for domain in ("retail", "airline", "telecom", "mock"):
            environment = load(domain).open(load(domain).tasks("base", 1)[0], NATIVE, VirtualClock())
            for kind in load(domain)._source.domain.ids:
                assert environment.ids(kind), (domain, kind)
                assert environment.ids(f"id:{kind}") == environment.ids(kind)
            assert environment.ids("no such kind") == ()


class TestEquivalences:
    @pytest.mark.parametrize(
        ("domain", "tool", "other", "condition"),
        [
            ("retail", "find_user_id_by_email", "find_user_id_by_name_zip", NATIVE),
            ("retail", "find_user_id_by_name_zip", "find_user_id_by_email", NATIVE),
            ("retail", "get_order_details", "list_user_orders", ALTERNATIVES),
            ("retail", "get_user_details", "get_user_by_order", ALTERNATIVES),
            ("retail", "get_product_details", "search_product_by_name", ALTERNATIVES),
            ("retail", "cancel_pending_order", "cancel_pending_order_by_form", ALTERNATIVES),
            ("retail", "calculate", "calculate_via_gateway", ALTERNATIVES),
            ("airline", "get_reservation_details", "list_user_reservations", ALTERNATIVES),
            ("airline", "get_user_details", "get_user_by_reservation", ALTERNATIVES),
            ("airline", "search_direct_flight", "list_departures", ALTERNATIVES),
            ("airline", "send_certificate", "send_certificate_by_form", ALTERNATIVES),
            ("telecom", "get_customer_by_phone", "get_customer_by_name", NATIVE),
            ("telecom", "refuel_data", "refuel_data_by_form", ALTERNATIVES),
            ("telecom", "grant_app_permission", "grant_app_permission_by_form", ALTERNATIVES),
        ],
    )
    def test_a_path_suffices(self, load: Load, domain: str, tool: str, other: str, condition: str) -> None:
        """With the tool shut and this path alone to stand in for it, a whole task passes; both fail on their own."""
        world = load(domain)
        tools = world.tools(condition)
        assert tools[tool].fault_domain != tools[other].fault_domain
        for task in tasks_with(world, tool):
            if other in anyio.run(rehearse, world, task, condition).sufficient.get(tool, ()):
                return
        pytest.fail("it suffices for no task")

    @pytest.mark.parametrize(("domain", "native", "alternatives"), [("retail", 105, 111), ("airline", 0, 42)])
    def test_how_many_tasks_have_a_pair(self, load: Load, domain: str, native: int, alternatives: int) -> None:
        """So many tasks have a sufficient path on their own initial state, as docs/tau2.md says."""
        for condition, count in ((NATIVE, native), (ALTERNATIVES, alternatives)):
            found = [anyio.run(rehearse, load(domain), task, condition) for task in load(domain).tasks("base", None)]
            assert sum(bool(openings.sufficient) for openings in found) == count

    @pytest.mark.parametrize("domain", ["retail", "airline", "telecom", "mock"])
    def test_no_path_shares_its_tool_s_domain(self, load: Load, domain: str) -> None:
        """Tools that fail together are no alternative to each other, and paths lead to tools of the condition."""
        for condition in (NATIVE, ALTERNATIVES):
            tools = load(domain).tools(condition)
            for tool in tools.values():
                assert all(tools[path.tool].fault_domain != tool.fault_domain for path in tool.paths), tool.name
                assert tool.reader is None or tool.reader.tool in tools
            assert any(tool.mirror for tool in tools.values()) is (condition == ALTERNATIVES)

    @pytest.mark.parametrize(
        ("tool", "other", "app"),
        [
            ("check_app_permissions", "check_app_status", "messaging"),
            ("check_app_status", "check_app_permissions", "x"),
        ],
    )
    def test_texts_of_the_phone_are_translated(self, load: Load, tool: str, other: str, app: str) -> None:
        """Permissions read on one path come out in the words of the other."""
        world = load("telecom")
        environment = world.open(world.tasks("base", 1)[0], NATIVE, VirtualClock())
        (path,) = (path for path in environment.tools[tool].paths if path.tool == other)
        for name in (app, "messaging", "browser", "no such app"):
            asked = {"app_name": name}
            through = run(environment.call(other, asked))
            assert isinstance(through, Ok)
            assert run(environment.call(tool, asked)) == Ok(value=path.value(through.value, asked, {}))


class TestLostAnswers:
    @pytest.mark.parametrize(("domain", "tool"), [("retail", "cancel_pending_order"), ("airline", "send_certificate")])
    def test_a_lost_write_is_found(self, load: Load, domain: str, tool: str) -> None:
        """A write that was applied before its answer was lost is looked up, and happens once."""
        world = Watched(load(domain))
        task = tasks_with(load(domain), tool)[0]
        lost = 0
        for seed in range(60):
            setup = Setup(
                world=world,
                condition=NATIVE,
                task=task,
                scenario=Scenario.S1,
                seed=seed,
                profile=PROFILES["paper"],
                agent=catalog.AGENTS["rules"],
                blockade=Blockade(),
            )
            steps, end = anyio.run(run_episode, setup)
            hit = [step for step in steps if step.tool == tool and step.injection and step.injection.executed]
            if any(step.injection and step.injection.kind is FaultKind.TIMEOUT for step in hit):
                lost += 1
            assert end.verdict.duplicate_effects == ()
        assert lost
