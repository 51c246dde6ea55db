"""The report in the terminal: plain tables of what the report says, with nothing computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from breakfall.bench.charts import success_metric
from breakfall.bench.compare import Comparison
from breakfall.bench.html import mean, p_value, share, signed
from breakfall.bench.metrics import BY_NAME
from breakfall.bench.report import Report
from breakfall.bench.tally import Cell, Missing
from breakfall.vocab import Scenario

_SHOWN = (
    "retry_success",
    "switch_success",
    "correct_stop",
    "premature_switch",
    "premature_stop",
    "silent_adoption",
    "duplicate_effects",
    "wrong_effects",
    "futile_calls",
    "verified_writes",
    "tool_calls",
    "seconds",
)
_NAME_WIDTH = 16
"""Longer names of agents are folded."""
_UNBOUND = 10_000
"""Columns of a console that any table fits."""

T = TypeVar("T")


def render(report: Report, console: Console) -> None:
    """Print a report."""
    for world, condition in sorted({(cell.world, cell.condition) for cell in report.cells}):
        cells = [cell for cell in report.cells if (cell.world, cell.condition) == (world, condition)]
        _print_matrix(f"{world}, {condition}", cells, console)
        for scenario in dict.fromkeys(cell.scenario for cell in cells):
            here = [cell for cell in cells if cell.scenario is scenario]
            for table in _fitting(here, partial(_metrics, scenario), console):
                console.print(table)
        ours = [one for one in report.comparisons if (one.world, one.condition) == (world, condition)]
        if ours:
            wide = _comparisons(ours, narrow=False)
            console.print(wide if _fits(wide, console) else _comparisons(ours, narrow=True))
        for finding in report.findings:
            if (finding.world, finding.condition) == (world, condition):
                console.print(f"• {escape(finding.text.en)}", highlight=False)
    for line in _absent(report.not_applicable):
        console.print(line, highlight=False)
    if not report.complete:
        console.print("This run is not complete: run the same command again to go on.", highlight=False)
    console.print(f"Reproduce: {escape(report.command)}", highlight=False, soft_wrap=True)


def _fitting(columns: Sequence[T], make: Callable[[Sequence[T]], Table], console: Console) -> Iterator[Table]:
    """Yield tables of as many columns as the console has room for, one column at least."""
    start = 0
    for end in range(1, len(columns) + 1):
        last = end == len(columns)
        if last or not _fits(make(columns[start : end + 1]), console):
            yield make(columns[start:end])
            start = end


def _fits(table: Table, console: Console) -> bool:
    return console.measure(table, options=console.options.update_width(_UNBOUND)).maximum <= console.width


def _print_matrix(title: str, cells: Sequence[Cell], console: Console) -> None:
    console.print(f"Success in %, {escape(title)}", style="italic")
    scenarios = list(dict.fromkeys(cell.scenario for cell in cells))
    for table in _fitting(scenarios, lambda some: _matrix(some, cells), console):
        console.print(table)
    note = "a passed task; under S3 a correct stop. [95 % interval], n conclusive, + inconclusive, - absent"
    console.print(escape(note), style="dim italic", highlight=False)


def _matrix(scenarios: Sequence[Scenario], cells: Sequence[Cell]) -> Table:
    table = Table()
    table.add_column("agent", overflow="fold", max_width=_NAME_WIDTH)
    for scenario in scenarios:
        table.add_column(scenario.value, no_wrap=True)
    by_place = {(cell.agent, cell.scenario): cell for cell in cells}
    for agent in dict.fromkeys(cell.agent for cell in cells):
        row = (by_place.get((agent, scenario)) for scenario in scenarios)
        table.add_row(escape(agent), *(_success(cell) for cell in row))
    return table


def _success(cell: Cell | None) -> str:
    if cell is None:
        return ""
    value = cell.metrics[success_metric(cell.scenario)]
    counts = f"n {value.n}"
    counts += f", +{cell.inconclusive}" if cell.inconclusive else ""
    counts += f", -{cell.not_applicable}" if cell.not_applicable else ""
    figure, _, interval = share(value).partition(" ")
    return escape("\n".join(part for part in (figure, interval, counts) if part))


def _metrics(scenario: Scenario, cells: Sequence[Cell]) -> Table:
    """One scenario's metrics, an agent per column; what no agent has a value of is left out."""
    table = Table(title=f"{scenario.value}: shares in %, the rest per episode", title_justify="left")
    table.add_column("metric", no_wrap=True)
    for cell in cells:
        table.add_column(escape(cell.agent), justify="right", overflow="fold", max_width=_NAME_WIDTH)
    for name in _SHOWN:
        values = [cell.metrics[name] for cell in cells]
        if any(value.n for value in values):
            shown = (share(value) if BY_NAME[name].share else mean(value) for value in values)
            table.add_row(name, *(text.partition(" ")[0] for text in shown))
        if name == "correct_stop":
            for flaw in dict.fromkeys(flaw for cell in cells for flaw in cell.stop_flaws):
                table.add_row(f"  {flaw}", *(_times(cell.stop_flaws.get(flaw, 0)) for cell in cells))
    return table


def _times(count: int) -> str:
    return f"{count:,} ×" if count else ""


_COMPARED = ("difference", "95 % interval", "p", "pairs")


def _comparisons(comparisons: Iterable[Comparison], *, narrow: bool) -> Table:
    """Differences in success; where there is little room, a row's cells stand below each other in two columns."""
    table = Table(title="First minus second, success in points", title_justify="left", show_lines=narrow)
    if narrow:
        table.add_column("scenario\npair", overflow="fold", max_width=_NAME_WIDTH)
        table.add_column("\n".join(_COMPARED[:2]) + "\np, pairs", justify="right", no_wrap=True)
    else:
        table.add_column("scenario", no_wrap=True)
        table.add_column("pair", no_wrap=True)
        for name in _COMPARED:
            table.add_column(name, justify="right", no_wrap=True)
    for one in comparisons:
        if one.metric != success_metric(one.scenario):
            continue
        difference, p, pairs = signed(one.difference, True), p_value(one.p), str(one.pairs)
        interval = f"[{signed(one.low, True)}, {signed(one.high, True)}]"
        if narrow:
            names = f"{one.scenario.value}\n{one.a}\n− {one.b}"
            table.add_row(escape(names), escape(f"{difference}\n{interval}\n{p}, {pairs}"))
        else:
            pair = escape(f"{one.a} − {one.b}")
            table.add_row(one.scenario.value, pair, difference, escape(interval), p, pairs)
    return table


def _absent(rows: Iterable[Missing]) -> list[str]:
    return [
        f"Not applicable under {row.scenario.value}: {row.episodes} episodes, {escape(row.reason)} "
        f"({escape(row.world)}, {escape(row.condition)})"
        for row in rows
    ]
