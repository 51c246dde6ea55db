"""The report in the terminal: plain tables of what the report says, with nothing computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    "premature_stop",
    "silent_adoption",
    "duplicate_effects",
    "wrong_effects",
    "futile_calls",
    "verified_writes",
    "tool_calls",
    "seconds",
)


def render(report: Report, console: Console) -> None:
    """Print a report."""
    for world, condition in sorted({(cell.world, cell.condition) for cell in report.cells}):
        cells = [cell for cell in report.cells if (cell.world, cell.condition) == (world, condition)]
        console.print(_matrix(f"{world}, {condition}", cells))
        for scenario in dict.fromkeys(cell.scenario for cell in cells):
            console.print(_metrics(scenario, [cell for cell in cells if cell.scenario is scenario]))
        ours = [one for one in report.comparisons if (one.world, one.condition) == (world, condition)]
        if ours:
            console.print(_comparisons(ours))
        for finding in report.findings:
            if (finding.world, finding.condition) == (world, condition):
                console.print(f"• {escape(finding.text.en)}", highlight=False)
    for line in _absent(report.not_applicable):
        console.print(line, highlight=False)
    if not report.complete:
        console.print("This run is not complete: run the same command again to go on.", highlight=False)
    console.print(f"Reproduce: {escape(report.command)}", highlight=False, soft_wrap=True)


def _matrix(title: str, cells: Sequence[Cell]) -> Table:
    scenarios = list(dict.fromkeys(cell.scenario for cell in cells))
    table = Table(title=f"Success in %, {escape(title)}", title_justify="left", caption_justify="left")
    table.caption = "a passed task; under S3 a correct stop. [95 % interval], n conclusive, + inconclusive, - absent"
    table.add_column("agent")
    for scenario in scenarios:
        table.add_column(scenario.value)
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
    return escape(f"{share(value)}\n{counts}")


def _metrics(scenario: Scenario, cells: Sequence[Cell]) -> Table:
    """One scenario's metrics, an agent per column; what no agent has a value of is left out."""
    table = Table(title=f"{scenario.value}: shares in %, the rest per episode", title_justify="left")
    table.add_column("metric")
    for cell in cells:
        table.add_column(escape(cell.agent), justify="right")
    for name in _SHOWN:
        values = [cell.metrics[name] for cell in cells]
        if any(value.n for value in values):
            shown = (share(value) if BY_NAME[name].share else mean(value) for value in values)
            table.add_row(name, *(text.partition(" ")[0] for text in shown))
    return table


def _comparisons(comparisons: Iterable[Comparison]) -> Table:
    table = Table(title="First minus second, success in points", title_justify="left")
    for name in ("scenario", "pair", "difference", "95 % interval", "p", "pairs"):
        table.add_column(name, justify="left" if name in ("scenario", "pair") else "right")
    for one in comparisons:
        if one.metric == success_metric(one.scenario):
            table.add_row(
                one.scenario.value,
                escape(f"{one.a} − {one.b}"),
                signed(one.difference, True),
                escape(f"[{signed(one.low, True)}, {signed(one.high, True)}]"),
                p_value(one.p),
                str(one.pairs),
            )
    return table


def _absent(rows: Iterable[Missing]) -> list[str]:
    return [
        f"Not applicable under {row.scenario.value}: {row.episodes} episodes, {escape(row.reason)} "
        f"({escape(row.world)}, {escape(row.condition)})"
        for row in rows
    ]
