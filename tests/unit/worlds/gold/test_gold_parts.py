"""The parts that worlds with gold calls share: effects, maps, readers, tools."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from breakfall.vocab import Applied, AppliedEffect, Effect, Found, Path
from breakfall.worlds.gold.domain import Domain, Mirror, names
from breakfall.worlds.gold.effects import compare, target_of
from breakfall.worlds.gold.mapping import from_context, given, item, renamed
from breakfall.worlds.gold.readers import UNKNOWN, gives, reader, yes
from breakfall.worlds.gold.tools import Doc, annotated, fitted, mirrored, native, purpose, with_alternatives

DOMAIN = Domain(
    services={"shop/orders": "get_order cancel", "shop/desk": "add"},
    writes=names("cancel"),
    natural=names("cancel"),
    readers={"cancel": reader("get_order", lambda value, write: None, given("id"))},
    mirrors=(
        Mirror(
            name="list_orders",
            description="List them.",
            parameters={"user": {"type": "string"}},
            fault_domain="account",
            run=lambda ask, asked: [],
        ),
    ),
    mirror_paths={"get_order": (Path(tool="list_orders", arguments=from_context("user"), value=item("id")),)},
    kinds={"total": "money", "lines": "id:line"},
)
DOCS = [
    Doc(name=name, description=f"{name} does it. And more.", parameters={"type": "object", "properties": {}})
    for name in ("get_order", "cancel", "add")
]


class TestEffects:
    def test_compare(self) -> None:
        """Too few is missing, too many duplicate once per extra time, unknown wrong; names may count for nothing."""
        gold = Counter({("post", "a"): 1, ("like", "b"): 1, ("move", "c"): 1})
        log = [AppliedEffect(name=n, target=t) for n, t in [("post", "a")] * 3 + [("post", "z"), ("move", "d")]]
        assert compare(log, gold, {"move"}) == (("like b",), ("post a", "post a"), ("post z",))
        assert compare(log, gold)[2] == ("post z", "move d")

    def test_targets(self) -> None:
        """Order and the form of a whole number do not matter, anything else does."""
        assert target_of({"b": 1.0, "a": "x"}) == target_of({"a": "x", "b": 1}) == '{"a":"x","b":1}'
        assert target_of({"a": ["x", "y"]}) != target_of({"a": ["y", "x"]})


class TestMaps:
    def test_from_context(self) -> None:
        """Arguments come from what else is known, under its own name or another; what is not known closes the path."""
        assert from_context("zip", first="first_name")({}, {"zip": "1", "first_name": "A", "more": 2}) == {
            "zip": "1",
            "first": "A",
        }
        assert from_context("zip")({"zip": "1"}, {}) is None

    def test_from_the_call(self) -> None:
        """Arguments come from the original call, under its own name or another, beside fixed ones."""
        assert given("origin", date="x")({"origin": "JFK", "y": 1}, {}) == {"origin": "JFK", "date": "x"}
        assert given("origin")({}, {}) is None
        assert renamed(id="customer_id")({"customer_id": "C1"}, {}) == {"id": "C1"}
        assert renamed(id="customer_id")({"id": "C1"}, {}) is None

    @pytest.mark.parametrize("answer", [[], [{"id": "b"}], {"id": "a"}, [1]])
    def test_an_item_that_is_not_there(self, answer: Any) -> None:
        """A list without the record, or what is no list, lacks what the original would have given."""
        with pytest.raises(LookupError, match="no record has id 'a'"):
            item("id")(answer, {"id": "a"}, {})
        assert item("id")([{"id": "b"}, {"id": "a", "n": 1}], {"id": "a"}, {}) == {"id": "a", "n": 1}


class TestReaders:
    def test_judging(self) -> None:
        """Told is YES, not told NO, and an answer that lacks what would tell UNKNOWN."""
        found = reader("get", lambda value, write: yes(value, "so") if value["n"] == write["n"] else None, given("id"))
        assert found.judge({"n": 1}, {"n": 1}, 0.0).applied is Applied.YES
        assert found.judge({"n": 2}, {"n": 1}, 0.0).applied is Applied.NO
        for lacking in ({}, None, "text", []):
            assert found.judge(lacking, {"n": 1}, 0.0) is UNKNOWN
        assert found.arguments({"id": 3}, {}) == {"id": 3}

    def test_what_a_look_up_gives(self) -> None:
        """A look-up gives what a later step needs where it says YES and shows the same at that place."""
        place, value = Found("s1", "/a/b"), {"a": {"b": 1}}
        assert gives(yes({"a": {"b": 1}}, ""), place, value)
        assert not gives(yes({"a": {"b": 2}}, ""), place, value)
        assert not gives(yes(None, ""), place, value)
        assert not gives(UNKNOWN, place, value)
        assert not gives(None, place, value)


class TestTools:
    def test_native(self) -> None:
        """Facts and descriptions make a tool; it takes no other arguments than it names."""
        tools = native(DOMAIN, DOCS)
        assert (tools["cancel"].effect, tools["get_order"].effect) == (Effect.WRITE, Effect.READ)
        assert tools["cancel"].idempotency.kind == "natural"
        assert tools["cancel"].reader is not None
        assert tools["add"].parameters["additionalProperties"] is False
        assert tools["get_order"].fault_domain == "shop/orders"
        assert purpose(tools["add"]) == "add does it"

    def test_alternatives(self) -> None:
        """A write gets a form, a read a gateway, in domains of their own and with a way back; mirrors stand beside."""
        tools = with_alternatives(DOMAIN, native(DOMAIN, DOCS))
        assert [path.tool for path in tools["get_order"].paths] == ["list_orders", "get_order_via_gateway"]
        assert [path.tool for path in tools["cancel"].paths] == ["cancel_by_form"]
        assert [path.tool for path in tools["cancel_by_form"].paths] == ["cancel"]
        assert tools["cancel_by_form"].effect is Effect.WRITE
        assert tools["cancel_by_form"].fault_domain == "forms/shop/orders"
        assert tools["list_orders"].parameters["required"] == ["user"]
        assert {name for name, tool in tools.items() if tool.mirror} == {
            "list_orders",
            "cancel_by_form",
            "get_order_via_gateway",
            "add_via_gateway",
        }
        assert [mirrored(name) for name in ("cancel_by_form", "add_via_gateway", "add")] == ["cancel", "add", "add"]

    def test_fitted(self) -> None:
        """A reader that would be wrong is taken from the tool and from its form."""
        tools = fitted(with_alternatives(DOMAIN, native(DOMAIN, DOCS)), frozenset({"cancel"}))
        assert tools["cancel"].reader is None
        assert tools["cancel_by_form"].reader is None

    def test_annotated(self) -> None:
        """Fields are marked at every depth, lists and maps on what they hold."""
        schema = {
            "$defs": {"Order": {"properties": {"total": {"type": "number"}, "lines": {"items": {"type": "string"}}}}},
            "properties": {"total": {"additionalProperties": {"type": "integer"}}, "x": {"type": "string"}},
        }
        marked = annotated(schema, DOMAIN.kinds)
        assert marked["$defs"]["Order"]["properties"]["total"] == {"type": "number", "x-kind": "money"}
        assert marked["$defs"]["Order"]["properties"]["lines"] == {"items": {"type": "string", "x-kind": "id:line"}}
        assert marked["properties"]["total"] == {"additionalProperties": {"type": "integer", "x-kind": "money"}}
        assert marked["properties"]["x"] == {"type": "string"}
        assert "x-kind" not in str(schema)
