"""τ²'s tasks on the package's real data: clean replays, isolation of episodes, same bytes everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.bfcl.player import run
from tests.integration.tau2.player import Player, answers

from breakfall.vocab import ALTERNATIVES, NATIVE, Failed, Ok, Reader
from breakfall.vocab.schema import ArgumentSchema
from breakfall.worlds.gold.environment import GoldEnvironment
from breakfall.worlds.gold.fork import frozen
from breakfall.worlds.gold.world import GoldWorld

REPLAYS = {"retail": (114, 114), "airline": (50, 50), "telecom": (114, 114), "mock": (8, 9)}
"""Domain -> (tasks that a clean replay passes, tasks)."""

Load = Callable[[str], GoldWorld]
each_domain = pytest.mark.parametrize("domain", REPLAYS)


@each_domain
@pytest.mark.parametrize("condition", [NATIVE, ALTERNATIVES])
def test_clean_replays_pass(load: Load, domain: str, condition: str) -> None:
    """Every task that the package's own gold passes passes here, with exactly gold's effects."""
    world = load(domain)
    verdicts = [Player(world, task, condition).play() for task in world.tasks(world.splits[0], None)]
    passed = [verdict for verdict in verdicts if verdict.passed]
    assert (len(passed), len(verdicts)) == REPLAYS[domain]
    for verdict in passed:
        assert (verdict.state_ok, verdict.answer_ok) == (True, True)
        assert verdict.missing_effects == verdict.duplicate_effects == verdict.wrong_effects == ()


def test_refusals_of_gold_are_native(load: Load) -> None:
    """23 retail gold calls are refused by the package itself: these are no faults."""
    refused = []
    for task in load("retail").tasks("base", None):
        player = Player(load("retail"), task)
        player.play()
        refused += [outcome for outcome in player.values if isinstance(outcome, Failed)]
    assert len(refused) == 23
    assert all(outcome.native and outcome.kind is None for outcome in refused)


@each_domain
def test_episodes_do_not_touch_one_another(load: Load, domain: str) -> None:
    """Every task shows the same to the byte again and in reversed order, and the loaded database stays as it was."""
    world = load(domain)
    before = frozen(world._source.tables())
    tasks = world.tasks(world.splits[0], None)
    first, again = {task.id: answers(world, task) for task in tasks}, {}
    for task in reversed(tasks):
        again[task.id] = answers(world, task)
    assert first == again
    assert frozen(world._source.tables()) == before


@each_domain
def test_same_bytes_in_every_process(load: Load, domain: str) -> None:
    """Neither the order of sets nor the process changes a task or an answer."""
    code = (
        "from breakfall import catalog; from tests.integration.tau2.player import digest; "
        f"print(digest(catalog.world('tau2-{domain}')))"
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
def test_reads_change_nothing_and_gold_fits_the_schemas(load: Load, domain: str) -> None:
    """Only tools marked as writes change a record in any gold run, and gold's arguments fit the tools' schemas."""
    world = load(domain)
    schemas = {name: ArgumentSchema(tool.parameters) for name, tool in world.tools(NATIVE).items()}
    for task in world.tasks(world.splits[0], None):
        player = Player(world, task)
        for tool, arguments in player.calls():
            assert schemas[tool].problems(arguments) == []
            before = player.env._session.changes()
            player.call(tool, arguments)
            if not world.tools(NATIVE)[tool].writes:
                assert player.env._session.changes() == before, (task.id, tool)


@each_domain
def test_natural_writes_may_be_repeated(load: Load, domain: str) -> None:
    """A write marked NATURAL is answered again and changes nothing; any other, repeated, shows that it is not."""
    world = load(domain)
    repeats: dict[str, set[bool]] = {}
    for task in world.tasks(world.splits[0], None):
        player = Player(world, task)
        for tool, arguments in player.calls():
            outcome = player.call(tool, arguments)
            if world.tools(NATIVE)[tool].writes and isinstance(outcome, Ok):
                count, before = len(player.env.effects), player.env._session.changes()
                fork = player.env._session.fork()
                again = fork.run(tool, dict(arguments))
                same = again.error is None and fork.changes() == before
                assert len(player.env.effects) == count
                repeats.setdefault(tool, set()).add(same)
    natural = {name for name, tool in world.tools(NATIVE).items() if tool.idempotency.kind == "natural"}
    assert {tool for tool, same in repeats.items() if same == {True}} == natural & repeats.keys()


@pytest.mark.parametrize("domain", ["retail", "airline", "telecom"])
def test_readers_tell(load: Load, domain: str) -> None:
    """The reader that a task offers for a write says NO before each of its gold writes and YES after it."""
    world = load(domain)
    asked = 0
    for task in world.tasks(world.splits[0], None):
        player = Player(world, task)
        for tool, arguments in player.calls():
            reader = player.env.tools[tool].reader
            told = [] if reader is None else [_told(player.env, reader, arguments)]
            outcome = player.call(tool, arguments)
            if reader is not None and isinstance(outcome, Ok):
                asked += 1
                settled = _told(player.env, reader, arguments)
                assert [*told, settled] == ["no", "yes"], (task.id, tool)
    assert asked


def _told(env: GoldEnvironment, reader: Reader, arguments: dict[str, Any]) -> str:
    outcome = run(env.pretend(reader.tool, reader.arguments(arguments, {}) or {}))
    assert isinstance(outcome, Ok)
    return str(reader.judge(outcome.value, arguments, 0.0).applied)
