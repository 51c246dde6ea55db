"""The gate."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.bench.told import run

from breakfall.bench import gate, report
from breakfall.bench.metrics import Value
from breakfall.errors import UsageError


def _gate(folder: Path, text: str) -> Path:
    path = folder / "gate.toml"
    path.write_text(text)
    return path


def _check(folder: Path, text: str) -> gate.GateResult:
    return gate.check(run(), gate.read(_gate(folder, text)), folder)


def _rule(rest: str) -> str:
    return f'[[require]]\nagent = "steady"\nscenario = "S2"\nmetric = "pass_rate"\n{rest}\n'


def test_kept_threshold(tmp_path: Path) -> None:
    """A value on the threshold keeps it."""
    found = _check(tmp_path, _rule("min = 1.0"))
    assert found.exit_code == gate.PASS
    assert found.lines == ("PASS shop/native/S2/steady pass_rate: 1 [0.438503, 1], n = 3 (min 1)",)


def test_broken_threshold(tmp_path: Path) -> None:
    """A value beyond the threshold fails, and other checks are still told."""
    text = _rule("max = 0.5") + '[[require]]\nagent = "hasty"\nscenario = "S1"\nmetric = "duplicate_effects"\nmax = 0\n'
    found = _check(tmp_path, text)
    assert found.exit_code == gate.FAIL
    assert [line.partition(" ")[0] for line in found.lines] == ["FAIL", "FAIL"]


def test_sure_asks_the_interval(tmp_path: Path) -> None:
    """With `sure` the worse end of the interval must keep the threshold."""
    assert _check(tmp_path, _rule("min = 0.5")).exit_code == gate.PASS
    assert _check(tmp_path, _rule("min = 0.5\nsure = true")).exit_code == gate.FAIL
    assert _check(tmp_path, _rule("min = 0.4\nsure = true")).exit_code == gate.PASS


def test_nothing_conclusive(tmp_path: Path) -> None:
    """A metric without a conclusive episode makes the gate inconclusive, unless something else fails."""
    silent = _rule("min = 0.0").replace("pass_rate", "silent_adoption")
    assert _check(tmp_path, silent).exit_code == gate.INCONCLUSIVE
    assert _check(tmp_path, silent + _rule("max = 0.5")).exit_code == gate.FAIL


def test_a_star_covers_the_scenarios_that_the_metric_has(tmp_path: Path) -> None:
    """`*` holds every cell in which the metric means something."""
    text = '[[require]]\nagent = "*"\nmetric = "correct_stop"\nmin = 0.5\n'
    found = _check(tmp_path, text)
    assert [line.partition(":")[0] for line in found.lines] == [
        "PASS shop/native/S3/steady correct_stop",
        "FAIL shop/native/S3/hasty correct_stop",
    ]


def test_baseline(tmp_path: Path) -> None:
    """A change for the worse fails when it is larger than allowed and beyond chance; the baseline lies by the gate."""
    (tmp_path / "old.json").write_bytes(report.encode(run()))
    text = '[baseline]\nreport = "old.json"\nworse = { pass_rate = 0.0, duplicate_effects = 0.0 }\n'
    found = _check(tmp_path, text)
    assert found.exit_code == gate.PASS
    assert len(found.lines) == 2 * 8


@pytest.mark.parametrize(
    ("metric", "low", "value", "high", "allowed", "code"),
    [
        ("pass_rate", 0.3, 0.5, 0.7, 0.05, gate.FAIL),
        ("pass_rate", 0.3, 0.5, 0.7, 0.5, gate.PASS),
        ("pass_rate", 0.5, 0.9, 1.0, 0.05, gate.PASS),
        ("duplicate_effects", 0.1, 0.2, 0.3, 0.05, gate.FAIL),
        ("duplicate_effects", 0.0, 0.2, 0.4, 0.05, gate.PASS),
        ("duplicate_effects", 0.0, 0.0, 0.0, 0.0, gate.PASS),
    ],
)
def test_regression(
    tmp_path: Path, metric: str, low: float, value: float, high: float, allowed: float, code: int
) -> None:
    """A change for the worse fails when it is larger than allowed and beyond what the new interval covers."""
    (tmp_path / "old.json").write_bytes(report.encode(run()))
    new = run()
    changed = Value(value=value, low=low, high=high, n=10)
    cells = [
        replace(cell, metrics=cell.metrics | {metric: changed})
        for cell in new.cells
        if (cell.agent, cell.scenario) == ("steady", "S1")
    ]
    text = f'[baseline]\nreport = "old.json"\nworse = {{ {metric} = {allowed} }}\n'
    assert gate.check(replace(new, cells=cells), gate.read(_gate(tmp_path, text)), tmp_path).exit_code == code


def test_nothing_conclusive_any_more(tmp_path: Path) -> None:
    """A metric that the baseline has and the new run has no conclusive episode for is inconclusive."""
    (tmp_path / "old.json").write_bytes(report.encode(run()))
    new = run()
    gone = Value(value=None, low=None, high=None, n=0, reason="no episodes to count")
    cells = [replace(cell, metrics=cell.metrics | {"pass_rate": gone}) for cell in new.cells]
    text = '[baseline]\nreport = "old.json"\nworse = { pass_rate = 0.1, correct_stop = 0.1 }\n'
    found = gate.check(replace(new, cells=cells), gate.read(_gate(tmp_path, text)), tmp_path)
    assert found.exit_code == gate.INCONCLUSIVE
    assert sum(line.startswith("INCONCLUSIVE") for line in found.lines) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the gate is empty"),
        ("x = [", "not TOML"),
        ("[[require]]\nmetrik = 1", "Object missing required field `metric`|unknown field `metrik`"),
        (_rule("min = 1.4"), r"require\[0\]\.min is 1\.4, must be between 0 and 1"),
        (_rule("min = nan"), r"require\[0\]\.min is nan, must be between 0 and 1"),
        (_rule("min = 0.9\nmax = 0.1"), r"require\[0\]: min 0\.9 is above max 0\.1"),
        (_rule(""), r"require\[0\] has neither `min` nor `max`"),
        (_rule("min = 0.5").replace("pass_rate", "pass_rat"), "no metric 'pass_rat'; did you mean 'pass_rate'"),
        (_rule("min = 0.5").replace("S2", "S4"), "no scenario 'S4'; known: .*CLEAN, S1"),
        (_rule("min = 0.5").replace("pass_rate", "correct_stop"), "correct_stop exists under S3 alone"),
        ('[baseline]\nreport = "x"\nworse = {}', "baseline.worse is empty"),
        ('[baseline]\nreport = "x"\nworse = { pass_rate = -1 }', r"worse\.pass_rate is -1\.0, must be 0 or more"),
    ],
)
def test_bad_gate_files(tmp_path: Path, text: str, message: str) -> None:
    """A gate file that cannot be meant is refused, with the field and what would be right."""
    with pytest.raises(UsageError, match=message):
        gate.read(_gate(tmp_path, text))


def test_missing_gate_file(tmp_path: Path) -> None:
    """A gate file that is not there is named."""
    with pytest.raises(UsageError, match=r"gate\.toml: cannot read the gate file"):
        gate.read(tmp_path / "gate.toml")


def test_rule_for_what_did_not_run(tmp_path: Path) -> None:
    """A rule that fits no cell is a mistake, not a pass."""
    with pytest.raises(UsageError, match=r"agent 'oracle' under S2, which did not run; cells: steady/CLEAN"):
        _check(tmp_path, _rule("min = 0.5").replace("steady", "oracle"))


def test_baseline_of_another_run(tmp_path: Path) -> None:
    """A baseline that shares no cell is a mistake, not a pass."""
    (tmp_path / "old.json").write_bytes(report.encode(run()).replace(b'"world": "shop"', b'"world": "other"'))
    with pytest.raises(UsageError, match="no cell in common"):
        _check(tmp_path, '[baseline]\nreport = "old.json"\nworse = { pass_rate = 0.0 }')
