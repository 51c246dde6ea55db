"""Folders of 3I tasks: loading them, clean replays, and the rule of infeasible tasks on what really ran."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.tau2.player import Player

from breakfall import catalog
from breakfall.errors import UsageError
from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade
from breakfall.runtime.episode import Setup, run_episode
from breakfall.vocab import (
    ALTERNATIVES,
    NATIVE,
    Answer,
    EpisodeEnd,
    FaultKind,
    Scenario,
    Step,
    Task,
    Toolbox,
    Verdict,
)
from breakfall.worlds import threei
from breakfall.worlds.gold.world import GoldWorld

FOLDER = Path(__file__).parent / "retail"
CANCEL = ("cancel_pending_order", {"order_id": "#W2611340", "reason": "no longer needed"})


@pytest.fixture(scope="module")
def world() -> GoldWorld:
    return threei.retail(str(FOLDER))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder to change."""
    return Path(shutil.copytree(FOLDER, tmp_path / "retail"))


@pytest.fixture
def edited(folder: Path) -> Callable[[Callable[[list[Any]], None]], GoldWorld]:
    """Change the tasks of the copy and load it."""

    def edit(change: Callable[[list[Any]], None]) -> GoldWorld:
        file = folder / "test" / "tasks.json"
        tasks = json.loads(file.read_text())
        change(tasks)
        file.write_text(json.dumps(tasks))
        return threei.retail(str(folder))

    return edit


def named(world: GoldWorld, name: str) -> Task:
    return next(task for task in world.tasks("test", None) if task.id == name)


class TestLoading:
    def test_clean_replays_pass(self, world: GoldWorld) -> None:
        """All seven tasks pass in both conditions, those that are to be refused too."""
        tasks = world.tasks("test", None)
        assert [task.feasible for task in tasks] == [True] * 5 + [False] * 2
        for condition in (NATIVE, ALTERNATIVES):
            for task in tasks:
                verdict = Player(world, task, condition).play()
                assert verdict == Verdict(passed=True, state_ok=True, answer_ok=True)

    def test_splits_are_folders_and_kinds(self, world: GoldWorld) -> None:
        """A subfolder is a split, each file of a kind another; a task knows its kind in both."""
        assert world.splits == ("test", "test-ambiguous", "test-changing", "test-general", "test-infeasible")
        kinds = [task.template for task in world.tasks("test", None)]
        assert kinds == ["general", "general", "ambiguous", "changing", "changing", "infeasible", "infeasible"]
        assert [task.id for task in world.tasks("test-infeasible", None)] == ["fx_0006", "fx_0007"]

    def test_without_a_file_of_all(self, folder: Path) -> None:
        """Where there are only files of kinds, the split holds them all."""
        (folder / "test" / "tasks.json").unlink()
        assert len(threei.retail(str(folder)).tasks("test", None)) == 7

    def test_other_splits(self, folder: Path) -> None:
        """`test` stands first whatever the other subfolders are called; folders without tasks are none."""
        (folder / "dev").mkdir()
        (folder / "notes").mkdir()
        shutil.copy(folder / "test" / "tasks_general.json", folder / "dev" / "tasks.json")
        assert threei.retail(str(folder)).splits[:3] == ("test", "dev", "test-ambiguous")

    def test_a_database_of_its_own(self, folder: Path) -> None:
        """`db.json` in the folder takes the place of the package's database."""
        (folder / "db.json").write_text(json.dumps({"products": {}, "users": {}, "orders": {}}))
        empty = threei.retail(str(folder))
        player = Player(empty, empty.tasks("test", 1)[0])
        player.play()
        assert player.values[0].message == "User not found"
        (folder / "db.json").write_text('{"orders": 3}')
        with pytest.raises(UsageError, match=r"db\.json: is no database of 'retail': ValidationError"):
            threei.retail(str(folder)).tasks("test", 1)

    def test_by_name(self) -> None:
        """`NAME=FOLDER` loads it; the airline form is loaded with the airline's tools."""
        found = catalog.world(f"retail-3i={FOLDER}")
        assert (found.name, len(found.tasks("test", None))) == ("retail-3i", 7)
        assert "book_reservation" in threei.airline(str(FOLDER)).tools(NATIVE)
        with pytest.raises(UsageError, match="needs its folder of tasks: --world retail-3i=FOLDER"):
            catalog.world("retail-3i")
        with pytest.raises(UsageError, match="no world 'retial-3i'; did you mean 'retail-3i'"):
            catalog.world(f"retial-3i={FOLDER}")
        assert catalog.source_file(f"retail-3i={FOLDER}") is None

    def test_a_bench_of_it(self, tmp_path: Path) -> None:
        """A bench of a folder anywhere keeps its run beside all others, and names the folder in its command."""
        words = (
            f"bench --world retail-3i={FOLDER} --tasks test:2 --agents rules --scenarios CLEAN,S1 --seeds 2 --jobs 1"
        )
        found = subprocess.run(
            [Path(sys.executable).with_name("breakfall"), *words.split(), "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"retail-3i={FOLDER}" in json.loads(found.stdout)["command"]
        (run,) = (tmp_path / "runs").iterdir()
        assert run.name.startswith("retail-3i-")

    def test_data_hash(self, world: GoldWorld, folder: Path) -> None:
        """The hash follows the files, not the place where the folder stands."""
        assert threei.retail(str(folder)).data_hash() == world.data_hash()
        (folder / "test" / "tasks.json").write_text("[]")
        assert threei.retail(str(folder)).data_hash() != world.data_hash()

    def test_bad_folders(self, folder: Path, tmp_path: Path) -> None:
        """What is no such folder, and a file that is no list of tasks, are usage errors that name the place."""
        for wrong in (tmp_path / "none", tmp_path):
            with pytest.raises(UsageError, match=r"found no SPLIT/tasks\.json and no SPLIT/tasks_KIND\.json"):
                threei.retail(str(wrong / "x"))
        for text in ("{", '{"a": 1}', "[1]"):
            (folder / "test" / "tasks.json").write_text(text)
            with pytest.raises(UsageError, match=r"tasks\.json: is no list of tasks"):
                threei.retail(str(folder)).tasks("test", None)

    @pytest.mark.parametrize(
        "change",
        [
            lambda task: task.pop("user_scenario"),
            lambda task: task["user_scenario"]["instructions"].update(actions_should_not_taken=[{"tool": "x"}]),
            lambda task: task["user_scenario"]["instructions"].update(actions_should_be_taken="transfer"),
            lambda task: task["evaluation_criteria"].update(actions=[{"name": "x"}]),
        ],
    )
    def test_bad_tasks(self, edited: Any, change: Callable[[Any], None]) -> None:
        """A task that is not of the form is a usage error that names file and task."""
        with pytest.raises(UsageError, match=r"test/tasks\.json: task 'fx_0006' is not of τ²'s form"):
            edited(lambda tasks: change(tasks[5])).tasks("test", None)


class TestInfeasible:
    def test_a_forbidden_call_fails(self, world: GoldWorld) -> None:
        """A call that must not be made fails the task although the tool refuses it and nothing changed."""
        player = Player(world, named(world, "fx_0006"))
        player.play()
        player.call(*CANCEL)
        verdict = player.judge()
        assert (verdict.passed, verdict.forbidden_effects) == (False, ())
        assert "cancel_pending_order" in verdict.notes[0]
        assert "and was refused: Non-pending order cannot be cancelled" in verdict.notes[0]

    def test_a_forbidden_effect_is_named(self, world: GoldWorld) -> None:
        """Where the forbidden call took effect, the effect is forbidden and wrong; `{}` forbids any arguments."""
        player = Player(world, named(world, "fx_0007"))
        player.play()
        player.call("cancel_pending_order", {"order_id": "#W5694685", "reason": "no longer needed"})
        verdict = player.judge()
        assert not verdict.passed
        assert len(verdict.forbidden_effects) == 1
        assert verdict.forbidden_effects == verdict.wrong_effects

    def test_other_arguments_are_not_forbidden(self, world: GoldWorld) -> None:
        """A rule with arguments forbids these alone; another order's cancellation is only a wrong effect."""
        player = Player(world, named(world, "fx_0006"))
        player.play()
        player.call("cancel_pending_order", {"order_id": "#W2974929", "reason": "no longer needed"})
        verdict = player.judge()
        assert (verdict.passed, verdict.forbidden_effects) == (True, ())
        assert len(verdict.wrong_effects) == 1

    def test_a_form_is_forbidden_too(self, world: GoldWorld) -> None:
        """What must not be called must not be asked for by form either."""
        player = Player(world, named(world, "fx_0007"), ALTERNATIVES)
        player.play()
        player.call("cancel_pending_order_by_form", {"order_id": "#W5694685", "reason": "no longer needed"})
        assert len(player.judge().forbidden_effects) == 1

    def test_what_must_be_called(self, world: GoldWorld) -> None:
        """Without the call that must be made the task fails."""
        verdict = Player(world, named(world, "fx_0006")).play(without="transfer_to_human_agents")
        assert not verdict.passed
        assert verdict.notes == ("no call ran that matches transfer_to_human_agents",)

    @pytest.mark.parametrize("spelling", ["actions_should_taken", "actions_should_be_taken"])
    def test_both_spellings(self, edited: Any, spelling: str) -> None:
        """Both spellings of what must be called are read."""

        def respell(tasks: list[Any]) -> None:
            told = tasks[5]["user_scenario"]["instructions"]
            told[spelling] = told.pop("actions_should_be_taken")

        task = named(edited(respell), "fx_0006")
        assert [step.tool for step in task.plan] == ["transfer_to_human_agents"]
        assert task.plan[0].arguments == {"summary": "Processed orders cannot be cancelled."}

    def test_what_was_issued_and_never_ran(self, world: GoldWorld) -> None:
        """A forbidden call that a fault kept from running does not fail the task, and is reported apart."""

        class Careless:
            async def run(self, task: Task, toolbox: Toolbox) -> Answer:
                await toolbox.call(*CANCEL)
                await toolbox.call("transfer_to_human_agents", {"summary": ""})
                return Answer(text="Done.")

        steps, end = anyio.run(_played, world, Careless())
        assert [step.executed for step in steps if step.tool == CANCEL[0]] == [False]
        assert end.verdict.passed
        assert end.verdict.notes[0].startswith("issued, and never ran: cancel_pending_order")


async def _played(world: GoldWorld, agent: Any) -> tuple[list[Step], EpisodeEnd]:
    setup = Setup(
        world=world,
        condition=NATIVE,
        task=named(world, "fx_0006"),
        scenario=Scenario.S3,
        seed=0,
        profile=PROFILES["clean"],
        agent=catalog.AgentSpec(name="careless", make=lambda: agent, policy=catalog.AGENTS["give-up"].policy),
        blockade=Blockade(tools=(CANCEL[0],), kinds={CANCEL[0]: FaultKind.AUTH_ERROR}, for_tool=CANCEL[0]),
    )
    return await run_episode(setup)
