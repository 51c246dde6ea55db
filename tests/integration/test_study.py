"""The study: learn on one part, compare on the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from breakfall import catalog
from breakfall.bench.matrix import Spec, expand
from breakfall.bench.study import Plan, Study, parts, study
from breakfall.cli.app import app
from breakfall.errors import UsageError
from breakfall.memory.choose import Mode
from breakfall.vocab import Task, World

PLAN = Plan(train=6, train_seeds=1, tasks=6, seeds=2, agents=("retry", "oracle"))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "one"
    study(PLAN, folder, jobs=1)
    return folder


def test_same_bytes(done: Path, tmp_path: Path) -> None:
    """The same plan gives the same file, byte for byte, wherever it is run and with however many processes."""
    study(PLAN, tmp_path / "two", jobs=2)
    assert (tmp_path / "two" / "study.json").read_bytes() == (done / "study.json").read_bytes()


def test_a_study_goes_on(done: Path) -> None:
    """What is there is not run again, and gives the same table; another plan does not go on with it."""
    before = (done / "study.json").read_bytes()
    result = study(PLAN, done)
    assert result.ran == 0
    assert result.episodes > 0
    assert (done / "study.json").read_bytes() == before
    with pytest.raises(UsageError, match="holds another run"):
        study(replace(PLAN, seeds=3), done)


def test_what_the_file_holds(done: Path) -> None:
    """Each agent stands in each mode and condition, the oracle once; the paper's figures stand apart."""
    found = msgspec.json.decode((done / "study.json").read_bytes(), type=Study)
    rows = [(row.condition, row.agent, row.mode) for row in found.ablation.rows]
    assert sorted(rows) == sorted(
        (condition, *row)
        for condition in ("alternatives", "native")
        for row in [*(("retry", mode) for mode in Mode), ("oracle", Mode.OFF)]
    )
    assert (found.train, found.held_out) == ("train:6", "held-out:6")
    assert found.learned.episodes > 0
    assert found.command.startswith("breakfall study paper --world store --agents retry,oracle --profile paper")
    assert [one.figures for one in found.published] == [(20.1, 31.9), (36.9, 43.6), (10.5, 14.6)]
    assert len(found.readings) == 2


def test_commands(done: Path) -> None:
    """The command prints the table, the sentences, the paper's figures, how to run it again and the time it took."""
    shared = ["study", "paper", "--train", "6", "--train-seeds", "1", "--tasks", "6", "--seeds", "2"]
    shared += ["--agents", "retry,oracle", "--out", str(done), "--jobs", "1"]
    printed = CliRunner(env={"COLUMNS": "200"}).invoke(app, shared, catch_exceptions=False).stdout
    for part in ("posterior", "shuffled", "true against shuffled", "another data set", "Reproduce:", "Ran 0 of"):
        assert part in printed
    as_json = CliRunner().invoke(app, [*shared, "--json"], catch_exceptions=False).stdout
    assert as_json.encode() == (done / "study.json").read_bytes()


class Plain:
    """A world with one split."""

    name = "plain"
    splits = ("base",)

    def __init__(self, count: int) -> None:
        self.count = count

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        tasks = catalog.world("store").tasks("train", self.count)
        return tasks if limit is None else tasks[:limit]


@pytest.mark.parametrize(
    ("count", "train", "held_out", "chosen"),
    [
        (10, 3, 2, ("base:1-5/2", "base:2-4/2")),
        (10, 100, 100, ("base:1-10/2", "base:2-10/2")),
        (3, 1, 1, ("base:1-1/2", "base:2-2/2")),
    ],
)
def test_a_world_with_one_split_is_shared_out(count: int, train: int, held_out: int, chosen: tuple[str, str]) -> None:
    """Every second task is learned from and those between are compared on, so none is in both."""
    world: World = Plain(count)  # type: ignore[assignment]
    assert parts(world, train, held_out) == chosen


def test_the_parts_of_the_store_share_no_task() -> None:
    """What is learned from is not compared on."""
    train, held_out = parts(catalog.world("store"), 50, 40)
    assert (train, held_out) == ("train:50", "held-out:40")
    names = [{unit.task for unit in expand(Spec(tasks=tasks, seeds=1))} for tasks in (train, held_out)]
    assert not names[0] & names[1]


def test_mistakes() -> None:
    """A plan that would compare nothing is refused."""
    with pytest.raises(UsageError, match="--train-seeds is 0, must be at least 1"):
        Plan(train_seeds=0)
    with pytest.raises(UsageError, match="the study adds the modes itself"):
        Plan(agents=("rules+static",))
    with pytest.raises(UsageError, match="has 1 tasks in split 'base'; a study needs at least 2"):
        parts(Plain(1), 1, 1)  # type: ignore[arg-type]
