"""What a run could only find out at its end, looked at before it begins: names in the profile and in the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from breakfall import catalog
from breakfall.bench import report as reports
from breakfall.bench.gate import Gate
from breakfall.bench.matrix import Spec, conditions_of
from breakfall.bench.metrics import BY_NAME, applies
from breakfall.errors import UsageError, unknown_name
from breakfall.faults.profile import Profile


def check_profile(profile: Profile, spec: Spec) -> None:
    """Make sure that every tool with a vector of its own is a tool of one of the run's worlds, in some condition.

    Raises:
        UsageError: One is not.
    """
    if not profile.tools:
        return
    known: set[str] = set()
    for name in spec.worlds:
        world = catalog.world(name)
        with catalog.asking(f"world {name!r}", "tools() failed"):
            known.update(*(world.tools(condition) for condition in world.conditions))
    for tool in profile.tools:
        if tool not in known:
            raise unknown_name("tool", tool, known, f"{spec.profile}: tools.{tool}; the run's worlds have no such tool")


def check_gate(gate: Gate, spec: Spec, path: Path) -> None:
    """Make sure that every table of a gate speaks of cells that the run will have.

    Raises:
        UsageError: One does not, or the baseline's report cannot be read.
    """
    cells = list(_cells(spec))
    for index, rule in enumerate(gate.require):
        where = f"{path}: require[{index}]"
        wanted = {"agent": rule.agent, "scenario": rule.scenario, "world": rule.world, "condition": rule.condition}
        _check(where, wanted, cells)
        if not any(applies(rule.metric, scenario) for scenario in spec.scenarios):
            right = ", ".join(BY_NAME[rule.metric].scenarios)
            raise UsageError(f"{where}.metric: {rule.metric} exists under {right} alone, which this run does not have")
    if gate.baseline is not None:
        wanted = {"agent": gate.baseline.agent, "scenario": gate.baseline.scenario}
        _check(f"{path}: baseline", wanted, cells)
        reports.read(path.parent / gate.baseline.report)


def _cells(spec: Spec) -> Iterator[dict[str, str]]:
    for name in spec.worlds:
        world = catalog.world(name)
        for agent, scenario, condition in product(spec.agents, spec.scenarios, conditions_of(spec, world)):
            yield {"agent": agent, "scenario": scenario.value, "world": world.name, "condition": condition}


def _check(where: str, wanted: dict[str, str], cells: Sequence[dict[str, str]]) -> None:
    """Refuse a table that fits no cell, by the first of its fields that does not."""
    left = list(cells)
    for field, pattern in wanted.items():
        fitting = [cell for cell in left if fnmatchcase(cell[field], pattern)]
        if not fitting:
            known = dict.fromkeys(cell[field] for cell in left)
            raise UsageError(f"{where}.{field}: {unknown_name(field, pattern, known, 'of this run')}")
        left = fitting
