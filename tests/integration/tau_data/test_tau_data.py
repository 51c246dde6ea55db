"""τ-bench's data in `tau-trait`: clean replays, readers and repeats, the package's own state, and its import."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.bfcl.player import run
from tests.integration.tau2.player import Player, answers, tasks_with

from breakfall import catalog
from breakfall.bench.rehearse import rehearse
from breakfall.runtime.clock import VirtualClock
from breakfall.vocab import ALTERNATIVES, NATIVE, Answer, Failed, Found, Ok, Verdict
from breakfall.worlds import tau_data
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.fork import frozen
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau_data.package import Package
from breakfall.worlds.tau_data.source import DataSource

Load = Callable[[str], GoldWorld]

REPLAYS = [("retail", "test", 120), ("retail", "train", 500), ("airline", "test", 60), ("telehealth", "test", 12)]

each_domain = pytest.mark.parametrize("domain", ["retail", "airline", "telehealth"])


@pytest.fixture(scope="session")
def load() -> Load:
    @cache
    def world(domain: str) -> GoldWorld:
        found = catalog.world(f"tau-{domain}")
        assert isinstance(found, GoldWorld)
        return found

    return world


def package(world: GoldWorld) -> Package:
    assert isinstance(world._source, DataSource)
    return world._source.package


class TestReplay:
    @pytest.mark.parametrize(("domain", "split", "count"), REPLAYS)
    def test_clean_replays_pass(self, load: Load, domain: str, split: str, count: int) -> None:
        """Every task passes in both conditions, with exactly gold's effects and outputs."""
        tasks = load(domain).tasks(split, None)
        assert len({task.id for task in tasks}) == count
        for task in tasks:
            for condition in (NATIVE, ALTERNATIVES):
                verdict = Player(load(domain), task, condition).play()
                assert verdict == Verdict(passed=True, state_ok=True, answer_ok=True), (task.id, verdict)

    @each_domain
    def test_forks_lead_to_the_package_s_own_state(self, load: Load, domain: str) -> None:
        """The package's tools on a database loaded anew leave it as they leave the fork."""
        world = load(domain)
        for task in world.tasks("test", 25):
            plain = package(world).load()
            player = Player(world, task)
            for tool, arguments in player.calls():
                package(world).tools[tool].invoke(data=plain, **arguments)
                player.call(tool, arguments)
            live = player.env._session._tables  # type: ignore[attr-defined]
            for name, table in plain.items():
                assert frozen(dict(live[name].items())) == frozen(table), (task.id, name)

    @each_domain
    def test_episodes_do_not_touch_one_another(self, load: Load, domain: str) -> None:
        """Every task shows the same to the byte in reversed order, and the loaded database stays as it was."""
        world = load(domain)
        before = frozen(world._source.tables())
        tasks = world.tasks("test", None)
        first, again = {task.id: answers(world, task) for task in tasks}, {}
        for task in reversed(tasks):
            again[task.id] = answers(world, task)
        assert first == again
        assert frozen(world._source.tables()) == before

    def test_same_bytes_in_every_process(self) -> None:
        """Neither the order of sets, nor the process, nor today's date changes a task or an answer."""
        code = (
            "from breakfall import catalog; from tests.integration.tau2.player import digest\n"
            "for name in ('retail', 'airline', 'telehealth'): print(digest(catalog.world(f'tau-{name}')))\n"
        )
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
            assert found.stderr == ""
            digests.add(found.stdout)
        assert len(digests) == 1

    @each_domain
    def test_readers_tell_and_natural_writes_may_be_repeated(self, load: Load, domain: str) -> None:
        """A task's reader says NO before each gold write and YES after it; a NATURAL write may be sent again."""
        world = load(domain)
        tools = world.tools(NATIVE)
        repeats: dict[str, set[bool]] = {}
        asked = 0
        for split in world.splits:
            for task in world.tasks(split, 120):
                player = Player(world, task)
                for tool, arguments in player.calls():
                    reader = player.env.tools[tool].reader
                    before = "no" if reader is None else _told(player.env, reader, arguments)
                    outcome = player.call(tool, arguments)
                    if tools[tool].writes and isinstance(outcome, Ok):
                        if reader is not None:
                            assert (before, _told(player.env, reader, arguments)) == ("no", "yes"), (task.id, tool)
                            asked += 1
                        repeats.setdefault(tool, set()).add(_repeatable(player.env, tool, arguments))
        natural = {name for name, tool in tools.items() if tool.idempotency.kind == "natural"}
        assert {tool for tool, same in repeats.items() if same == {True}} == natural & repeats.keys()
        assert asked


def _told(env: GoldEnvironment, reader: Any, arguments: dict[str, Any]) -> str:
    outcome = run(env.pretend(reader.tool, reader.arguments(arguments, {})))
    return str(reader.judge(outcome.value, arguments, 0.0).applied) if isinstance(outcome, Ok) else "refused"


def _repeatable(env: GoldEnvironment, tool: str, arguments: dict[str, Any]) -> bool:
    fork = env._session.fork()
    return fork.run(tool, dict(arguments)).error is None and fork.changes() == env._session.changes()


class TestJudge:
    def test_a_duplicate_fails(self, load: Load) -> None:
        """A certificate that is sent twice is a duplicate effect and fails the task."""
        tasks = [task for task in tasks_with(load("airline"), "send_certificate") if task.id != "test-53"]
        for task in tasks:  # that one's user does not exist
            verdict = Player(load("airline"), task).play(twice="send_certificate")
            assert (verdict.passed, len(verdict.duplicate_effects)) == (False, 1)
        assert tasks

    def test_a_tool_that_answers_nothing(self, load: Load) -> None:
        """The package hands out three certificates and says nothing about a fourth: that is its answer."""
        env = load("airline").open(load("airline").tasks("test", 1)[0], NATIVE, VirtualClock())
        given = {"user_id": "noah_muller_9847", "amount": 1}
        values = [run(env.call("send_certificate", given)).value for _ in range(4)]
        assert values[2].startswith("Certificate certificate_3221324")
        assert values[3] is None
        assert len(env.effects) == 3

    def test_outputs_must_be_said(self, load: Load) -> None:
        """An answer without the task's outputs fails on the answer alone."""
        task = next(task for task in load("telehealth").tasks("test", None) if task.answer)
        player = Player(load("telehealth"), task)
        player.play()
        verdict = player.env.check(Answer(text="Done."), ())
        assert (verdict.state_ok, verdict.answer_ok) == (True, False)
        assert verdict.notes

    @pytest.mark.parametrize(
        ("domain", "tool", "arguments", "says"),
        [
            ("retail", "get_order_details", {"order_id": "#W0"}, "order not found"),
            ("retail", "get_order_details", {}, "missing 1 required positional argument"),
            ("telehealth", "cancel_appointment", {"appointment_id": "X"}, "Appointment with ID X not found."),
            ("telehealth", "find_patient_by_email", {"email": "x"}, "No patient found with email: x"),
        ],
    )
    def test_refusals(self, load: Load, domain: str, tool: str, arguments: dict[str, Any], says: str) -> None:
        """What the package refuses in whatever words is a native failure."""
        env = load(domain).open(load(domain).tasks("test", 1)[0], NATIVE, VirtualClock())
        outcome = run(env.call(tool, arguments))
        assert isinstance(outcome, Failed)
        assert outcome.native
        assert says in outcome.message

    def test_an_empty_list_is_an_answer(self, load: Load) -> None:
        """That there is nothing to list is no refusal."""
        env = load("telehealth").open(load("telehealth").tasks("test", 1)[0], NATIVE, VirtualClock())
        outcome = run(env.call("list_available_providers", {"specialty": "Alchemy"}))
        assert outcome == Ok(value="No providers found with specialty: Alchemy")

    def test_an_unknown_tool_of_gold_is_left_out(self, load: Load) -> None:
        """The one gold call of a tool that does not exist is in no plan: it did nothing in the package either."""
        tools = load("airline").tools(NATIVE)
        assert all(step.tool in tools for task in load("airline").tasks("test", None) for step in task.plan)


class TestPlans:
    def test_writes_alone_begin_with_look_ups(self, load: Load) -> None:
        """The train tasks' gold has writes alone: customer and orders are looked up first, arguments bound to that."""
        task = load("retail").tasks("train", 1)[0]
        tools = [step.tool for step in task.plan]
        assert tools[:3] == ["find_user_id_by_name_zip", "get_user_details", "get_order_details"]
        assert any(isinstance(value, Found) for step in task.plan for value in step.arguments.values())

    @pytest.mark.parametrize(
        ("domain", "split", "native", "alternatives"),
        [("retail", "test", 110, 117), ("airline", "test", 0, 51), ("telehealth", "test", 10, 12)],
    )
    def test_how_many_tasks_have_a_pair(
        self, load: Load, domain: str, split: str, native: int, alternatives: int
    ) -> None:
        """So many tasks have a sufficient path on their own initial state."""
        for condition, count in ((NATIVE, native), (ALTERNATIVES, alternatives)):
            found = [anyio.run(rehearse, load(domain), task, condition) for task in load(domain).tasks(split, None)]
            assert sum(bool(openings.sufficient) for openings in found) == count

    @each_domain
    def test_paths_lead_to_other_domains(self, load: Load, domain: str) -> None:
        """Tools that fail together are no alternative to each other; ids and data hash are there."""
        world = load(domain)
        for condition in (NATIVE, ALTERNATIVES):
            tools = world.tools(condition)
            for tool in tools.values():
                assert all(tools[path.tool].fault_domain != tool.fault_domain for path in tool.paths), tool.name
        env = world.open(world.tasks("test", 1)[0], NATIVE, VirtualClock())
        assert all(env.ids(kind) for kind in world._source.domain.ids)
        assert world.data_hash() == getattr(tau_data, domain)().data_hash()


class TestPackage:
    @pytest.mark.parametrize("module", ["tau_trait", "pydantic"])
    def test_a_missing_package_says_what_to_install(self, module: str) -> None:
        """Without a module the world is a usage error of one line with the command."""
        code = (
            f"import sys; sys.modules[{module!r}] = None\nfrom breakfall.errors import UsageError\n"
            "from breakfall.worlds import tau_data\n"
            "try:\n    tau_data.retail()\nexcept UsageError as error:\n    print(error)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert found.count("\n") == 1
        assert repr(module) in found
        assert "pip install --no-deps tau-trait && pip install pydantic" in found

    def test_importing_it_leaves_nothing_behind(self) -> None:
        """No client for a model is imported, and whoever imports the package gets it whole, as it was before."""
        code = (
            "import sys, types\nfrom breakfall.worlds import tau_data\nworld = tau_data.telehealth()\n"
            "mine = sys.modules['tau_trait'] = types.ModuleType('tau_trait')\nworld.tasks('test', None)\n"
            "print(sys.modules['tau_trait'] is mine, [name for name in sys.modules if name.startswith('tau_trait.')])\n"
            "print('openai' in sys.modules, 'litellm' in sys.modules)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout == "True []\nFalse False\n"
        assert found.stderr == ""
