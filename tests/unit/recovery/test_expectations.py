"""Expectations find what a well-formed answer has wrong."""

from typing import Any

import pytest

from breakfall.recovery.expectations import Expectation, adds_up, agrees, breach, counts, fresh
from breakfall.vocab import FaultKind

NOW_S = 1_796_040_000.0  # 2026-11-30T12:00:00Z
ORDER = {
    "id": "O1",
    "as_of": "2026-11-30T11:59:30Z",
    "total": 30.3,
    "count": 2,
    "lines": [{"sum": 10.1}, {"sum": 20.2}],
}


def kind(expectation: Expectation, value: Any, arguments: dict[str, Any] | None = None) -> FaultKind | None:
    """Return the fault that the value shows."""
    found = breach(value, arguments or {}, [expectation], NOW_S)
    return None if found is None else found.expectation.kind


@pytest.mark.parametrize(
    "as_of",
    ["2026-11-30T11:59:30Z", "2026-11-30T11:59:30", "2026-11-30T20:59:30+09:00", NOW_S - 30, (NOW_S - 30) * 1000],
)
def test_fresh(as_of: str | float) -> None:
    """A time is read as ISO 8601 in any zone, as seconds and as milliseconds; too old a value is stale."""
    assert kind(fresh("/as_of", 60), {"as_of": as_of}) is None
    assert kind(fresh("/as_of", 20), {"as_of": as_of}) is FaultKind.STALE_VALUE


@pytest.mark.parametrize("value", [{}, {"as_of": None}, {"as_of": True}, {"as_of": "yesterday"}, []])
def test_freshness_that_cannot_be_told_is_a_breach(value: Any) -> None:
    """An answer whose age nobody can tell is not shown to be fresh."""
    found = breach(value, {}, [fresh("/as_of", 60)], NOW_S)
    assert found is not None
    assert "cannot be told" in found.why


def test_adds_up() -> None:
    """Money is added exactly as written: 10.1 + 20.2 is 30.3, and a lost line shows."""
    assert kind(adds_up("/total", "/lines", "sum"), ORDER) is None
    assert kind(adds_up("/total", "/lines", "/sum"), ORDER) is None
    assert kind(adds_up("/total", "/lines", "sum"), {**ORDER, "lines": ORDER["lines"][:1]}) is FaultKind.PARTIAL_DATA
    assert kind(adds_up("/total", "/lines", "sum"), {**ORDER, "lines": [{}]}) is FaultKind.PARTIAL_DATA
    texts = {"total": "30.30", "lines": [{"sum": "10.10"}, {"sum": "20.20"}]}
    assert kind(adds_up("/total", "/lines", "sum"), texts) is None
    assert kind(adds_up("/total", "/lines", "sum"), {**texts, "total": "much"}) is FaultKind.PARTIAL_DATA


def test_counts() -> None:
    """A list that is shorter than its own count is partial."""
    assert kind(counts("/count", "/lines"), ORDER) is None
    assert kind(counts("/count", "/lines"), {**ORDER, "count": 3}) is FaultKind.PARTIAL_DATA
    assert kind(counts("/count", "/lines"), {**ORDER, "lines": {"0": 1, "1": 2}}) is FaultKind.PARTIAL_DATA


def test_agrees() -> None:
    """The answer is about what was asked for; a call that did not ask expects nothing."""
    assert kind(agrees("/id", "order_id"), ORDER, {"order_id": "O1"}) is None
    assert kind(agrees("/id", "order_id"), ORDER, {"order_id": "O2"}) is FaultKind.FACTUAL_ERROR
    assert kind(agrees("/id", "order_id"), {}, {"order_id": "O1"}) is FaultKind.FACTUAL_ERROR
    assert kind(agrees("/id", "order_id"), {}, {}) is None


def test_the_first_breach_counts() -> None:
    """Expectations are checked in order, and the breach names its own."""
    found = breach(ORDER, {"order_id": "O2"}, [counts("/count", "/lines"), agrees("/id", "order_id")], NOW_S)
    assert found is not None
    assert found.expectation.name == "/id is the order_id that was asked for"


def test_a_predicate_of_ones_own() -> None:
    """Any predicate can be an expectation; an error that is no want of data is not swallowed."""
    positive = Expectation(
        name="the total is positive", kind=FaultKind.FACTUAL_ERROR, holds=lambda v, a, n: v["total"] > 0
    )
    assert kind(positive, ORDER) is None
    assert kind(positive, {"total": -1}) is FaultKind.FACTUAL_ERROR
    assert kind(positive, {"total": None}) is FaultKind.FACTUAL_ERROR
    broken = Expectation(name="x", kind=FaultKind.FACTUAL_ERROR, holds=lambda v, a, n: v.nothing)
    with pytest.raises(AttributeError):
        kind(broken, ORDER)
