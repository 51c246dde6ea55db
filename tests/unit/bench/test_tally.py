"""Cells, breakdowns, comparisons and findings of a told run."""

import pytest
from tests.unit.bench.tale import ORDER, Tale, over
from tests.unit.bench.told import missing, run, scores

from breakfall.bench.compare import compare
from breakfall.bench.metrics import METRICS
from breakfall.bench.report import encode
from breakfall.bench.tally import Cell, by_tool, cells, confusion, strategies
from breakfall.vocab import Response, Scenario


def _cell(agent: str, scenario: Scenario) -> Cell:
    return next(cell for cell in cells(scores(), missing()) if (cell.agent, cell.scenario) == (agent, scenario))


def test_cells_in_the_order_of_the_scores() -> None:
    """Agents stand in the order in which the run names them, scenarios in their own."""
    places = [(cell.agent, cell.scenario.value) for cell in cells(scores(), missing())]
    assert places == [(agent, name) for agent in ("steady", "hasty") for name in ("CLEAN", "S1", "S2", "S3")]


def test_inconclusive_episodes_are_shown_and_not_counted() -> None:
    """Three of six S2 episodes met nothing: they passed, and yet count for no one."""
    cell = _cell("hasty", Scenario.S2)
    assert (cell.episodes, cell.inconclusive, cell.not_applicable) == (6, 3, 1)
    assert (cell.metrics["pass_rate"].value, cell.metrics["pass_rate"].n) == (0.0, 3)


def test_every_metric_is_in_every_cell() -> None:
    """A metric that means nothing under a scenario is null with a reason, never left out."""
    for cell in cells(scores(), missing()):
        assert {metric.name for metric in METRICS} <= cell.metrics.keys()
        for value in cell.metrics.values():
            assert (value.value is None) == bool(value.reason)
            assert value.value is None or value.low <= value.value <= value.high
    assert _cell("steady", Scenario.S1).metrics["correct_stop"].reason == "not under S1"


def test_values_of_the_cells() -> None:
    """What the told agents did is what the metrics say."""
    values = {
        (agent, scenario.value): {name: value.value for name, value in _cell(agent, scenario).metrics.items()}
        for agent in ("steady", "hasty")
        for scenario in Scenario
    }
    assert values["steady", "S1"]["retry_success"] == 1.0
    assert values["steady", "S1"]["silent_adoption"] == 0.0
    assert values["hasty", "S1"]["silent_adoption"] == 1.0
    assert values["hasty", "S1"]["duplicate_effects"] == 1.0
    assert (values["steady", "S2"]["switch_success"], values["hasty", "S2"]["switch_success"]) == (1.0, 0.0)
    assert (values["steady", "S3"]["correct_stop"], values["hasty", "S3"]["correct_stop"]) == (1.0, 0.0)
    assert values["steady", "CLEAN"]["verified_writes"] == 0.0
    assert values["steady", "CLEAN"]["pass^2"] == 1.0
    assert "pass@3" not in values["steady", "CLEAN"]


def test_a_cell_without_episodes() -> None:
    """A scenario that exists for no task has a cell with nothing but its absences."""
    (cell, _) = cells([], missing())
    assert (cell.episodes, cell.not_applicable) == (0, 1)
    assert all(value.value is None for value in cell.metrics.values())


def test_confusion_counts_every_fault_once() -> None:
    """Rows of the confusion matrix, and of the strategies, add up to the conclusive faults."""
    told = scores()
    faults = sum(len(score.faults) for score in told if score.conclusive)
    for rows in (confusion(told), strategies(told)):
        assert sum(row.faults for row in rows) == faults
        assert all(sum(row.first.values()) == row.faults == sum(row.eventual.values()) for row in rows)
        assert all(list(row.first) == [response.value for response in Response] for row in rows)


def test_what_cannot_be_judged_is_in_no_confusion() -> None:
    """A retry before anybody could know that the path is shut is no mistake: the matrix passes it over."""
    tale = Tale(Scenario.S3)
    for _ in range(3):
        tale.blocked("get_refunds", ORDER, call="c1")
    score = tale.score(answer=over())
    assert [(row.name, row.faults, row.first["retry"], row.first["stop"]) for row in confusion([score])] == [
        ("stop", 1, 0, 1)
    ]
    assert [(row.faults, row.first["retry"], row.first["stop"]) for row in strategies([score])] == [(3, 2, 1)]
    (row,) = by_tool([score])
    assert (row.right_first.value, row.right_first.n) == (1.0, 1)


def test_stops_are_counted_by_their_flaw() -> None:
    """A cell says what was wrong with the stops of its conclusive episodes, and how often."""
    assert _cell("steady", Scenario.S3).stop_flaws == {}
    assert _cell("hasty", Scenario.S3).stop_flaws == {"no_handover": 6}
    assert _cell("hasty", Scenario.S2).stop_flaws == {}


def test_comparison_is_paired_by_task_and_seed() -> None:
    """Only pairs in which both are conclusive are compared, and the difference is theirs."""
    told = [score for score in scores() if not (score.key.agent == "hasty" and score.key.task == "t3")]
    one = next(one for one in compare(told) if (one.scenario, one.metric) == (Scenario.S1, "pass_rate"))
    assert (one.a, one.b, one.pairs, one.tasks) == ("steady", "hasty", 4, 2)
    assert (one.difference, one.low, one.high) == (1.0, 1.0, 1.0)
    assert one.p == 0.5  # two tasks that both point the same way: 2 of 4 flips reach as far


def test_many_tasks_draw_their_flips() -> None:
    """With more tasks than can be enumerated the p-value comes from drawn flips, the same ones each time."""
    template = scores()
    told = [
        type(score)(
            **{name: getattr(score, name) for name in score.__struct_fields__ if name != "key"},
            key=type(score.key)(**{**{n: getattr(score.key, n) for n in score.key.__struct_fields__}, "task": f"t{n}"}),
        )
        for score in template
        if score.key.scenario is Scenario.S1 and score.key.task == "t1"
        for n in range(40)
    ]
    first, second = compare(told), compare(told)
    assert first == second
    assert next(one.p for one in first if one.metric == "pass_rate") == pytest.approx(1 / 10000)


def test_breakdowns() -> None:
    """Episodes are broken down by what they met: kinds and tools of faults, and their task's template."""
    report = run()
    assert {row.name for row in report.by_tool} == {"get_order", "order_by_mail"}
    assert {row.name for row in report.by_kind} == {"server_error", "factual_error", "rate_limit"}
    lies = next(row for row in report.by_kind if (row.agent, row.name) == ("hasty", "factual_error"))
    assert (lies.faults, lies.silent_adoption.value, lies.recovered.value) == (6, 1.0, None)
    assert {(row.name, row.episodes) for row in report.by_template if row.scenario is Scenario.S1} == {("refunds", 4)}


def test_absences_are_counted_by_reason() -> None:
    """What does not exist is told with its reason."""
    (row,) = run().not_applicable
    assert (row.scenario, row.reason, row.episodes) == (Scenario.S2, "no path suffices", 2)


def test_findings_speak_both_languages() -> None:
    """The headline says the same figures in English and Korean."""
    findings = {finding.code: finding.text for finding in run().findings}
    assert "steady 100.0\N{NO-BREAK SPACE}% → 100.0\N{NO-BREAK SPACE}%" in findings["pass_by_scenario"].en
    assert findings["duplicate_effects"].en.endswith("steady 0, hasty 6.")
    assert findings["duplicate_effects"].ko.endswith("steady 0, hasty 6.")
    assert findings["never_handed_over"].en.endswith("is correct: hasty.")
    assert findings["never_handed_over"].ko.endswith("에이전트: hasty.")
    assert "6 are inconclusive" in findings["inconclusive"].en
    assert "2 more do not exist" in findings["inconclusive"].en


def test_worst_episodes() -> None:
    """The gravest thing stands first, once per agent, with the steps and what the injector did to them."""
    report = run()
    assert [(row.agent, row.why) for row in report.worst] == [
        ("hasty", "duplicate_effects"),
        ("hasty", "premature_stop"),
    ]
    worst = report.worst[0]
    assert worst.detail == "refund order:O1"
    assert worst.steps[2].fault == 'noise: factual_error; /id: "C17" → "C99"'


def test_report_is_pure() -> None:
    """The same episodes give the same bytes."""
    assert encode(run()) == encode(run())
