"""Writes: what repeats do, what is refused, and what stands in the effect log."""

import pytest

from breakfall.vocab import ALTERNATIVES, Effect, Failed, IdempotencyKind, Ok


@pytest.fixture(scope="module")
def tools(world):
    return world.tools(ALTERNATIVES)


@pytest.fixture(scope="module")
def first(moments, tools):
    """For every write that the gold plans make, the first moment."""
    found = {}
    for moment in moments:
        if tools[moment.tool].writes:
            found.setdefault(moment.tool, moment)
    return found


def test_idempotency_is_what_the_tool_says(first, tools):
    """Without protection a repeat happens twice; with a key it is replayed; by nature it changes nothing."""
    kinds = set()
    for name, moment in first.items():
        idempotency, bench, arguments = tools[name].idempotency, moment.bench(), dict(moment.arguments)
        if idempotency.kind is IdempotencyKind.KEY:
            arguments[idempotency.parameter] = "key-1"
        answer = bench.value(name, arguments)
        done = len(bench.store.effects)
        again = bench.call(name, arguments)
        if idempotency.kind is IdempotencyKind.NONE:
            assert len(bench.store.effects) == done + 1, name
            assert bench.store.effects[-1] == bench.store.effects[-2]
        else:
            assert len(bench.store.effects) == done, name
            assert again.value == answer
            assert again.replayed == (idempotency.kind is IdempotencyKind.KEY)
        kinds.add(idempotency.kind)
    assert kinds == set(IdempotencyKind)


@pytest.mark.parametrize("name", ["create_return", "redeem_gift_card"])
def test_without_a_key_it_happens_twice(moments, name):
    """The same call without a key really does it again, as long as there is something left to do."""
    bench, arguments = next(
        (bench, moment.arguments)
        for moment in moments
        if moment.tool == name and _enough_for_two(bench := moment.bench(), moment.arguments)
    )
    bench.value(name, arguments)
    bench.value(name, arguments)
    assert len([effect for effect in bench.store.effects if effect.tool == name]) == 2


def _enough_for_two(bench, arguments):
    lines = bench.value("get_order", {"order_id": arguments["order_id"]})["items"]
    wanted = {item["sku"]: item["quantity"] for item in arguments.get("items", ())}
    return all(line["quantity"] >= 2 * wanted[line["sku"]] for line in lines if line["sku"] in wanted)


def test_a_key_is_for_one_call_and_for_its_window(first, tools):
    """A key with other arguments is refused; once the window has passed, the key is new."""
    moment = first["redeem_gift_card"]
    bench, arguments = moment.bench(), moment.arguments | {"idempotency_key": "k"}
    bench.value("redeem_gift_card", arguments)
    other = bench.call("redeem_gift_card", arguments | {"amount": 1.25})
    assert (other.status, other.message.partition(":")[0]) == (409, "key_reused")
    bench.clock.seconds += tools["redeem_gift_card"].idempotency.window_s
    assert not bench.call("redeem_gift_card", arguments).replayed
    assert len([effect for effect in bench.store.effects if effect.tool == "redeem_gift_card"]) == 2


def test_a_refused_call_leaves_its_key_free(first):
    """A key that came with a refused call can be used again."""
    moment = first["redeem_gift_card"]
    bench = moment.bench()
    refused = bench.call("redeem_gift_card", moment.arguments | {"amount": 99_999.0, "idempotency_key": "k"})
    assert isinstance(refused, Failed)
    assert isinstance(bench.call("redeem_gift_card", moment.arguments | {"idempotency_key": "k"}), Ok)


REFUSALS = [
    ("cancel_order", {"order_id": "shipped", "reason": "changed_mind"}, 409, "order_shipped"),
    ("request_cancellation", {"order_id": "delivered", "reason": "changed_mind"}, 409, "order_delivered"),
    ("cancel_order", {"order_id": "O1", "reason": "changed_mind"}, 404, "order_not_found"),
    ("apply_coupon", {"order_id": "pending", "code": "expired"}, 422, "coupon_expired"),
    ("apply_coupon", {"order_id": "pending", "code": "NONE5"}, 404, "coupon_not_found"),
    ("change_item", {"order_id": "pending", "sku": "X", "new_sku": "LAM104-1"}, 404, "item_not_in_order"),
    ("refund_to_card", {"order_id": "delivered", "amount": 9999.0, "reason": "damaged"}, 403, "approval_required"),
    ("refund_to_card", {"order_id": "unpaid", "amount": 1.0, "reason": "damaged"}, 422, "refund_exceeds_payment"),
    ("refund_to_card", {"order_id": "delivered", "amount": 1.005, "reason": "damaged"}, 422, "bad_amount"),
    (
        "refund_as_credit",
        {"order_id": "delivered", "amount": 1.0, "reason": "damaged", "approval_code": "AP1"},
        403,
        "approval_not_valid",
    ),
    ("grant_credit", {"customer_id": "C1001", "amount": 25.01, "reason": "late_delivery"}, 403, "credit_over_limit"),
    ("redeem_gift_card", {"order_id": "unpaid", "code": "GC-0", "amount": 1.0}, 404, "gift_card_not_found"),
    ("create_return", {"order_id": "pending", "items": "one", "reason": "damaged"}, 409, "order_pending"),
    ("create_return", {"order_id": "delivered", "items": "one", "reason": "damaged"}, 409, "nothing_left_to_return"),
    ("place_order", {"customer_id": "C1001", "items": "sold out", "payment_method": "card"}, 409, "out_of_stock"),
    ("place_order", {"customer_id": "C1001", "items": "twice", "payment_method": "card"}, 422, "sku_twice"),
    ("place_order", {"customer_id": "C0", "items": "one", "payment_method": "card"}, 404, "customer_not_found"),
    (
        "send_message",
        {"customer_id": "C1001", "topic": "order_placed", "text": "x", "order_id": "O1"},
        404,
        "order_not",
    ),
    ("transfer_to_human", {"customer_id": "C0", "reason": "other", "summary": "x"}, 404, "customer_not_found"),
    ("get_shipment", {"order_id": "pending"}, 404, "shipment_not_found"),
    ("find_customer_by_name", {"name": "No One", "postcode": "1"}, 404, "customer_not_found"),
    ("search_orders", {"email": "no@one.example"}, 404, "customer_not_found"),
    ("get_gift_card", {"code": "GC-0"}, 404, "gift_card_not_found"),
    ("no_such_tool", {}, 404, "no_such_tool"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "code"), REFUSALS)
def test_refusals(opened, stand_ins, tool, arguments, status, code):
    """What the store does not do it refuses with a status and a code, and nothing is applied."""
    bench = opened()
    refused = bench.call(tool, {name: stand_ins.get(value, value) for name, value in arguments.items()})
    assert isinstance(refused, Failed)
    assert (refused.status, refused.kind) == (status, None)
    assert refused.message.startswith(code), refused.message
    assert f'"code":"{code}' in refused.body
    assert not bench.store.effects


@pytest.fixture(scope="module")
def stand_ins():
    """The ids that the refusals above speak of."""
    from breakfall.worlds.store.base import base
    from breakfall.worlds.store.calendar import stamp
    from breakfall.worlds.store.records import Coupon, Order, Variant

    made = base().records
    found = {order.status: order.order_id for order in made[Order].values()}
    found["unpaid"] = found.pop("awaiting_payment")
    found["expired"] = next(coupon.code for coupon in made[Coupon].values() if coupon.valid_until < stamp(0))
    sold_out = next(variant.sku for variant in made[Variant].values() if not variant.available)
    found["sold out"] = [{"sku": sold_out, "quantity": 1}]
    found["one"] = [{"sku": "X", "quantity": 1}]
    found["twice"] = [{"sku": "LAM104-1", "quantity": 1}, {"sku": "LAM104-1", "quantity": 2}]
    return found


def test_other_refusals_of_gift_cards_coupons_and_items(first):
    """More than is due, more than the card holds, a second coupon, too small an order, another product: refused."""
    moment = first["redeem_gift_card"]
    bench = moment.bench()
    due = bench.value("get_order", {"order_id": moment.arguments["order_id"]})["balance_due"]
    assert bench.call("redeem_gift_card", moment.arguments | {"amount": due + 1}).message.startswith("more_than_due")
    empty = min(_gift_cards(bench), key=lambda card: card["balance"])
    outcome = bench.call("redeem_gift_card", moment.arguments | {"code": empty["code"], "amount": due})
    assert outcome.message.startswith("balance_too_low")
    moment = first["apply_coupon"]
    bench = moment.bench()
    bench.value("apply_coupon", moment.arguments)
    outcome = bench.call("apply_coupon", moment.arguments | {"code": _valid_coupon(moment.arguments["code"])})
    assert outcome.message.startswith("coupon_already_used")
    moment = first["change_item"]
    other = next(sku for sku in moment.bench().store.ids("variant") if sku[3:6] != moment.arguments["sku"][3:6])
    outcome = moment.bench().call("change_item", moment.arguments | {"new_sku": other})
    assert outcome.message.startswith("other_product")


def _gift_cards(bench):
    return [bench.value("get_gift_card", {"code": code}) for code in bench.store.ids("gift_card")[:200]]


def _valid_coupon(not_this):
    from breakfall.worlds.store.base import base
    from breakfall.worlds.store.calendar import stamp
    from breakfall.worlds.store.records import Coupon

    coupons = base().records[Coupon].values()
    return next(coupon.code for coupon in coupons if coupon.valid_until > stamp(0) and coupon.code != not_this)


def test_effects_carry_no_more_than_matters(first, tools):
    """Every write logs one effect, under its tool, whose details two equivalent tools agree on."""
    for name, moment in first.items():
        bench = moment.bench()
        before = len(bench.store.effects)
        bench.value(name, moment.arguments)
        (effect,) = bench.store.effects[before:]
        assert effect.tool == name
        assert not {"reason", "method", "channel", "text"} & set(effect.details) or name in {
            "grant_credit",
            "transfer_to_human",
        }
    irreversible = {name for name, tool in tools.items() if tool.effect is Effect.IRREVERSIBLE}
    assert irreversible == {
        "cancel_order",
        "request_cancellation",
        "refund_to_card",
        "refund_as_credit",
        "redeem_gift_card",
    }


def test_cancelling_gives_stock_and_money_back(first):
    """A cancelled order's goods can be sold again and its payments are voided."""
    moment = next(entry for name, entry in first.items() if name == "cancel_order")
    bench, order_id = moment.bench(), moment.arguments["order_id"]
    line = bench.value("get_order", {"order_id": order_id})["items"][0]
    before = bench.value("get_stock", {"sku": line["sku"]})["available"]
    bench.value("cancel_order", moment.arguments)
    assert bench.value("get_stock", {"sku": line["sku"]})["available"] == before + line["quantity"]
    account = bench.value("list_payments", {"order_id": order_id})
    assert account["paid"] == 0
    assert {payment["status"] for payment in account["payments"]} <= {"voided"}


def test_store_credit_stands_in_the_wallet(moments, opened):
    """A refund as store credit raises the wallet's credit by its amount and what is refundable falls by it."""
    moment = next(entry for entry in moments if entry.tool == "refund_to_card")
    bench = moment.bench()
    order_id, amount = moment.arguments["order_id"], moment.arguments["amount"]
    owner = {"customer_id": bench.value("get_order", {"order_id": order_id})["customer_id"]}
    before = bench.value("get_wallet", owner)["store_credit"]
    account = bench.value("list_payments", {"order_id": order_id})
    code = {"approval_code": moment.context["approval_code"]}
    bench.value("refund_as_credit", moment.arguments | code)
    assert bench.value("get_wallet", owner)["store_credit"] == pytest.approx(before + amount, abs=1e-9)
    left = bench.value("list_payments", {"order_id": order_id})["refundable"]
    assert left == pytest.approx(account["refundable"] - amount, abs=1e-9)


def test_a_gift_card_that_covers_everything_settles_the_order(first):
    """An order whose whole balance is paid from a gift card is no longer awaiting payment."""
    moment = first["redeem_gift_card"]
    bench, order_id = moment.bench(), moment.arguments["order_id"]
    due = bench.value("get_order", {"order_id": order_id})["balance_due"]
    rich = max(_gift_cards(bench), key=lambda card: card["balance"])
    assert rich["balance"] >= due
    bench.value("redeem_gift_card", {"order_id": order_id, "code": rich["code"], "amount": due})
    order = bench.value("get_order", {"order_id": order_id})
    assert (order["status"], order["balance_due"]) == ("pending", 0)


def test_an_item_is_not_swapped_for_one_that_is_sold_out(first):
    """Swapping an item needs as many of the other in stock."""
    moment = first["change_item"]
    bench, new = moment.bench(), moment.arguments["new_sku"]
    left = bench.value("get_stock", {"sku": new})["available"]
    owner = moment.task.details["owner"]
    while left:
        take = min(left, 50)
        items = [{"sku": new, "quantity": take}]
        bench.value("place_order", {"customer_id": owner, "items": items, "payment_method": "card"})
        left -= take
    assert bench.call("change_item", moment.arguments).message.startswith("out_of_stock")


def test_a_coupon_needs_its_minimum(opened):
    """A coupon is refused for an order below its minimum."""
    from breakfall.worlds.store.base import base
    from breakfall.worlds.store.calendar import stamp
    from breakfall.worlds.store.records import Coupon, Order

    coupon = max(
        (entry for entry in base().records[Coupon].values() if entry.valid_until > stamp(0)),
        key=lambda entry: entry.minimum,
    )
    pending = [entry for entry in base().records[Order].values() if entry.status == "pending"]
    order = min(pending, key=lambda entry: entry.subtotal)
    assert order.subtotal < coupon.minimum
    outcome = opened().call("apply_coupon", {"order_id": order.order_id, "code": coupon.code})
    assert outcome.message.startswith("below_minimum")


def test_an_approval_lifts_the_limit(world, opened):
    """A refund above the limit goes through with the order's approval code, and with no other."""
    task = next(task for task in world.tasks("train", 60) if task.template == "refund_over_limit")
    bench, order_id = opened(task), task.facts["order_id"]
    amount = bench.value("list_payments", {"order_id": order_id})["refundable"]
    refund = {"order_id": order_id, "amount": amount, "reason": "damaged"}
    wrong = bench.call("refund_to_card", refund | {"approval_code": "AP10001"})
    assert wrong.message.startswith("approval_not_valid")
    bench.value("refund_to_card", refund | {"approval_code": f"AP{order_id[1:]}"})
    assert bench.value("list_payments", {"order_id": order_id})["refundable"] == 0


def test_people_can_be_handed_over_unknown(opened):
    """A transfer needs no known customer, and a message need not be about an order."""
    bench = opened()
    bench.value("transfer_to_human", {"reason": "other", "summary": "nobody found"})
    bench.value("send_message", {"customer_id": "C1001", "topic": "credit_granted", "text": "x"})
    assert [effect.target for effect in bench.store.effects] == ["customer:unknown", "customer:C1001"]
