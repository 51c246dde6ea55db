"""The gate: thresholds that a report must keep, read strictly from TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from breakfall.bench import report as reports
from breakfall.bench.metrics import BY_NAME, Value, applies, direction, known
from breakfall.bench.report import Report
from breakfall.bench.tally import Cell
from breakfall.errors import UsageError, unknown_name
from breakfall.vocab import Scenario

PASS, FAIL, INCONCLUSIVE = 0, 1, 3


class Require(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One threshold. `agent`, `world` and `condition` may hold ``*``."""

    metric: str
    scenario: str = "*"
    agent: str = "*"
    world: str = "*"
    condition: str = "*"
    min: float | None = None
    max: float | None = None
    sure: bool = False
    """Let the interval's worse end keep the threshold, not the value alone."""


class Baseline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An earlier report, and by how much each metric may have become worse."""

    report: str
    """Path of its report.json; a relative one starts at the gate file."""
    worse: dict[str, float]
    """Metric -> allowed change for the worse."""
    scenario: str = "*"
    agent: str = "*"


class Gate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate file."""

    require: list[Require] = []
    baseline: Baseline | None = None


class GateResult(Struct, frozen=True, kw_only=True):
    """What a gate found: one line per check, and the exit code."""

    lines: tuple[str, ...]
    exit_code: int


def read(path: Path) -> Gate:
    """Read a gate file.

    Raises:
        UsageError: It is missing, broken, empty, or names something that does not exist; the message says where.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot read the gate file: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    try:
        gate = msgspec.convert(raw, Gate)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error} (docs/report.md shows a gate file)") from None
    if not gate.require and gate.baseline is None:
        raise UsageError(f"{path}: the gate is empty; it needs [[require]] tables or a [baseline]")
    for index, rule in enumerate(gate.require):
        _check_rule(f"{path}: require[{index}]", rule)
    if gate.baseline is not None:
        _check_baseline(f"{path}: baseline", gate.baseline)
    return gate


def _check_rule(where: str, rule: Require) -> None:
    _check_metric(f"{where}.metric", rule.metric)
    _check_scenario(f"{where}.scenario", rule.scenario)
    if rule.scenario != "*" and not applies(rule.metric, Scenario(rule.scenario)):
        right = ", ".join(BY_NAME[rule.metric].scenarios)
        raise UsageError(f"{where}.scenario is {rule.scenario!r}, but {rule.metric} exists under {right} alone")
    if rule.min is None and rule.max is None:
        raise UsageError(f"{where} has neither `min` nor `max`; give one or both")
    share = rule.metric not in BY_NAME or BY_NAME[rule.metric].share
    for name, value in (("min", rule.min), ("max", rule.max)):
        if value is None:
            continue
        if not math.isfinite(value) or value < 0 or (share and value > 1):
            right = "between 0 and 1" if share else "0 or more"
            raise UsageError(f"{where}.{name} is {value}, must be {right}")
    if rule.min is not None and rule.max is not None and rule.min > rule.max:
        raise UsageError(f"{where}: min {rule.min} is above max {rule.max}")


def _check_baseline(where: str, baseline: Baseline) -> None:
    _check_scenario(f"{where}.scenario", baseline.scenario)
    if not baseline.worse:
        raise UsageError(f"{where}.worse is empty; name the metrics, such as `worse = {{ pass_rate = 0.02 }}`")
    for metric, allowed in baseline.worse.items():
        _check_metric(f"{where}.worse", metric)
        if not math.isfinite(allowed) or allowed < 0:
            raise UsageError(f"{where}.worse.{metric} is {allowed}, must be 0 or more")


def _check_metric(where: str, name: str) -> None:
    if not known(name):
        raise unknown_name("metric", name, [*BY_NAME, "pass@1", "pass^1"], where)


def _check_scenario(where: str, name: str) -> None:
    if name != "*" and name not in list(Scenario):
        raise unknown_name("scenario", name, ["*", *(scenario.value for scenario in Scenario)], where)


def check(report: Report, gate: Gate, folder: Path) -> GateResult:
    """Hold a report against a gate.

    Args:
        report: The report.
        gate: The gate.
        folder: Where the gate file lies, for a relative baseline.

    Raises:
        UsageError: The baseline cannot be read, or a rule fits no cell.
    """
    found: list[tuple[int, str]] = []
    for rule in gate.require:
        fitting = _fitting(report.cells, rule.agent, rule.scenario, rule.world, rule.condition)
        cells = [cell for cell in fitting if applies(rule.metric, cell.scenario)]
        if not cells:
            raise UsageError(
                f"the gate asks for {rule.metric} of agent {rule.agent!r} under {rule.scenario}, which did not run; "
                f"cells: {_listed(report.cells)}"
            )
        found += [_held(cell, rule) for cell in cells]
    if gate.baseline is not None:
        found += _compared(report, gate.baseline, folder)
    codes = {code for code, _ in found}
    code = FAIL if FAIL in codes else INCONCLUSIVE if INCONCLUSIVE in codes else PASS
    return GateResult(lines=tuple(line for _, line in found), exit_code=code)


def _fitting(cells: Sequence[Cell], agent: str, scenario: str, world: str = "*", condition: str = "*") -> list[Cell]:
    wanted = (agent, scenario, world, condition)
    return [
        cell
        for cell in cells
        if all(
            fnmatchcase(have, want)
            for have, want in zip((cell.agent, cell.scenario, cell.world, cell.condition), wanted, strict=True)
        )
    ]


def _listed(cells: Sequence[Cell]) -> str:
    return ", ".join(f"{cell.agent}/{cell.scenario}" for cell in cells[:8]) or "none"


def _name(cell: Cell, metric: str) -> str:
    return f"{cell.world}/{cell.condition}/{cell.scenario}/{cell.agent} {metric}"


def _value(cell: Cell, metric: str) -> Value | None:
    """Return a metric that has a value."""
    value = cell.metrics.get(metric)
    return value if value is not None and value.value is not None else None


def _held(cell: Cell, rule: Require) -> tuple[int, str]:
    """Hold one cell against one threshold."""
    name, value = _name(cell, rule.metric), _value(cell, rule.metric)
    if value is None or value.value is None or value.low is None or value.high is None:
        return INCONCLUSIVE, f"INCONCLUSIVE {name}: nothing conclusive to count ({cell.inconclusive} inconclusive)"
    low, high = (value.low, value.high) if rule.sure else (value.value, value.value)
    kept = (rule.min is None or low >= rule.min) and (rule.max is None or high <= rule.max)
    limits = [f"min {rule.min:g}"] if rule.min is not None else []
    limits += [f"max {rule.max:g}"] if rule.max is not None else []
    shown = f"{value.value:g} [{value.low:g}, {value.high:g}], n = {value.n}"
    sure = ", interval" if rule.sure else ""
    return (PASS if kept else FAIL), f"{'PASS' if kept else 'FAIL'} {name}: {shown} ({' and '.join(limits)}{sure})"


def _compared(report: Report, baseline: Baseline, folder: Path) -> Iterator[tuple[int, str]]:
    """Hold a report against an earlier one, cell by cell."""
    before = {
        (cell.world, cell.condition, cell.agent, cell.scenario): cell
        for cell in reports.read(folder / baseline.report).cells
    }
    cells = [
        cell
        for cell in _fitting(report.cells, baseline.agent, baseline.scenario)
        if (cell.world, cell.condition, cell.agent, cell.scenario) in before
    ]
    if not cells:
        raise UsageError(
            f"{baseline.report}: the baseline has no cell in common with this run; {_listed(report.cells)}"
        )
    for cell in cells:
        old_cell = before[cell.world, cell.condition, cell.agent, cell.scenario]
        for metric, allowed in sorted(baseline.worse.items()):
            old, new = _value(old_cell, metric), _value(cell, metric)
            if old is not None:
                yield _regressed(_name(cell, metric), direction(metric), old, new, allowed)


def _regressed(name: str, better: int, old: Value, new: Value | None, allowed: float) -> tuple[int, str]:
    """Fail a change for the worse that is larger than allowed and puts the old value outside the new interval."""
    if new is None or new.value is None or new.low is None or new.high is None or old.value is None:
        return INCONCLUSIVE, f"INCONCLUSIVE {name}: nothing conclusive to count, {old.value} in the baseline"
    worse = (old.value - new.value) * better
    beyond_chance = new.high < old.value if better > 0 else new.low > old.value
    failed = worse > allowed and beyond_chance
    shown = f"{old.value:g} → {new.value:g} [{new.low:g}, {new.high:g}]"
    return (FAIL if failed else PASS), f"{'FAIL' if failed else 'PASS'} {name}: {shown} (may worsen by {allowed:g})"
