"""What the BFCL world refuses, and what it does not offer."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from tests.integration.bfcl.player import Clock, Player, run, task, tasks_with

from breakfall.errors import UsageError
from breakfall.vocab import ALTERNATIVES, NATIVE, Answer, Applied, Failed
from breakfall.worlds.bfcl import BfclWorld


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
        for name in ("multi_turn_base_999", "store-7"):
            unknown = msgspec.structs.replace(world.tasks("base", 1)[0], id=name)
            with pytest.raises(UsageError, match=f"no task '{name}'"):
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
