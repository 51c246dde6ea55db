"""The tasks: solvable as planned, fixed, worded in both languages, and apart between the splits."""

import os
import subprocess
import sys
from collections import Counter

import msgspec
import pytest

from breakfall.errors import UsageError
from breakfall.vocab import ALTERNATIVES, NATIVE, Answer
from breakfall.worlds.store.draft import REASONS
from breakfall.worlds.store.templates import TEMPLATES


@pytest.mark.parametrize("condition", [ALTERNATIVES, NATIVE])
@pytest.mark.parametrize("split", ["held-out", "train"])
def test_gold_plans_pass(world, opened, split, condition):
    """The gold plan of each of the first 200 tasks of a split passes the checker, with native tools alone too."""
    for task in world.tasks(split, 200):
        bench = opened(task, condition)
        for _ in bench.play(task):
            pass
        verdict = bench.store.check(Answer(facts=bench.facts), ())
        assert verdict.passed, (task.id, verdict)


def test_doing_nothing_never_passes(world, opened):
    """No task is passed by an agent that does nothing and states nothing."""
    for task in world.tasks("held-out", 100):
        assert not opened(task).store.check(Answer(), ()).passed, task.id


def test_templates_and_lengths(world, moments):
    """At least 14 kinds of tasks, feasible and not, whose plans make 1 to 12 calls."""
    assert len(TEMPLATES) >= 14
    assert {template.feasible for template in TEMPLATES} == {True, False}
    tasks = world.tasks("train", len(TEMPLATES))
    assert {task.template for task in tasks} == {template.name for template in TEMPLATES}
    lengths = Counter(moment.task.id for moment in moments).values()
    assert min(lengths) == 1
    assert max(lengths) == 12


def test_splits_share_no_customer_and_no_order(world):
    """No customer and no order that a train task names is named by a held-out task."""
    named = []
    for split in world.splits:
        tasks = world.tasks(split, 300)
        keys = ("email", "order_id", "open_id", "other_id")
        named.append({task.facts[key] for task in tasks for key in keys if key in task.facts})
    assert named[0]
    assert not named[0] & named[1]


def test_a_limit_is_a_prefix(world):
    """Task i does not depend on how many tasks are asked for, and more than the standard size can be had."""
    assert world.tasks("train", 5) == world.tasks("train", 40)[:5]
    assert len(world.tasks("train", 510)) == 510
    assert len(world.tasks("train", None)) == 500


def test_unknown_names_are_refused(world):
    """A split, a condition or a count that cannot be is refused with what would be right."""
    with pytest.raises(UsageError, match="no split 'trian'; did you mean 'train'"):
        world.tasks("trian", 1)
    with pytest.raises(UsageError, match="no condition 'natve'; did you mean 'native'"):
        world.tools("natve")
    with pytest.raises(UsageError, match="-1 tasks asked for"):
        world.tasks("train", -1)


def test_what_the_user_states_stands_in_the_text(world):
    """Every fact but the optional ids of pages and parcels can be read in the English and in the Korean instruction."""
    for task in world.tasks("held-out", 200):
        for name, value in task.facts.items():
            if name == "reason" and "{reason}" not in "".join(_template(task).en):
                continue
            shown = f"{value:.2f}" if isinstance(value, float) else str(value)
            en, ko = REASONS.get(shown, (shown, shown))
            assert en in task.instruction.en, (task.id, name)
            assert ko in task.instruction.ko, (task.id, name)


def _template(task):
    return next(template for template in TEMPLATES if template.name == task.template)


def test_every_argument_of_a_path_is_known(moments, world):
    """Every plan but the one-call ones has a call with an equivalent whose arguments are known."""
    tools = world.tools(ALTERNATIVES)
    with_path = {
        moment.task.id
        for moment in moments
        for path in tools[moment.tool].paths
        if path.arguments(moment.arguments, moment.context) is not None
    }
    assert with_path == {moment.task.id for moment in moments}


def test_a_stale_status_changes_what_the_plan_does(world):
    """The write of a task that the policy forbids hangs on a condition that the true answer does not meet."""
    infeasible = [task for task in world.tasks("train", 150) if not task.feasible]
    assert infeasible
    for task in infeasible:
        assert task.details["forbidden"], task.id
        assert any(step.when for step in task.plan), task.id


def test_tasks_are_the_same_in_every_process():
    """Tasks and data hash do not depend on the process or on PYTHONHASHSEED."""
    code = (
        "import msgspec; from hashlib import sha256; from breakfall.worlds.store import StoreWorld; w = StoreWorld();"
        "print(w.data_hash(), sha256(msgspec.json.encode([w.tasks(s, 60) for s in w.splits])).hexdigest())"
    )
    printed = set()
    for seed in ("0", "1", "4711"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        printed.add(done.stdout)
    assert len(printed) == 1


def test_tasks_are_plain_data(world):
    """A task's facts and details survive JSON unchanged, so that a recorded run can be checked again."""
    for task in world.tasks("train", 60):
        for part in (task.facts, task.details):
            assert msgspec.json.decode(msgspec.json.encode(part)) == part
