"""The report page: one file, readable offline, in two languages and two themes, without a request to anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from breakfall.bench import charts
from breakfall.bench.metrics import BY_NAME, COSTS, METRICS, Value, applies
from breakfall.bench.tally import Responses
from breakfall.bench.words import FLAW_WORDS, METRIC_WORDS, WORDS
from breakfall.vocab import Response, Scenario, Text

if TYPE_CHECKING:
    from breakfall.bench.report import Report

_DASH = "–"
_ABREAST = 6
"""Agents beside each other in a table of metrics; so many fit a page."""


def page(report: Report) -> str:
    """Render the page."""
    environment = Environment(
        loader=PackageLoader("breakfall.bench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(share=share, mean=mean, both=both, signed=signed, p=p_value, breakable=breakable)
    return environment.get_template("report.html.j2").render(
        report=report,
        places=[_place(report, *place) for place in sorted({(cell.world, cell.condition) for cell in report.cells})],
        t=_word,
        named=_named,
        flaw=_flaw,
        abreast=_ABREAST,
        responses=[response.value for response in Response],
        quality=[metric for metric in METRICS if metric.name not in COSTS],
        costs=[metric for metric in METRICS if metric.name in COSTS],
        applies=applies,
        figure=_figure,
        flaws=_flaws,
        is_share=lambda name: name not in BY_NAME or BY_NAME[name].share,
        success_metric=charts.success_metric,
    )


def _place(report: Report, world: str, condition: str) -> dict[str, Any]:
    """Gather what the page shows of one world under one condition."""

    def here(rows: Sequence[Any]) -> list[Any]:
        return [row for row in rows if (row.world, row.condition) == (world, condition)]

    cells = here(report.cells)
    comparisons, strategies = here(report.comparisons), here(report.strategies)
    return {
        "world": world,
        "condition": condition,
        "findings": here(report.findings),
        "cells": cells,
        "agents": list(dict.fromkeys(cell.agent for cell in cells)),
        "scenarios": [scenario for scenario in Scenario if any(cell.scenario is scenario for cell in cells)],
        "matrix": {(cell.agent, cell.scenario): cell for cell in cells},
        "comparisons": comparisons,
        "confusion": _by_agent(here(report.confusion)),
        "breakdowns": [(name, here(getattr(report, name))) for name in ("by_kind", "by_tool", "by_template")],
        "absent": here(report.not_applicable),
        "worst": here(report.worst),
        "success_chart": _drawn(charts.success(cells)),
        "heat_chart": _drawn(charts.heat(strategies)),
        "difference_chart": _drawn(charts.differences(comparisons)),
        "cost_charts": [
            (name, chart) for name in ("tool_calls", "seconds") if (chart := _drawn(charts.costs(cells, name)))
        ],
    }


def _by_agent(rows: Sequence[Responses]) -> list[tuple[str, list[Responses]]]:
    return [(agent, list(group)) for agent, group in groupby(rows, key=lambda row: row.agent)]


def _drawn(spec: charts.Spec | None) -> Markup:
    """Draw a chart; the drawing library escapes what stands in it."""
    return Markup(charts.draw(spec)) if spec is not None else Markup()  # noqa: S704


def _word(key: str) -> Markup:
    """Return a word of the page in both languages; the page shows one."""
    return both(WORDS[key])


def _named(metric: str) -> Markup:
    """Return a metric's name for reading in both languages, and the one that scripts know it by."""
    return Markup("{} <code>{}</code>").format(both(METRIC_WORDS[metric]), breakable(metric))


def _figure(value: Value, is_share: bool) -> Markup:
    """Write a value, its interval and what it rests on, below each other."""
    text, _, interval = (share(value) if is_share else mean(value)).partition(" ")
    if not interval:
        return escape(text)
    unit = " %" if is_share else ""
    return Markup("{}{}<small>{}</small><small>n = {:,}</small>").format(text, unit, interval, value.n)


def _flaws(place: Mapping[str, Any], scenario: Scenario) -> list[str]:
    """Return the flaws that stops under a scenario had, in their order."""
    had = {name for cell in place["cells"] if cell.scenario is scenario for name in cell.stop_flaws}
    return [name for name in FLAW_WORDS if name in had]


def _flaw(name: str) -> Markup:
    return both(FLAW_WORDS[name])


def both(text: Text) -> Markup:
    """Return a text in both languages."""
    korean = text.ko or text.en
    return Markup('<span lang="en">{}</span><span lang="ko">{}</span>').format(escape(text.en), escape(korean))


def breakable(name: str) -> Markup:
    """Let a long name break at its underscores."""
    return Markup("_<wbr>").join(name.split("_"))


def share(value: Value) -> str:
    """Write a share with its interval."""
    if value.value is None or value.low is None or value.high is None:
        return _DASH
    return f"{_percent(value.value)} [{_percent(value.low)}, {_percent(value.high)}]"


def mean(value: Value) -> str:
    """Write a mean with its interval."""
    if value.value is None or value.low is None or value.high is None:
        return _DASH
    return f"{_plain(value.value)} [{_plain(value.low)}, {_plain(value.high)}]"


def signed(value: float, is_share: bool) -> str:
    """Write a difference, a share's in points."""
    text = f"{100 * value:+.1f}" if is_share else f"{value:+.3g}"
    return text.replace("-", "−") if value else "0"


def p_value(value: float) -> str:
    """Write a p-value."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _plain(value: float) -> str:
    return "0" if value == 0 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
