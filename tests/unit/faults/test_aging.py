from __future__ import annotations

import pytest

from breakfall.faults.aging import aged
from breakfall.faults.shape import UNKNOWN, Shape
from breakfall.seeds import stream
from breakfall.worlds.store import StoreWorld

SEEDS = range(60)
STATES = {"type": "string", "enum": ["open", "paid", "shipped", "cancelled"]}
TIME = {"type": "string", "format": "date-time"}
COUNT = {"type": "integer", "minimum": 0, "x-kind": "quantity"}
MONEY = {"type": "number", "minimum": 0, "x-kind": "money"}


def older(value, **fields):
    """What each field was in some aged answer, by seed; fields without a schema are guessed."""
    shape = Shape({"type": "object", "properties": fields}, {})
    places = shape.places(value)
    return [{place.at[-1]: shown for place, shown in aged(value, places, stream(seed))} for seed in SEEDS]


def values(found, name):
    return {one[name] for one in found if name in one}


def test_a_state_goes_back_along_its_order():
    """The state before in the schema's list; the first has none, nor has one that several lead to."""
    assert values(older({"status": "shipped"}, status=STATES), "status") == {"paid"}
    assert values(older({"orderState": "paid"}, orderState=STATES), "orderState") == {"open"}
    for state in ("open", "cancelled", "unheard of"):
        assert older({"status": state}, status=STATES) == [{}] * len(SEEDS)


@pytest.mark.parametrize("name", ["method", "topic", "kind", "channel", "reason", "colour"])
def test_a_choice_that_is_no_state_stays(name):
    """How something was done is listed in a schema too, and never changes."""
    assert older({name: "paid"}, **{name: {**STATES, "x-kind": "status"}}) == [{}] * len(SEEDS)


def test_a_state_without_an_order_stays():
    """Where no schema lists the states, nothing tells which came before."""
    assert older({"status": "shipped"}) == [{}] * len(SEEDS)


def test_a_state_that_its_record_bears_out_stays():
    """Beside the time at which it was reached, or in a record that was never changed, an earlier state is a lie."""
    reached = {"status": "shipped", "shipped_at": "2026-01-02T00:00:00Z"}
    assert older(reached, status=STATES, shipped_at=TIME) == [{}] * len(SEEDS)
    fresh = {"status": "paid", "created_at": "2026-01-02T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z"}
    assert older(fresh, status=STATES, created_at=TIME, updated_at=TIME) == [{}] * len(SEEDS)


def test_a_state_takes_the_times_with_it():
    """With the state goes the time of its last change, and when the answer was true; no time passes another."""
    value = {
        "status": "paid",
        "created_at": "2026-01-02T00:00:00Z",
        "updated_at": "2026-01-02T05:00:00Z",
        "as_of": "2026-01-09T00:00:00Z",
    }
    found = older(value, status=STATES, created_at=TIME, updated_at=TIME, as_of={**TIME, "x-kind": "as_of"})
    assert values(found, "updated_at") == {"2026-01-02T00:00:00Z"}
    assert values(found, "as_of") == {f"2026-01-0{day}T00:00:00Z" for day in (6, 7, 8)}
    assert {frozenset(one) for one in found} == {
        frozenset({"status", "updated_at", "as_of"}),
        frozenset({"updated_at", "as_of"}),
    }


@pytest.mark.parametrize("name", ["since", "created_at", "placed_at", "expires_on", "delivered_at", "valid_until"])
def test_other_dates_stay(name):
    """When something was made, happened or will end is not what a last change is."""
    assert older({name: "2026-01-02T00:00:00Z"}, **{name: TIME}) == [{}] * len(SEEDS)


@pytest.mark.parametrize(
    ("name", "value", "schema"),
    [
        ("available", 4, COUNT),
        ("on_hand", 0, COUNT),
        ("stock", 4, {"type": "integer"}),
        ("balance", 12.5, MONEY),
        ("card_balance", "12.50", {"type": "string", "x-kind": "money"}),
        ("remaining", 3, None),
    ],
)
def test_stocks_and_balances_were_fuller(name, value, schema):
    """What is used up was more, in the same form."""
    found = values(older({name: value}, **({name: schema} if schema else {})), name)
    assert found
    assert all(type(one) is type(value) and float(one) > float(value) for one in found)


def test_counts_were_lower():
    """A count was less and not below nothing; one of a list in the same answer follows from the list."""
    assert values(older({"view_count": 3}, view_count=COUNT), "view_count") <= {0, 1, 2}
    assert older({"count": 0}, count=COUNT) == [{}] * len(SEEDS)
    assert older({"items": ["a", "b"], "count": 2}, count=COUNT) == [{}] * len(SEEDS)


@pytest.mark.parametrize("name", ["quantity", "unit_price", "amount", "total", "balance_due", "percent"])
def test_other_amounts_stay(name):
    """What was bought, for how much, and what follows from other places does not age."""
    assert older({name: 4}, **{name: COUNT}) == [{}] * len(SEEDS)


def test_availability():
    """What is gone was there; what is there may always have been."""
    assert values(older({"in_stock": False}), "in_stock") == {True}
    assert older({"in_stock": True}) == [{}] * len(SEEDS)


@pytest.mark.parametrize("value", [None, 3, "shipped", [], {}, ["red", "blue"], [3, 4]])
def test_what_has_no_name_stays(value):
    """A bare value or list does not tell what it is, so nothing of it ages."""
    assert all(aged(value, UNKNOWN.places(value), stream(seed)) == [] for seed in SEEDS)


def test_nothing_in_the_store_ages_that_never_changes():
    """Over every answer schema of the store world: states, last changes, stocks, balances and times of answers only."""
    ageing = set()
    for tool in StoreWorld().tools("alternatives").values():
        value = example(tool.returns)
        places = Shape(tool.returns, tool.returns).places(value)
        for seed in range(200):
            ageing |= {place.at[-1] for place, _ in aged(value, places, stream(seed))}
    assert ageing == {"status", "updated_at", "available", "on_hand", "reserved", "balance", "as_of"}


def example(schema):
    """An answer of a schema in which everything could have been other, with one item in each list."""
    if schema.get("type") == "object":
        return {name: 1 if name.endswith("count") else example(part) for name, part in schema["properties"].items()}
    if schema.get("type") == "array":
        return [example(schema["items"])]
    if "enum" in schema:
        return [state for state in schema["enum"] if state not in ("cancelled", "voided")][-1]
    if "date" in schema.get("format", ""):
        return "2026-01-02T00:00:00Z" if schema["format"] == "date-time" else "2026-01-01"
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    return {"integer": 4, "number": 12.5}.get(kind, "X1")
