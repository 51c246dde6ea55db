from __future__ import annotations

import re

import pytest

from breakfall.faults.plausible import other
from breakfall.faults.shape import STATUSES, UNKNOWN, Shape
from breakfall.seeds import stream

SEEDS = range(60)


def no_ids(kind):
    return ()


def leaf(schema, value):
    (place,) = Shape(schema, schema).places(value)
    return place.leaf


def others(schema, value, ids=no_ids):
    return {other(leaf(schema, value), value, stream(seed), ids) for seed in SEEDS}


def test_money_keeps_its_scale():
    """Decimals keep two places, decimal texts theirs, and cents stay whole."""
    floats = others({"x-kind": "money"}, 41.5)
    assert len(floats) > 3
    assert all(round(value, 2) == value != 41.5 for value in floats)
    assert all(re.fullmatch(r"\d+\.\d{2}", value) and value != "7.89" for value in others({"x-kind": "money"}, "7.89"))
    assert all(re.fullmatch(r"\$\d+\.\d USD", value) for value in others({"x-kind": "money"}, "$12.5 USD"))
    assert all(isinstance(value, int) and value != 499 for value in others({"x-kind": "money"}, 499))


@pytest.mark.parametrize("value", [0, 0.0, "0.00", 1, 10**30, 1e308, -3, 2.5e-7])
def test_money_at_the_edges(value):
    """Even nothing, and sums that no one has, become another finite amount of the same type."""
    for false in others({"x-kind": "money"}, value):
        assert type(false) is type(value)
        assert false != value
        assert abs(float(false)) < float("inf")


def test_limits_hold():
    """What the schema limits stays within its limits, and where they leave nothing there is nothing."""
    schema = {"type": "integer", "minimum": 0, "maximum": 3, "x-kind": "quantity"}
    assert others(schema, 3) <= {0, 1, 2}
    assert others({**schema, "multipleOf": 2}, 2) == {0}
    assert others({"type": "integer", "minimum": 5, "maximum": 5}, 5) == {None}
    assert others({"const": "fixed-1"}, "fixed-1") == {None}


def test_value_that_breaks_its_schema():
    """A true value that its own schema refuses binds the false one to its type only."""
    assert all(isinstance(value, int) and value != -7 for value in others({"type": "integer", "minimum": 0}, -7))


def test_ids_exist():
    """An id becomes another existing one of its kind, and nothing where there is no other."""
    known = {"order": ["O1", "O2", "O3"], "card": ["K1"]}
    schema = {"type": "string", "x-kind": "id:order"}
    assert others(schema, "O1", lambda kind: known.get(kind, ())) == {"O2", "O3"}
    assert others({"x-kind": "id:card"}, "K1", lambda kind: known.get(kind, ())) == {None}
    assert others({"x-kind": "id:ghost"}, "G1", lambda kind: known.get(kind, ())) == {None}
    assert others({"type": "integer", "x-kind": "id:user"}, 1, lambda kind: ("1", "2")) == {2}


def test_ids_without_a_schema():
    """A guessed id is taken from the world where it knows the kind, else it merely looks right."""

    def guessed(value, ids):
        (place,) = UNKNOWN.places({"order_id": value})
        return {other(place.leaf, value, stream(seed), ids) for seed in SEEDS}

    assert guessed("O1", lambda kind: ["O1", "O2"] if kind == "order" else ()) == {"O2"}
    assert all(re.fullmatch(r"O-\d{4}", value) and value != "O-1009" for value in guessed("O-1009", no_ids))
    assert all(isinstance(value, int) for value in guessed(7, no_ids))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("2025-03-01", r"2025-0[1234]-\d\d"),
        ("2025-03-01T09:30:00.5+09:00", r"2025-0[1234]-\d\dT09:30:00\.5\+09:00"),
        ("0001-01-01", r"0001-0\d-\d\d"),
        ("9999-12-31", r"9999-1\d-\d\d"),
    ],
)
def test_dates_stay_dates(value, form):
    """Dates move by days and are written as before, also at the ends of the calendar."""
    schema = {"format": "date" if len(value) == 10 else "date-time"}
    assert all(re.fullmatch(form, false) and false != value for false in others(schema, value))


@pytest.mark.parametrize("value", ["20250301", "2025-W09-1", "soon", "2025-13-45", ""])
def test_unreadable_dates(value):
    """What is called a date but cannot be read as one is left alone."""
    assert others({"x-kind": "date"}, value) == {None}


def test_numeric_times():
    """Seconds and milliseconds since an epoch move by whole days."""
    assert all((false - 1_700_000_000) % 86_400 == 0 for false in others({"x-kind": "date"}, 1_700_000_000))
    assert all((f - 1_700_000_000_000) % 86_400_000 == 0 for f in others({"x-kind": "date"}, 1_700_000_000_000))


def test_statuses():
    """A listed status becomes another of the list; an unlisted one another that is usual, in its own case."""
    assert others({"enum": ["a", "b", "c"]}, "b") == {"a", "c"}
    assert others({"enum": ["a", None]}, "a") == {None}
    assert others({}, "shipped") <= set(STATUSES) - {"shipped"}
    assert all(value.isupper() for value in others({}, "SHIPPED"))
    assert all(value.istitle() or "_" in value for value in others({}, "Shipped"))


def test_emails_codes_flags_numbers():
    """Other forms stay what they are."""
    assert all(re.fullmatch(r"kim\S+@example\.org", value) for value in others({"format": "email"}, "kim@example.org"))
    assert all(re.fullmatch(r"EH\d \dAB", value) for value in others({}, "EH1 2AB"))
    assert others({"type": "boolean"}, True) == {False}
    assert all(value != 3.25 and round(value, 2) == value for value in others({"type": "number"}, 3.25))
    assert all(value >= 0 and value != 2 for value in others({"type": "integer"}, 2))
    assert all(isinstance(value, float) for value in others({"type": "number"}, 2.0))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"x-kind": "text"}, "call 3 times"),
        ({"x-kind": "as_of"}, "2025-01-01"),
        ({}, "no number in it"),
        ({"type": "boolean"}, 3),
        ({"x-kind": "money"}, True),
        ({"x-kind": "quantity"}, False),
        ({"x-kind": "status"}, 3),
        ({"format": "email"}, 3),
        ({"x-kind": "date"}, True),
        ({"x-kind": "quantity"}, "none"),
    ],
)
def test_nothing_to_replace(schema, value):
    """Prose, the answer's own time, and values that are not what they are called, are never replaced."""
    assert others(schema, value) == {None}


def test_not_a_number():
    """A value that is no number is not turned into another that is none."""
    assert all(false is None or false == false for false in others({"x-kind": "money"}, float("nan")))
