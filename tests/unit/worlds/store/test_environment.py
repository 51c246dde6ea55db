"""The environment: answers in their declared form, private state, pretending, and what was so before."""

import asyncio

import msgspec
import pytest

from breakfall.vocab import ALTERNATIVES, Answer, Environment, Failed, Ok, World
from breakfall.vocab.schema import ArgumentSchema
from breakfall.worlds.store.base import base


def _base_bytes():
    made = base()
    encode = msgspec.json.Encoder(order="sorted").encode
    return b"".join(encode([kind.__name__, records]) for kind, records in made.records.items()) + encode(made.lists)


def test_the_protocols(world, opened):
    """The store is a World and its environments are Environments, with all that the Protocols name."""
    for protocol, thing in ((World, world), (Environment, opened().store)):
        for name in (name for name in dir(protocol) if not name.startswith("_")):
            assert hasattr(thing, name), name
    assert world.conditions[0] == ALTERNATIVES
    assert world.splits == ("held-out", "train")
    assert world.policy.en
    assert world.policy.ko


def test_answers_have_their_declared_form(moments, world):
    """Every answer that the gold plans and their paths get fits `returns`, and every read's says as of when."""
    tools = world.tools(ALTERNATIVES)
    schemas = {name: ArgumentSchema(tool.returns) for name, tool in tools.items()}
    seen = set()
    for moment in moments:
        calls = [(moment.tool, moment.arguments)]
        calls += [
            (path.tool, mapped)
            for path in tools[moment.tool].paths
            if (mapped := path.arguments(moment.arguments, moment.context)) is not None
        ]
        reader = tools[moment.tool].reader
        if reader is not None:
            calls.append((reader.tool, reader.arguments(moment.arguments, moment.context)))
        for name, arguments in calls:
            outcome = moment.bench().call(name, arguments)
            if isinstance(outcome, Ok):
                assert schemas[name].problems(outcome.value) == [], name
                assert tools[name].writes or outcome.value["as_of"].startswith("2026-03-02T09:")
                seen.add(name)
    assert set(tools) - seen <= {"get_item_by_sku"}


def test_the_schema_says_what_every_leaf_holds(world):
    """Every leaf of every answer names what it holds, and every list stands beside a count or in a record with one."""
    for tool in world.tools(ALTERNATIVES).values():
        for leaf in _leaves(tool.returns):
            assert "x-kind" in leaf, (tool.name, leaf)
        assert tool.writes or tool.returns["properties"]["as_of"]["x-kind"] == "as_of"


def _leaves(schema):
    if "properties" in schema:
        for part in schema["properties"].values():
            yield from _leaves(part)
    elif "items" in schema:
        yield from _leaves(schema["items"])
    else:
        yield schema


def test_environments_never_see_each_other(moments):
    """A write in one environment shows in no other, and the base data never changes."""
    before = _base_bytes()
    for moment in moments:
        one, other = moment.bench(), moment.bench()
        two = other.store
        state = _shown(other, moment)
        one.call(moment.tool, moment.arguments)
        other.clock.seconds -= 1.0
        assert _shown(other, moment) == state
        assert list(two.effects) == list(moment.bench().store.effects)
    assert _base_bytes() == before


def _shown(bench, moment):
    """What the episode's customer looks like, as of the same second."""
    bench.clock.seconds = 500.0
    owner = moment.task.details["owner"]
    if owner is None:
        return None
    return [bench.value(tool, {"customer_id": owner}) for tool in ("list_customer_orders", "get_wallet")]


def test_an_environment_costs_what_it_touches(opened):
    """Opening copies nothing, and a write keeps only the records that it changed."""
    bench = opened()
    assert bench.store.state.changed() == []
    order_id = next(key for key in bench.store.ids("order") if _status(bench, key) == "awaiting_payment")
    bench.value("cancel_order", {"order_id": order_id, "reason": "changed_mind"})
    lines = bench.value("get_order", {"order_id": order_id})["count"]
    assert len(bench.store.state.changed()) == lines + 1


def _status(bench, order_id):
    return bench.value("get_order", {"order_id": order_id})["status"]


def test_pretending_changes_nothing(moments, world):
    """`pretend` answers as `call` would at that moment, and leaves state and log as they were."""
    for moment in moments[:250]:
        bench = moment.bench()
        bench.clock.seconds += 1.0
        done, changed = list(bench.store.effects), bench.store.state.changed()
        shown = asyncio.run(bench.store.pretend(moment.tool, moment.arguments))
        assert (list(bench.store.effects), bench.store.state.changed()) == (done, changed)
        bench.clock.seconds -= 1.0
        assert bench.call(moment.tool, moment.arguments) == shown


def test_earlier_reads_show_the_state_before(moments, world):
    """After a write, `earlier` gives the reader's answer from before it, as of an earlier time."""
    tools, checked = world.tools(ALTERNATIVES), set()
    for moment in moments:
        reader = tools[moment.tool].reader
        if reader is None:
            continue
        bench, asked = moment.bench(), reader.arguments(moment.arguments, moment.context)
        before = bench.value(reader.tool, asked)
        bench.value(moment.tool, moment.arguments)
        sent = bench.value(reader.tool, asked)["as_of"]
        stale = bench.store.earlier(reader.tool, asked)
        assert stale.pop("as_of") < sent
        before.pop("as_of")
        assert stale == before, moment.tool
        checked.add(moment.tool)
    assert len(checked) >= 10


def test_earlier_is_none_where_there_is_nothing_earlier(opened, moments):
    """Before any change, for what the change did not touch, and for what did not exist, `earlier` is None."""
    bench = opened()
    order_id, other = bench.store.ids("order")[:2]
    assert bench.store.earlier("get_order", {"order_id": order_id}) is None
    items = [{"sku": _in_stock(bench), "quantity": 1}]
    new = bench.value("place_order", {"customer_id": "C1001", "items": items, "payment_method": "card"})
    assert bench.store.earlier("get_order", {"order_id": other}) is None
    assert bench.store.earlier("get_order", {"order_id": new["order_id"]}) is None
    assert bench.store.earlier("get_order", {"order_id": 7}) is None
    assert bench.store.earlier("nothing", {}) is None


def _in_stock(bench):
    return next(sku for sku in bench.store.ids("variant") if bench.value("get_stock", {"sku": sku})["available"] > 2)


def test_earlier_of_a_write_shows_the_order_as_it_is(moments, world):
    """A change's stale answer shows the order before it; what makes something new has none."""
    changes = {"cancel_order", "update_order_address", "apply_coupon", "change_item"}
    seen = set()
    for moment in moments:
        if not world.tools(ALTERNATIVES)[moment.tool].writes:
            continue
        bench = moment.bench()
        stale = bench.store.earlier(moment.tool, moment.arguments)
        answer = bench.value(moment.tool, moment.arguments)
        assert (stale is not None) == (moment.tool in changes), moment.tool
        if stale is not None:
            assert stale.keys() == answer.keys()
            assert stale != answer
            assert stale["updated_at"] < answer["updated_at"]
            assert bench.store.earlier(moment.tool, moment.arguments) is None
            seen.add(moment.tool)
    assert seen == changes


def test_earlier_of_a_refused_write_is_none(opened):
    """A write that would be refused has no stale answer."""
    for order_id in ("O1", opened().store.ids("order")[0]):
        assert opened().store.earlier("apply_coupon", {"order_id": order_id, "code": "NONE5"}) is None


def test_ids_are_existing_ones_and_new_ones(opened, world):
    """Each kind that the schemas name has ids to choose from, and ids made in the episode are among them."""
    kinds = {
        leaf["x-kind"][3:]
        for tool in world.tools(ALTERNATIVES).values()
        for leaf in _leaves(tool.returns)
        if leaf["x-kind"].startswith("id:")
    }
    bench = opened()
    for kind in kinds - {"return", "refund"}:  # the base has none of these yet
        assert len(bench.store.ids(kind)) >= 20, kind
    assert bench.store.ids("no such kind") == ()
    items = [{"sku": _in_stock(bench), "quantity": 1}]
    placed = bench.value("place_order", {"customer_id": "C1001", "items": items, "payment_method": "invoice"})
    assert placed["order_id"] in bench.store.ids("order")
    assert placed["status"] == "awaiting_payment"


def test_a_refused_write_is_rolled_back(opened):
    """A refused write leaves neither records nor effects."""
    bench = opened()
    items = [{"sku": _in_stock(bench), "quantity": 50}, {"sku": "nothing", "quantity": 1}]
    outcome = bench.call("place_order", {"customer_id": "C1001", "items": items, "payment_method": "card"})
    assert isinstance(outcome, Failed)
    assert bench.store.state.changed() == []


def test_wrong_arguments_are_all_named(opened):
    """A call with several mistakes is told every one of them."""
    outcome = opened().call("refund_to_card", {"order_id": 5, "amount": "a lot", "reason": "bored", "colour": 1})
    assert outcome.status == 422
    for word in ("order_id", "amount", "reason", "colour"):
        assert word in outcome.message


def test_a_new_turn_changes_nothing(opened):
    """The store does not hear the user."""
    bench = opened()
    bench.store.next_turn()
    assert bench.store.state.changed() == []
    assert not bench.store.check(Answer(), ()).passed


@pytest.mark.parametrize("bad", [None, [], "x", {"order_id": float("nan")}, {1: 2}, {"order_id": b"x"}])
def test_what_is_not_json_is_refused(opened, bad):
    """Arguments that are no JSON object are refused like any other mistake."""
    outcome = opened().call("get_order", bad)
    assert outcome.status == 422


def test_text_that_cannot_be_written_down_is_refused(opened):
    """A half of a character pair cannot be stored, so a write with one is refused."""
    bench = opened()
    outcome = bench.call("transfer_to_human", {"reason": "other", "summary": "\ud800"})
    assert outcome.status == 422
    assert not bench.store.effects
