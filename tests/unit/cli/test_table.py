"""The tables in the terminal."""

import io
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.unit.bench.told import run

from breakfall.bench.report import Report
from breakfall.cli.table import render


def _text(report: Report, width: int = 220) -> str:
    stream = io.StringIO()
    render(report, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def _crowded() -> Report:
    """Return a report of eight agents, some with long names."""
    report = run()
    names = ("steady", "hasty", "examples.my_agent:Stubborn", "four", "five", "six", "seven", "eight")
    first = [cell for cell in report.cells if cell.agent == "steady"]
    cells = [replace(cell, agent=name) for name in names for cell in first]
    comparisons = [replace(one, a=names[2], b=name) for name in names for one in report.comparisons]
    return replace(report, cells=cells, comparisons=comparisons)


def test_matrix_shows_success_interval_and_counts() -> None:
    """The matrix shows the value, its interval, and what did not count."""
    text = _text(run())
    for wanted in ("100.0", "[43.9, 100.0]", "n 3, +3, -1"):
        assert f" {wanted} " in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("make", [run, _crowded])
def test_tables_keep_within_the_terminal(width: int, make: Callable[[], Report]) -> None:
    """However narrow the terminal and however many the agents, no line is longer, and no name or figure is broken."""
    report = make()
    text = _text(report, width)
    lines = [line for line in text.splitlines() if not line.startswith("Reproduce")]
    assert max(map(len, lines)) <= width
    assert "…" not in text
    for wanted in ("duplicate_effects", "silent_adoption", "[43.9, 100.0]", "n 3, +3, -1", "− hasty"):
        assert wanted in text
    for agent in {cell.agent for cell in report.cells if len(cell.agent) <= 16}:
        assert text.count(f" {agent} ") >= 2


def test_flaws_of_stops_stand_below_the_correct_ones() -> None:
    """Under S3 each reason why stops were not correct has a row, with how often it was so."""
    lines = _text(run()).splitlines()
    at = next(n for n, line in enumerate(lines) if "correct_stop" in line)
    assert [part.strip() for part in lines[at + 1].split("│")] == ["", "no_handover", "", "6 ×", ""]


def test_all_is_shown() -> None:
    """Metrics, comparisons, findings, absences and the command are there."""
    text = _text(run())
    for wanted in ("silent_adoption", "steady − hasty", "duplicate effects): steady 0, hasty 6.", "no path suffices"):
        assert wanted in text
    assert "This run is not complete" in text
    assert "Reproduce: breakfall bench" in text


def test_names_are_no_markup() -> None:
    """An agent whose name looks like markup is shown as it is."""
    report = run()
    named = replace(report, cells=[replace(cell, agent="[bold]x[/bold]") for cell in report.cells])
    assert "[bold]x[/bold]" in _text(named)
