"""What the injector asks of the BFCL world: values from before a change, and ids that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.integration.bfcl.player import Clock, Player, task, tasks_with

from breakfall.vocab import NATIVE
from breakfall.worlds.bfcl import BfclWorld

NEVER = 10**6
"""More fuel than a tank holds."""


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
