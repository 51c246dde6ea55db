"""Equivalent tools: the same information, or the same effect, from different fault domains."""

import pytest

from breakfall.vocab import ALTERNATIVES, NATIVE, Answer, Granularity

READ_PAIRS = {
    ("find_customer_by_email", "find_customer_by_name"),
    ("get_order", "list_customer_orders"),
    ("get_order", "search_orders"),
    ("list_customer_orders", "search_orders"),
    ("get_product", "search_products"),
    ("get_product", "get_item_by_sku"),
    ("get_stock", "get_warehouse_stock"),
    ("get_shipment", "track_parcel"),
    ("list_payments", "get_invoice"),
    ("get_gift_card", "get_wallet"),
    ("get_coupon", "get_wallet"),
}
WRITE_PAIRS = {
    ("cancel_order", "request_cancellation"),
    ("update_order_address", "request_redirect"),
    ("refund_to_card", "refund_as_credit"),
    ("place_order", "place_phone_order"),
    ("create_return", "book_return_pickup"),
    ("send_message", "send_text"),
}


@pytest.fixture(scope="module")
def tools(world):
    return world.tools(ALTERNATIVES)


def test_the_promised_equivalences_are_there(tools):
    """Eleven read and six write equivalences, exact and partial ones, each across two fault domains."""
    pairs = {(name, path.tool) for name, tool in tools.items() for path in tool.paths}
    assert pairs >= READ_PAIRS | WRITE_PAIRS
    assert {path.granularity for tool in tools.values() for path in tool.paths} == set(Granularity)
    for name, other in pairs:
        assert tools[name].fault_domain != tools[other].fault_domain, (name, other)
        assert tools[name].writes == tools[other].writes
    assert len({tool.fault_domain for tool in tools.values()}) >= 3


def test_partial_paths_name_what_they_miss(tools):
    """A partial path names at least one field of the original's answer, an exact one none."""
    for tool in tools.values():
        for path in tool.paths:
            assert bool(path.missing) == (path.granularity is Granularity.PARTIAL)
            assert set(path.missing) <= set(tool.returns["properties"])


def test_native_tools_know_no_mirrors(world):
    """In the native condition mirrors are gone, no path leads to one, and equivalences are left."""
    native = world.tools(NATIVE)
    assert not any(tool.mirror for tool in native.values())
    paths = [path.tool for tool in native.values() for path in tool.paths]
    assert paths
    assert set(paths) <= set(native)
    assert set(world.tools(ALTERNATIVES)) - set(native)
    assert all(tool.reader.tool in native for tool in native.values() if tool.writes)


def _reads(moments, tools):
    """Every read of the gold plans with each of its paths; no list of a customer has another's orders."""
    for moment in moments:
        if moment.task.template != "cancel_foreign" and not tools[moment.tool].writes:
            for path in tools[moment.tool].paths:
                yield moment, path


def test_read_paths_give_the_same_information(moments, tools):
    """Whatever a path's answer holds equals the original's, and an exact path's holds all of it."""
    seen = set()
    for moment, path in _reads(moments, tools):
        mapped = path.arguments(moment.arguments, moment.context)
        if mapped is None:
            continue
        bench = moment.bench()
        true = bench.value(moment.tool, moment.arguments)
        bench.clock.seconds -= 1.0
        answer = path.value(bench.value(path.tool, mapped), moment.arguments, moment.context)
        kept = {name: value for name, value in true.items() if name not in path.missing}
        assert {name: answer[name] for name in kept} == kept, (moment.tool, path.tool)
        seen.add((moment.tool, path.tool))
    assert seen >= READ_PAIRS - {("get_product", "get_item_by_sku")}


def test_reverse_paths_of_reads(opened, tools, moments):
    """The paths back give the same as well: from what one tool answered, the other's arguments are known."""
    bench = opened()
    sku = next(moment.arguments["sku"] for moment in moments if moment.tool == "get_stock")
    item = bench.value("get_item_by_sku", {"sku": sku})
    order = next(moment for moment in moments if moment.tool == "get_shipment").arguments
    parcel = bench.value("get_shipment", order)
    cases = [
        ("get_item_by_sku", {"sku": sku}, {"product_id": item["product_id"]}),
        ("get_product", {"product_id": item["product_id"]}, {"sku": sku}),
        ("get_warehouse_stock", {"sku": sku}, {}),
        ("track_parcel", {"tracking_number": parcel["tracking_number"]}, order),
        ("get_invoice", order, {}),
        ("search_orders", {"email": "x"}, {"customer_id": bench.value("get_order", order)["customer_id"]}),
    ]
    for tool, arguments, context in cases:
        for path in tools[tool].paths:
            mapped = path.arguments(arguments, context)
            if mapped is None or tool == "search_orders":
                continue
            true = bench.value(tool, arguments)
            bench.clock.seconds -= 1.0
            answer = path.value(bench.value(path.tool, mapped), arguments, context)
            assert {name: true[name] for name in answer if name not in path.missing} == {
                name: value for name, value in answer.items() if name not in path.missing
            }
    mapped = tools["search_orders"].paths[0].arguments(cases[-1][1], cases[-1][2])
    assert bench.value("list_customer_orders", mapped)["count"] > 0


def test_paths_without_known_arguments_are_none(tools):
    """A path whose arguments nobody knows says so."""
    assert tools["find_customer_by_email"].paths[0].arguments({"email": "a@b.example"}, {}) is None
    assert tools["get_shipment"].paths[0].arguments({"order_id": "O1"}, {}) is None
    assert tools["refund_to_card"].paths[0].arguments({"order_id": "O1", "amount": 1.0}, {}) is None


@pytest.mark.parametrize("broken", [None, 5, [], {}, {"orders": None}, {"orders": [3]}, {"products": [{}]}, "text"])
def test_a_broken_answer_lacks_what_is_sought(tools, broken):
    """A path given an answer in no known form raises LookupError and nothing else."""
    given = {"order_id": "O1", "product_id": "P1", "sku": "S", "code": "G", "name": "Mug"}
    for tool in tools.values():
        for path in tool.paths:
            if not tool.writes and path.value.__name__ != "same_value":
                with pytest.raises(LookupError):
                    path.value(broken, given, {})


def test_an_answer_about_another_record_is_not_taken(tools):
    """A path from one item to its product refuses an item of another product, a search one of another name."""
    item = {"sku": "S", "product_id": "P2", "name": "Mug", "option": "small", "price": 1.0, "as_of": ""}
    by_sku = next(path for path in tools["get_product"].paths if path.tool == "get_item_by_sku")
    with pytest.raises(LookupError, match="belongs to product P2, not P1"):
        by_sku.value(item, {"product_id": "P1"}, {})
    by_id = tools["search_products"].paths[0]
    with pytest.raises(LookupError, match="is 'Cork Mug', not 'Birch Mug'"):
        by_id.value({"product_id": "P1", "name": "Cork Mug"}, {"name": "Birch Mug"}, {})


def test_write_paths_have_the_same_effect(moments, tools, world):
    """The plan with one write replaced by its path leaves the same effects and passes the checker."""
    seen = set()
    for moment in moments:
        for path in tools[moment.tool].paths:
            mapped = path.arguments(moment.arguments, moment.context)
            if not tools[moment.tool].writes or mapped is None:
                continue
            if len([entry for entry in seen if entry[:2] == (moment.tool, path.tool)]) > 12:
                continue
            passed = _play_with(moment, path, mapped)
            assert passed.passed, (moment.task.id, moment.tool, path.tool, passed)
            seen.add((moment.tool, path.tool, moment.task.id))
    assert {pair[:2] for pair in seen} >= WRITE_PAIRS


def _play_with(moment, path, mapped):
    """Follow the task's plan with one call replaced by its path."""
    fresh = type(moment.bench())(moment.world, moment.task)
    original = fresh.value

    def value(tool, arguments):
        if (tool, arguments) == (moment.tool, moment.arguments):
            return path.value(original(path.tool, mapped), moment.arguments, moment.context)
        return original(tool, arguments)

    fresh.value = value
    for _ in fresh.play(moment.task):
        pass
    assert [effect.tool for effect in fresh.store.effects].count(path.tool) >= 1
    return fresh.store.check(Answer(facts=fresh.facts), ())


def test_write_paths_go_both_ways(tools):
    """Every mirror of a write leads back to the original."""
    for name, other in WRITE_PAIRS:
        assert name in {path.tool for path in tools[other].paths}
        assert tools[other].effect is tools[name].effect
