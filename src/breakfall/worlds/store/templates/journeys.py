"""Long tasks: several requests of one customer in one."""

from __future__ import annotations

from msgspec.structs import replace

from breakfall.seeds import Stream
from breakfall.vocab import Found, Given, PlanStep
from breakfall.worlds.store import names
from breakfall.worlds.store.cast import Cast, is_open, is_returnable, pick
from breakfall.worlds.store.draft import (
    CUSTOMER_ID,
    KNOWN,
    ORDER_ID,
    Draft,
    Template,
    find_customer,
    holds,
    message,
    read_order,
    theirs,
    who,
)
from breakfall.worlds.store.forms import CANCEL_REASONS, RETURN_REASONS
from breakfall.worlds.store.records import Customer, Order, Variant
from breakfall.worlds.store.templates.changes import OPEN
from breakfall.worlds.store.templates.purchases import confirm, place, stock
from breakfall.worlds.store.templates.refunds import ITEM, REFUNDED, RETURNED, approval, payments, refund, send_back

ORDERS = PlanStep(
    id="orders",
    tool="list_customer_orders",
    arguments={"customer_id": CUSTOMER_ID},
    context=KNOWN,
    expected="all orders, newest first",
)


def _others(cast: Cast, order: Order) -> list[Variant]:
    line = order.lines[0]
    found = (cast.variant(sku) for sku in cast.product(line.product_id).skus if sku != line.sku)
    return [variant for variant in found if variant.available >= 1]


def _exchange(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: is_returnable(order) and bool(_others(cast, order)))
    line, option = order.lines[0], draw.choice(_others(cast, order)).option
    product = cast.product(line.product_id)
    facts = who(cast.customer(order)) | {
        "order_id": order.order_id,
        "sku": line.sku,
        "reason": draw.choice(RETURN_REASONS),
        "product_name": product.name,
        "option": option,
        "approval_code": approval(order),
    }
    look = PlanStep(
        id="product",
        tool="get_product",
        arguments={"product_id": Found("order", f"{ITEM}/product_id")},
        context={"product_name": Given("product_name")},
        expected="the product with its variants",
    )
    sku = Found("product", "/variants/[option={option}]/sku")
    plan = (
        find_customer(draw),
        read_order(),
        send_back(),
        payments(),
        refund(Found("order", f"{ITEM}/line_total"), "returned", RETURNED),
        message("refund_issued", "Your refund is on its way.", REFUNDED),
        look,
        stock(sku),
        place([{"sku": sku, "quantity": 1}], REFUNDED, holds("stock", "/available", ">=", 1)),
        confirm(),
    )
    answer = {"refund": Found("refund", "/amount"), "total": Found("place", "/total")}
    return Draft(facts=facts, plan=plan, answer=answer, owner=order.customer_id)


def _open_orders(cast: Cast, customer: Customer) -> list[Order]:
    return [order for order in cast.orders_of(customer) if order.status in OPEN]


def _move_house(cast: Cast, draw: Stream) -> Draft:
    customer = pick(draw, cast.customers, lambda customer: len(_open_orders(cast, customer)) >= 2)
    first, second = draw.sample(_open_orders(cast, customer), 2)
    facts = who(customer) | {
        "order_id": first.order_id,
        "other_id": second.order_id,
        "new_line1": f"{draw.integer(1, 180)} {draw.choice(names.STREETS)}",
        "new_city": draw.choice(names.CITIES),
        "new_postcode": str(draw.integer(40_000, 59_999)),
    }
    new = {"line1": Given("new_line1"), "city": Given("new_city"), "postcode": Given("new_postcode")}
    steps: list[PlanStep] = []
    for nth, fact in (("a", ORDER_ID), ("b", Given("other_id"))):
        change = PlanStep(
            id=f"change_{nth}",
            tool="update_order_address",
            arguments={"order_id": fact, "address": new},
            context=KNOWN,
            expected="the order goes to the new address",
            when=(theirs(f"order_{nth}"), holds(f"order_{nth}", "/status", "in", OPEN)),
        )
        told = holds(change.id, "/order_id", "==", fact)
        text = "Your order has a new address."
        steps += [
            read_order(fact, f"order_{nth}"),
            change,
            message("order_changed", text, told, fact, f"message_{nth}"),
        ]
    answer = {
        "count": Found("orders", "/count"),
        "first_total": Found("order_a", "/total"),
        "second_total": Found("order_b", "/total"),
    }
    return Draft(facts=facts, plan=(find_customer(draw), ORDERS, *steps), answer=answer, owner=customer.customer_id)


def _clear_out(cast: Cast, draw: Stream) -> Draft:
    def fits(customer: Customer) -> bool:
        orders = cast.orders_of(customer)
        return any(map(is_open, orders)) and any(map(is_returnable, orders))

    customer = pick(draw, cast.customers, fits)
    pending = draw.choice([order for order in cast.orders_of(customer) if is_open(order)])
    delivered = draw.choice([order for order in cast.orders_of(customer) if is_returnable(order)])
    facts = who(customer) | {
        "open_id": pending.order_id,
        "order_id": delivered.order_id,
        "tracking_number": cast.shipment(delivered).tracking_number,
        "sku": draw.choice(delivered.lines).sku,
        "cancel_reason": draw.choice(CANCEL_REASONS),
        "reason": draw.choice(RETURN_REASONS),
        "approval_code": approval(delivered),
    }
    plan = (find_customer(draw), ORDERS, *_cancel_open(), *_return_delivered())
    answer = {
        "open_status": Found("cancel", "/status"),
        "refund": Found("refund", "/amount"),
        "still_refundable": Found("invoice", "/refundable"),
    }
    return Draft(facts=facts, plan=plan, answer=answer, owner=customer.customer_id)


def _cancel_open() -> tuple[PlanStep, ...]:
    open_id = Given("open_id")
    cancel = PlanStep(
        id="cancel",
        tool="cancel_order",
        arguments={"order_id": open_id, "reason": Given("cancel_reason")},
        context=KNOWN,
        expected="the order is cancelled",
        when=(theirs("open"), holds("open", "/status", "in", OPEN)),
    )
    done = holds("cancel", "/status", "==", "cancelled")
    told = message("order_cancelled", "Your order is cancelled.", done, open_id, "message_cancel")
    return read_order(open_id, "open"), cancel, told


def _return_delivered() -> tuple[PlanStep, ...]:
    shipment = PlanStep(
        id="shipment",
        tool="get_shipment",
        arguments={"order_id": ORDER_ID},
        context={"tracking_number": Given("tracking_number")},
        expected="the parcel has arrived",
    )
    arrived = holds("shipment", "/status", "==", "delivered")
    back = send_back()
    invoice = PlanStep(
        id="invoice",
        tool="get_invoice",
        arguments={"order_id": ORDER_ID},
        context=KNOWN,
        expected="what could still be refunded",
        when=(REFUNDED,),
    )
    return (
        read_order(),
        shipment,
        replace(back, when=(arrived, *back.when)),
        payments(),
        refund(Found("order", f"{ITEM}/line_total"), "returned", RETURNED),
        message("refund_issued", "Your refund is on its way.", REFUNDED),
        invoice,
    )


TEMPLATES = (
    Template(
        name="exchange",
        feasible=True,
        en=(
            "The {product_name} ({sku}) in order {order_id} has to go back, all of it ({reason}). Please "
            "refund that line "
            "(store credit is fine, approval {approval_code}) and then order one in {option} on my card. "
            "Tell me the refund and the new total.",
            "Exchange, please: return every {sku} ({product_name}) of {order_id}, reason {reason}, refund it "
            "(a shift lead allows store credit, {approval_code}), buy one {option} by card, and give me both amounts.",
        ),
        ko=(
            "주문 {order_id}의 {product_name} 상품({sku})을 전량 반품하고(사유: {reason}) 환불해 주세요. "
            "적립금도 괜찮습니다"
            "(승인 코드 {approval_code}). 그다음 {option} 옵션 1개를 카드로 주문하고 환불액과 새 총액을 알려 주세요.",
            "교환하고 싶습니다. {order_id} 주문의 {sku}({product_name}) 전부 반품, 사유 {reason}, 환불 후(적립금 승인 "
            "{approval_code}) {option} 옵션 1개를 카드로 다시 주문해 주시고 두 금액을 알려 주세요.",
        ),
        draft=_exchange,
    ),
    Template(
        name="move_house",
        feasible=True,
        en=(
            "I'm moving to {new_line1}, {new_city}, {new_postcode}. Send orders {order_id} and {other_id} "
            "there, please. "
            "How many orders do I have in all, and what are the totals of these two?",
            "New address from now on: {new_line1}, {new_city} {new_postcode}. It goes for {order_id} and {other_id}. "
            "I also need the totals of both and the number of all my orders.",
        ),
        ko=(
            "{new_line1}, {new_city}, {new_postcode:으로} 이사합니다. 주문 {order_id:과} {other_id:을} "
            "그곳으로 보내 주세요. "
            "전체 주문 건수와 두 주문의 총액도 알려 주세요.",
            "새 주소는 {new_line1}, {new_city}, {new_postcode}입니다. 주문 {order_id:과} {other_id}의 "
            "배송지를 바꿔 주시고, "
            "두 주문의 합계와 제 주문이 모두 몇 건인지 알려 주세요.",
        ),
        draft=_move_house,
    ),
    Template(
        name="clear_out",
        feasible=True,
        en=(
            "Two things. Cancel my open order {open_id} ({cancel_reason}). And from order {order_id} (parcel "
            "{tracking_number}) I'm sending back all of {sku} ({reason}); refund it to my card, or as store "
            "credit under "
            "approval {approval_code}. Tell me the status of the first, the refund, and what could still be refunded.",
            "Please cancel {open_id}, reason {cancel_reason}. Then take back every {sku} of {order_id}, tracking "
            "{tracking_number}, reason {reason}, and refund it (store credit approved: {approval_code}). I need the "
            "cancelled order's status, the amount refunded and the rest that is refundable.",
        ),
        ko=(
            "두 가지 부탁입니다. 아직 발송 전인 주문 {open_id:을} 취소해 주세요(사유: {cancel_reason}). "
            "그리고 주문 {order_id}"
            "(운송장 {tracking_number})의 {sku} 상품을 전부 반품하고(사유: {reason}) 카드로, 안 되면 승인 "
            "코드 {approval_code:으로} "
            "적립금 환불해 주세요. 첫 주문의 상태, 환불액, 아직 환불 가능한 금액을 알려 주세요.",
            "주문 {open_id:을} 취소하고(사유: {cancel_reason}), 주문 {order_id}(운송장 {tracking_number})의 "
            "{sku:을} 모두 "
            "반품 접수한 뒤(사유: {reason}) 환불해 주세요. 적립금 승인 코드는 {approval_code}입니다. 취소된 "
            "주문의 상태와 "
            "환불액, 남은 환불 가능 금액이 필요합니다.",
        ),
        draft=_clear_out,
    ),
)
