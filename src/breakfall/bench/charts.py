"""The report's charts: Vega-Lite specifications, drawn as SVG whose colours the page decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import vl_convert

from breakfall.bench.compare import Comparison
from breakfall.bench.metrics import Value
from breakfall.bench.tally import Cell, Responses
from breakfall.vocab import FaultKind, Response, Scenario

Spec: TypeAlias = dict[str, Any]

_VL_VERSION = "5.20"
_INK, _FAINT, _LINE, _ACCENT, _PAPER = ("var(--ink)", "var(--faint)", "var(--line)", "var(--accent)", "var(--paper)")
_CONFIG: Spec = {
    "background": None,
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _FAINT,
        "titleFontWeight": "normal",
        "domainColor": _LINE,
        "tickColor": _LINE,
        "gridColor": _LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 260,
    },
    "header": {"labelColor": _INK, "labelFontSize": 13, "labelFontWeight": "bold", "title": None},
}
_DARK_FROM = 0.55
"""Shares from here on are so dark that the text on them must be light."""
_ENDS = 2


def draw(spec: Spec) -> str:
    """Draw a specification as an SVG element."""
    return vl_convert.vegalite_to_svg({"config": _CONFIG, **spec}, vl_version=_VL_VERSION)


def success_metric(scenario: Scenario) -> str:
    """Return what success means under a scenario."""
    return "correct_stop" if scenario is Scenario.S3 else "pass_rate"


def success(cells: Iterable[Cell]) -> Spec | None:
    """Show for each agent, scenario by scenario, how often it succeeded, with intervals."""
    rows = _rows((cell, cell.metrics[success_metric(cell.scenario)]) for cell in cells)
    return _by_scenario(rows, [0.0, 0.5, 1.0], ".0%") if rows else None


def costs(cells: Iterable[Cell], metric: str) -> Spec | None:
    """Show what an episode of each agent costs, scenario by scenario, with intervals."""
    rows = _rows((cell, cell.metrics[metric]) for cell in cells)
    most = max((row["high"] for row in rows), default=0.0)
    return _by_scenario(rows, [0.0, most], ".3~g") if most else None


def _rows(values: Iterable[tuple[Cell, Value]]) -> list[Spec]:
    return [
        {
            "agent": cell.agent,
            "scenario": cell.scenario.value,
            "value": value.value,
            "low": value.low,
            "high": value.high,
        }
        for cell, value in values
        if value.value is not None
    ]


def _by_scenario(rows: list[Spec], ticks: list[float], form: str, under: Sequence[Spec] = ()) -> Spec:
    """Show a dot with its interval per agent, one column per scenario."""
    return {
        "data": {"values": rows},
        "facet": {"column": {"field": "scenario", "sort": [scenario.value for scenario in Scenario]}},
        "spec": {
            "width": 170,
            "height": {"step": 26},
            "layer": [*under, _rule(ticks, form), _dot()],
        },
    }


def differences(comparisons: Sequence[Comparison]) -> Spec | None:
    """Show the pairwise differences in success, scenario by scenario, with intervals."""
    rows = [
        {
            "agent": f"{one.a} − {one.b}",
            "scenario": one.scenario.value,
            "value": one.difference,
            "low": one.low,
            "high": one.high,
        }
        for one in comparisons
        if one.metric == success_metric(one.scenario)
    ]
    if not rows:
        return None
    zero = {"mark": {"type": "rule", "color": _FAINT, "strokeDash": [3, 3]}, "encoding": {"x": {"datum": 0}}}
    return _by_scenario(rows, [-1.0, 0.0, 1.0], "+.0%", [zero])


def _rule(ticks: list[float], form: str) -> Spec:
    """Show intervals; two ticks are the ends of a scale that may choose round ones, more are taken as they are."""
    chosen: Spec = {"tickCount": 3} if len(ticks) == _ENDS else {"values": ticks}
    axis = {"format": form, "title": None, **chosen}
    scale = {"domain": [ticks[0], ticks[-1]], "nice": 3 if len(ticks) == _ENDS else False}
    return {
        "mark": {"type": "rule", "color": _ACCENT, "strokeWidth": 2},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "scale": scale, "axis": axis},
            "x2": {"field": "high"},
            "y": {"field": "agent", "type": "nominal", "sort": None, "axis": {"title": None, "grid": True}},
        },
    }


def _dot() -> Spec:
    return {
        "mark": {"type": "point", "filled": True, "color": _ACCENT, "size": 70, "opacity": 1},
        "encoding": {
            "x": {"field": "value", "type": "quantitative"},
            "y": {"field": "agent", "type": "nominal", "sort": None},
        },
    }


def heat(strategies: Sequence[Responses]) -> Spec | None:
    """Show for each agent which share of each fault kind got which first response."""
    rows = [
        {"agent": row.agent, "kind": row.name, "response": response, "share": count / row.faults}
        for row in strategies
        for response, count in row.first.items()
    ]
    if not rows:
        return None
    met = {row.name for row in strategies}
    kinds = [kind.value for kind in FaultKind if kind.value in met]
    axis = {"title": None, "domain": False, "ticks": False}
    return {
        "data": {"values": rows},
        "facet": {"column": {"field": "agent", "sort": list(dict.fromkeys(row.agent for row in strategies))}},
        "spec": {
            "width": {"step": 42},
            "height": {"step": 26},
            "encoding": {
                "x": {
                    "field": "response",
                    "type": "nominal",
                    "sort": [response.value for response in Response],
                    "axis": {**axis, "orient": "top", "labelAngle": 0},
                },
                "y": {"field": "kind", "type": "nominal", "sort": kinds, "axis": axis},
            },
            "layer": [
                {
                    "mark": {"type": "rect", "fill": _ACCENT, "stroke": _PAPER, "strokeWidth": 2},
                    "encoding": {
                        "fillOpacity": {
                            "field": "share",
                            "type": "quantitative",
                            "scale": {"domain": [0, 1], "range": [0.05, 1]},
                            "legend": None,
                        }
                    },
                },
                {
                    "mark": {"type": "text", "fontSize": 11},
                    "encoding": {
                        "text": {"field": "share", "type": "quantitative", "format": ".0%"},
                        "color": {
                            "condition": {"test": f"datum.share >= {_DARK_FROM}", "value": _PAPER},
                            "value": _INK,
                        },
                    },
                },
            ],
        },
    }
