from __future__ import annotations

import pytest

from breakfall.faults.shape import UNKNOWN, Shape, What, shape_of


def found(schema, value):
    return {"/".join(place.at): (place.leaf.what, place.leaf.of) for place in shape_of(schema).places(value)}


def one(schema, value):
    (place,) = shape_of({"properties": {"field": schema}}).places({"field": value})
    return place.leaf.what


@pytest.mark.parametrize(
    ("schema", "value", "what"),
    [
        ({"type": "number", "x-kind": "money"}, 1.5, What.MONEY),
        ({"type": "integer", "x-kind": "quantity"}, 3, What.QUANTITY),
        ({"type": "string", "x-kind": "date"}, "2025-01-02", What.DATE),
        ({"type": "string", "x-kind": "status"}, "new", What.STATUS),
        ({"type": "string", "x-kind": "text"}, "2025-01-02", What.TEXT),
        ({"type": "number", "x-kind": "as_of"}, 12.0, What.AS_OF),
        ({"type": "string", "format": "date-time"}, "2025-01-02T00:00:00Z", What.DATE),
        ({"type": "string", "format": "email"}, "a@b.org", What.EMAIL),
        ({"enum": ["a", "b"]}, "a", What.STATUS),
        ({"type": ["null", "boolean"]}, True, What.FLAG),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 3, What.NUMBER),
        ({"oneOf": [{"type": "number"}, {"type": "null"}], "x-kind": "money"}, 3.0, What.MONEY),
        ({"type": "string"}, "2025-01-02", What.DATE),
        ({"type": "string"}, "nothing special", What.TEXT),
    ],
)
def test_declared(schema, value, what):
    """The annotation comes first, then enum, format and type; only where these are silent the value tells."""
    assert one(schema, value) is what


@pytest.mark.parametrize(
    ("name", "value", "what", "of"),
    [
        ("order_id", "O17", What.ID, "order"),
        ("orderId", "O17", What.ID, "order"),
        ("id", 17, What.ID, ""),
        ("paid", "yes", What.TEXT, ""),
        ("paid", True, What.FLAG, ""),
        ("valid", "x1", What.CODE, ""),
        ("total", 12.5, What.NUMBER, ""),
        ("total", "12.50", What.MONEY, ""),
        ("state", "Shipped", What.STATUS, ""),
        ("mail", "kim@example.org", What.EMAIL, ""),
        ("when", "2025-01-02T10:00:00+09:00", What.DATE, ""),
        ("postcode", "EH1 2AB", What.CODE, ""),
        ("as_of", "2025-01-02", What.AS_OF, ""),
        ("odd", (1, 2), What.TEXT, ""),
    ],
)
def test_guessed(name, value, what, of):
    """Without a schema the value and its name tell what it is."""
    assert found({}, {name: value}) == {name: (what, of)}


def test_names_reach_into_lists():
    """The items of a list are called as the list is, and nulls hold nothing."""
    assert found({}, {"order_ids": ["O1", None, "O2"]}) == {
        "order_ids/0": (What.ID, "order"),
        "order_ids/2": (What.ID, "order"),
    }


def test_references():
    """Local references are followed, also into records that hold themselves."""
    schema = {
        "$defs": {
            "node": {
                "properties": {
                    "amount": {"$ref": "#/$defs/amount"},
                    "children": {"items": {"$ref": "#/$defs/node"}},
                }
            },
            "amount": {"type": "number", "x-kind": "money"},
        },
        "$ref": "#/$defs/node",
    }
    value = {"amount": 1.0, "children": [{"amount": 2.0, "children": [{"amount": 3.0}]}]}
    places = found(schema, value)
    assert list(places) == ["amount", "children/0/amount", "children/0/children/0/amount"]
    assert set(places.values()) == {(What.MONEY, "")}


@pytest.mark.parametrize("schema", [{"$ref": "#/nowhere"}, {"$ref": "#/a"}, {"type": "nonsense"}, {"pattern": "("}])
def test_broken_schema(schema):
    """A schema that leads nowhere, in a circle, or is none, leaves it to the value."""
    root = {"a": {"$ref": "#/a"}, **schema}
    ((place),) = Shape(schema, root).places(3)
    assert place.leaf.what is What.NUMBER


def test_other_fields():
    """Records with free names take what `additionalProperties` says of each; a field without a schema is guessed."""
    stock = {"additionalProperties": {"type": "integer", "x-kind": "quantity"}}
    assert found(stock, {"SKU-1": 3, "SKU-2": 0}) == {"SKU-1": (What.QUANTITY, ""), "SKU-2": (What.QUANTITY, "")}
    assert found({"properties": {"a": True}, "additionalProperties": False}, {"a": 1.5}) == {"a": (What.NUMBER, "")}


def test_walked_once():
    """A schema object is compiled once; an equal one elsewhere has its own shape; none at all shares one."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert shape_of(schema) is shape_of(schema)
    assert shape_of(schema).field("a") is shape_of(schema).field("a")
    assert shape_of(dict(schema)) is not shape_of(schema)
    assert shape_of({}) is UNKNOWN


def test_memory_is_bounded():
    """Schemas made anew for every episode do not pile up, and shapes stay right after older ones were dropped."""
    kept = {"type": "integer", "x-kind": "money"}
    first = shape_of(kept)
    for _ in range(5000):
        shape_of({"type": "string"})
    again = shape_of(kept)
    assert again is not first
    assert again.leaf.what is What.MONEY
