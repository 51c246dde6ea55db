import shlex

import pytest

from breakfall.bench.matrix import Spec, expand
from breakfall.errors import UsageError
from breakfall.vocab import Scenario


def test_a_spec_expands_to_every_combination_once_in_one_order():
    """Each task, scenario, seed and agent meet exactly once, and always in the same order."""
    spec = Spec(tasks="3", seeds=2, agents=("retry", "rules"), scenarios=(Scenario.S2, Scenario.S1))
    keys = [key for unit in expand(spec) for key in unit.episodes()]
    assert len({key.id for key in keys}) == len(keys) == 3 * 2 * 2 * 2
    assert [(key.scenario, key.seed, key.agent) for key in keys[:4]] == [
        ("S2", 0, "retry"),
        ("S2", 0, "rules"),
        ("S2", 1, "retry"),
        ("S2", 1, "rules"),
    ]
    assert keys == [key for unit in expand(spec) for key in unit.episodes()]


def test_many_seeds_of_one_task_are_spread_over_units():
    """A single task with many seeds still gives work to several workers."""
    units = expand(Spec(tasks="1", seeds=100))
    assert len(units) > 1
    assert [seed for unit in units for seed in unit.seeds] == list(range(100))
    assert all(unit.size == len(list(unit.episodes())) <= 128 for unit in units)


@pytest.mark.parametrize(
    ("tasks", "split", "count"), [("4", "held-out", 4), ("train:3", "train", 3), ("held-out:2", "held-out", 2)]
)
def test_tasks_are_counted_or_named(tasks, split, count):
    """N is of the default split, SPLIT:N of a named one."""
    units = expand(Spec(tasks=tasks, seeds=1))
    assert {(unit.split, unit.limit) for unit in units} == {(split, count)}
    assert len({unit.task for unit in units}) == count


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"worlds": ("stor",)}, r"no world 'stor'; did you mean 'store'\?"),
        ({"agents": ("rulez",)}, r"no agent 'rulez'; did you mean 'rules'\?"),
        ({"conditions": ("nativ",)}, r"no condition 'nativ'; did you mean 'native'\? \(conditions of world 'store'\)"),
        ({"tasks": "tran"}, r"no split 'tran'; did you mean 'train'\? \(splits of world 'store'"),
        ({"tasks": "0"}, r"--tasks is '0': the number of tasks is '0', must be a whole number from 1"),
        ({"tasks": "train:many"}, r"the number of tasks is 'many', must be a whole number from 1"),
        ({"seeds": 10**9}, r"16,000,000,000 episodes \(tasks × .*: 1 × 4 × 4 × 1,000,000,000\), a run holds up to"),
        (
            {"seeds": 10_000, "tasks": "1000"},
            r"these are 160,000,000 episodes \(.*: 1,000 × 4 × 4 × 10,000\)",
        ),
        ({"tasks": "1000000000"}, r"there are 100,000 tasks to choose from, not 1,000,000,000"),
        ({"seeds": 0}, r"--seeds is 0, must be at least 1"),
        ({"agents": ()}, r"no agents given; at least one is needed"),
        ({"agents": ("retry", "rules", "retry")}, r"agents name 'retry' twice; once is enough"),
    ],
)
def test_a_wrong_spec_is_refused_with_what_would_be_right(fields, says):
    """Every field's mistakes are named, with the nearest right value."""
    with pytest.raises(UsageError, match=says):
        expand(Spec(**fields))


def test_the_command_runs_the_same_spec():
    """What a report prints for reproduction holds every field that decides the episodes."""
    spec = Spec(conditions=("native",), tasks="train:7", seeds=3, agents=("a.b:C",), profile="my noise.toml")
    assert shlex.split(spec.command) == [
        *("breakfall", "bench", "--world", "store", "--tasks", "train:7"),
        *("--scenarios", "CLEAN,S1,S2,S3", "--agents", "a.b:C", "--profile", "my noise.toml", "--seeds", "3"),
        *("--set", "condition=native"),
    ]


def test_a_range_of_tasks():
    """SPLIT:A-B is the A-th to the B-th task of a split, SPLIT:A-B/S every S-th of them."""
    whole = [unit.task for unit in expand(Spec(tasks="train:6", seeds=1))]
    assert [unit.task for unit in expand(Spec(tasks="train:1-4", seeds=1))] == whole[:4]
    assert [unit.task for unit in expand(Spec(tasks="train:5-6", seeds=1))] == whole[4:]
    assert [unit.task for unit in expand(Spec(tasks="train:1-6/2", seeds=1))] == whole[::2]
    assert [unit.task for unit in expand(Spec(tasks="train:2-6/2", seeds=1))] == whole[1::2]


@pytest.mark.parametrize("tasks", ["train:0-3", "train:4-3", "train:-3", "train:2-", "train:a-b", "train:1-4/0"])
def test_a_wrong_range_is_refused(tasks):
    """A range that is none is refused with what would be right."""
    with pytest.raises(UsageError, match="must be A-B or A-B/STEP with 1 <= A <= B"):
        expand(Spec(tasks=tasks))
