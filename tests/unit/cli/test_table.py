"""The tables in the terminal."""

import io

from msgspec.structs import replace
from rich.console import Console
from tests.unit.bench.told import run

from breakfall.bench.report import Report
from breakfall.cli.table import render


def _text(report: Report) -> str:
    stream = io.StringIO()
    render(report, Console(file=stream, width=220, color_system=None))
    return stream.getvalue()


def test_matrix_shows_success_interval_and_counts() -> None:
    """The matrix shows the value, its interval, and what did not count."""
    text = _text(run())
    assert "100.0 [43.9, 100.0]" in text
    assert "n 3, +3, -1" in text


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
