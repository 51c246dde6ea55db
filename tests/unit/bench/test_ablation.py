"""The ablation's table, from told episodes."""

from __future__ import annotations

import pytest
from tests.unit.bench.tale import NO, ORDER, YES, Tale

from breakfall.bench.ablation import RECOVERABLE, Ablation, ablate
from breakfall.bench.score import EpisodeScore
from breakfall.bench.study import readings
from breakfall.memory.choose import Mode
from breakfall.vocab import FaultKind, Scenario

TOKENS = {Mode.OFF: 0, Mode.STATIC: 10, Mode.POSTERIOR: 30, Mode.SHUFFLED: 30}


def score(mode: str, scenario: Scenario, task: str, seed: int, *, passed: bool, struck: bool = True) -> EpisodeScore:
    tale = Tale(scenario, agent=f"retry+{mode}", task=task, seed=seed)
    if struck and scenario is Scenario.S1:
        tale.fail("get_order", ORDER, FaultKind.TIMEOUT, call="c1")
        tale.ok("get_order", ORDER, {}, call="c1")
    elif struck:
        tale.blocked("get_order", ORDER, call="c1")
    return tale.score(YES if passed else NO)


def table(won: dict[str, int]) -> Ablation:
    """Ten tasks by two seeds in S1; `won` says how many tasks each mode passes, the same for both seeds."""
    return ablate(
        [
            score(mode, Scenario.S1, f"t{n}", seed, passed=n < won[mode])
            for mode in Mode
            for n in range(10)
            for seed in range(2)
        ],
        TOKENS,
    )


def test_rows() -> None:
    """Each agent and mode is one row, with what its mode's context takes."""
    found = table({"off": 2, "static": 6, "posterior": 8, "shuffled": 8})
    assert [(row.agent, row.mode, row.context_tokens) for row in found.rows] == [
        ("retry", mode, TOKENS[mode]) for mode in Mode
    ]
    assert [row.success.value for row in found.rows] == [0.2, 0.6, 0.8, 0.8]
    assert all(row.seed_deviation == 0.0 for row in found.rows)
    assert all(row.s2.value is None for row in found.rows)


def test_shares() -> None:
    """The gain, the part of the structure, and true against shuffled are paired differences."""
    (share,) = table({"off": 2, "static": 6, "posterior": 8, "shuffled": 8}).shares
    assert share.gain.difference == pytest.approx(0.6)
    assert share.gain.pairs == 20
    assert share.gain.tasks == 10
    assert share.static.difference == pytest.approx(0.4)
    assert share.static_share == pytest.approx(2 / 3, abs=1e-6)
    assert share.true_against_shuffled.difference == 0
    assert share.within


def test_no_gain_has_no_share() -> None:
    """Where the gain may be none, nobody is told which part of it is the structure's."""
    found = table({"off": 6, "static": 6, "posterior": 6, "shuffled": 0})
    (share,) = found.shares
    assert share.static_share is None
    assert not share.within
    (reading,) = readings(found)
    assert reading.en.startswith("retry, native: memory gains +0.0 [+0.0, +0.0] points, of which the static")
    assert "true against shuffled +60.0" in reading.en
    assert "which does not hold 0" in reading.en
    assert "기억의 이득" in reading.ko


def test_only_conclusive_pairs_count() -> None:
    """An episode whose fault never fired counts neither in a row nor in a difference."""
    scores = [
        score(mode, Scenario.S1, f"t{n}", 0, passed=mode != "off", struck=mode != "off" or n < 4)
        for mode in Mode
        for n in range(10)
    ]
    found = ablate(scores, TOKENS)
    assert [row.success.n for row in found.rows] == [4, 10, 10, 10]
    (share,) = found.shares
    assert share.gain.pairs == 4


def test_by_kind() -> None:
    """Rows and differences by kind hold only the episodes that met it."""
    scores = [
        score(mode, scenario, f"t{n}", 0, passed=mode != "off")
        for mode in ("off", "posterior")
        for scenario in RECOVERABLE
        for n in range(3)
    ]
    found = ablate(scores, TOKENS)
    timeouts = [row for row in found.by_kind if row.kind is FaultKind.TIMEOUT]
    assert [(row.mode, row.pass_rate.n, row.recovered.value) for row in timeouts] == [
        (Mode.OFF, 3, 1.0),
        (Mode.POSTERIOR, 3, 1.0),
    ]
    kinds = {one.kind: one.paired for one in found.contrasts if one.kind is not None}
    assert kinds[FaultKind.TIMEOUT].difference == 1.0
    assert kinds[FaultKind.TIMEOUT].pairs == 3
    assert FaultKind.STALE_VALUE not in kinds


def test_agents_without_a_mode_are_not_in_the_table() -> None:
    """The table holds what was run with a memory, even if it was off."""
    plain = Tale(Scenario.S1, agent="retry").score(YES)
    assert ablate([plain], TOKENS) == Ablation(rows=[], contrasts=[], shares=[], by_kind=[])
