"""Learning from runs, and the commands around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.memory.story import Story
from typer.testing import CliRunner

from breakfall.bench.learn import learn, learn_into
from breakfall.bench.matrix import Spec
from breakfall.bench.run import run
from breakfall.cli.app import app
from breakfall.errors import BreakfallError, UsageError
from breakfall.ledger.writer import LedgerWriter
from breakfall.memory import store
from breakfall.memory.beliefs import Memory, Retries, Switches, wrong
from breakfall.memory.fallbacks import Standing, fallbacks
from breakfall.vocab import Scenario

SPEC = Spec(tasks="train:24", seeds=2, scenarios=(Scenario.S1, Scenario.S2, Scenario.S3), agents=("retry", "rules"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "train"
    run(SPEC, folder)
    return folder


@pytest.fixture
def memory(trained: Path, tmp_path: Path) -> Path:
    path = tmp_path / "memory.json"
    learn_into(path, [trained])
    return path


def told(*arguments: object) -> str:
    """Run a command and return what it prints; what it raises is raised."""
    result = CliRunner().invoke(app, ["memory", *map(str, arguments)], catch_exceptions=False)
    if result.exit_code:
        raise AssertionError(result.output)
    return result.stdout


def test_learning_twice_is_learning_once(trained: Path, memory: Path) -> None:
    """A run that was learned is passed over the next time, and the memory stays as it was, to the byte."""
    before = memory.read_bytes()
    lesson = learn_into(memory, [trained, trained])
    assert (lesson.learned, lesson.known) == (0, 2 * 24 * 2 * 3 * 2 - 2 * _absent(trained))
    assert memory.read_bytes() == before


def _absent(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"line":"not_applicable"') for path in (folder / "segments").iterdir())


def test_a_run_that_grew(tmp_path: Path, trained: Path) -> None:
    """What a run gains after it was learned is learned the next time, and comes to the same as all at once."""
    path = tmp_path / "memory.json"
    segment = next((trained / "segments").iterdir())
    whole = segment.read_bytes()
    grown = tmp_path / "grown"
    (grown / "segments").mkdir(parents=True)
    (grown / "run.json").write_bytes((trained / "run.json").read_bytes())
    half = whole.index(b"\n", whole.index(b'{"line":"end"', len(whole) // 2)) + 1
    (grown / "segments" / segment.name).write_bytes(whole[:half])
    first = learn_into(path, [grown])
    (grown / "segments" / segment.name).write_bytes(whole)
    second = learn_into(path, [grown])
    assert first.learned > 0
    assert second.known == first.learned
    assert second.learned > 0
    assert second.memory == learn([trained]).memory


def test_the_store_worlds_paths_are_right(trained: Path) -> None:
    """No path that the store world declares is found wrong, and those that were taken in S2 have worked."""
    found = learn([trained]).memory
    assert not [path for path in fallbacks(found) if path.standing in (Standing.WRONG, Standing.DOUBTED)]
    assert sum(path.standing is Standing.WORKS for path in fallbacks(found)) >= 8
    assert not any(wrong(found, source, target) for source, rows in found.switches.items() for target in rows)


def test_no_run_there(tmp_path: Path) -> None:
    """A folder with neither a run nor a ledger is named, and no memory is left behind."""
    with pytest.raises(UsageError, match=r"neither a run \(no run\.json\) nor a ledger"):
        learn_into(tmp_path / "memory.json", [tmp_path])
    assert not (tmp_path / "memory.json").exists()


def test_commands(trained: Path, memory: Path, tmp_path: Path) -> None:
    """Learn, show, forget, diff and export say what they did, as text and as JSON."""
    path = tmp_path / "new.json"
    assert "episodes learned, 0 were known" in told("learn", trained, "--out", path)
    assert json.loads(told("learn", trained, "--out", path, "--json"))["learned"] == 0
    shown = told("show", path)
    assert "a repeat is answered within the episode" in shown
    assert "from its fault domain" in shown
    assert "Repeat a failed call once" in shown
    view: dict[str, Any] = json.loads(told("show", path, "--tool", "get_order", "--json"))
    assert {row["tool"] for row in view["failures"]} == {"get_order"}
    row = view["failures"][0]["recovers"]
    assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1
    assert "forgotten" in told("forget", path, "--tool", "get_order")
    differing = json.loads(told("diff", memory, path, "--json"))
    assert any(change["what"].startswith("get_order ") and change["after"]["own"] == 0 for change in differing)
    assert f"{len(differing)} beliefs differ" in told("diff", memory, path)
    assert told("diff", memory, memory).startswith("0 beliefs differ")
    assert told("export", path, "--language", "ko").startswith("규칙:")
    assert json.loads(told("export", path, "--tokens", "200", "--json"))["tokens"] <= 200
    told("forget", path, "--all")
    assert "cold start: nothing was learned yet, every belief is Beta(1, 1)" in told("show", path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "none.json"], "no memory is stored here"),
        (["forget", "FILE"], "say what to forget"),
        (["forget", "FILE", "--all", "--tool", "get_order"], "say what to forget"),
        (["forget", "FILE", "--tool", "get_ordr"], "no tool 'get_ordr'; did you mean 'get_order'"),
        (["forget", "FILE", "--kind", "tmeout"], "no fault kind 'tmeout'; did you mean 'timeout'"),
        (["export", "FILE", "--language", "de"], "no language 'de'; known: en, ko"),
        (["export", "FILE", "--mode", "statc"], "did you mean 'static'"),
        (["learn", "none", "--out", "FILE", "--half-life", "0"], "half-life is 0"),
    ],
)
def test_mistakes(memory: Path, arguments: list[str], message: str) -> None:
    """What cannot be done is said, with what would be right."""
    before = memory.read_bytes()
    with pytest.raises(BreakfallError, match=message):
        told(*(memory if argument == "FILE" else argument for argument in arguments))
    assert memory.read_bytes() == before


def test_order_of_runs_makes_no_difference(tmp_path: Path, lines: Callable[[Path], dict[str, bytes]]) -> None:
    """Two runs give the same memory whichever is learned first, and the same as each learned alone and merged."""
    folders = []
    for seeds in (1, 2):
        folders.append(tmp_path / str(seeds))
        run(replace(SPEC, tasks="train:6", seeds=seeds, agents=("rules",)), folders[-1])
    assert lines(folders[0])
    assert store.encode(learn(folders).memory) == store.encode(learn(folders[::-1]).memory)
    assert learn(folders).memory == learn(folders[1:], learn(folders[:1]).memory).memory
    assert learn(folders).memory != Memory()


def test_a_production_ledger(tmp_path: Path) -> None:
    """Steps of production, mixed as they are, teach what their call ids tell; a ledger is read on from where it was."""
    ledger, path = tmp_path / "ledger", tmp_path / "memory.json"
    first, second = Story("task-1").fail("a").ok("a"), Story("task-2").fail("a").ok("b", path_of="a")
    with LedgerWriter(ledger) as writer:
        for steps in zip(first.steps, second.steps, strict=True):
            for step in steps:
                writer.step(step)
    assert learn_into(path, [ledger]).learned == 2
    assert learn_into(path, [ledger]).learned == 0
    with LedgerWriter(ledger) as writer:
        for step in Story("task-3").fail("a").fail("a").steps:
            writer.step(step)
    memory = learn_into(path, [ledger]).memory
    assert memory.retries == {"a": {"timeout": Retries(recovered=1, stayed=1)}}
    assert memory.switches == {"a": {"b": Switches(answered=1)}}
    assert memory.episodes == 3
    assert memory.domains == {}


def test_a_production_ledger_of_declared_tools(tmp_path: Path) -> None:
    """With a world that declares the tools, a ledger teaches their fault domains and whether a path's answer fits."""
    story = Story("task-1").fail("get_stock").ok("get_warehouse_stock", {"rows": []}, path_of="get_stock")
    with LedgerWriter(tmp_path) as writer:
        for step in story.steps:
            writer.step(step)
    memory = learn([tmp_path], world="store").memory
    assert memory.switches == {"get_stock": {"get_warehouse_stock": Switches(unfit=1)}}
    assert memory.domains["get_stock"] == "catalog"
    assert "get_warehouse_stock" in memory.declared["get_stock"]
