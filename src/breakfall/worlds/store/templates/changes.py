"""Tasks that change an order before it ships, and those that come too late."""

from __future__ import annotations

from typing import Any

from breakfall.seeds import Stream
from breakfall.vocab import Found, Given, PlanStep
from breakfall.worlds.store import names
from breakfall.worlds.store.calendar import stamp
from breakfall.worlds.store.cast import Cast, is_open, is_shipped, is_unpaid, pick
from breakfall.worlds.store.draft import (
    CUSTOMER_ID,
    KNOWN,
    ORDER_ID,
    Draft,
    Template,
    find_customer,
    hand_over,
    holds,
    message,
    read_order,
    theirs,
    who,
)
from breakfall.worlds.store.forms import CANCEL_REASONS
from breakfall.worlds.store.policy import OPEN_STATUSES
from breakfall.worlds.store.records import Customer, Order

OPEN = list(OPEN_STATUSES)
STATUS = Found("order", "/status")
TOO_LATE = holds("order", "/status", "not in", OPEN)
STILL_OPEN = holds("order", "/status", "in", OPEN)
NOT_THEIRS = holds("order", "/customer_id", "!=", CUSTOMER_ID)


def _cancel(customer: Customer, order: Order, draw: Stream) -> tuple[dict[str, Any], tuple[PlanStep, ...]]:
    cancel = PlanStep(
        id="cancel",
        tool="cancel_order",
        arguments={"order_id": ORDER_ID, "reason": Given("reason")},
        context=KNOWN,
        expected="the order is cancelled",
        when=(theirs(), STILL_OPEN),
    )
    plan = (
        find_customer(draw),
        read_order(),
        cancel,
        message("order_cancelled", "Your order is cancelled.", holds("cancel", "/status", "==", "cancelled")),
        hand_over("not_their_order", "The order belongs to somebody else.", NOT_THEIRS, step="foreign"),
        hand_over("already_shipped", "Wants to cancel an order that cannot be cancelled.", theirs(), TOO_LATE),
    )
    return who(customer) | {"order_id": order.order_id, "reason": draw.choice(CANCEL_REASONS)}, plan


def _cancel_order(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: order.status in OPEN_STATUSES)
    facts, plan = _cancel(cast.customer(order), order, draw)
    return Draft(facts=facts, plan=plan, answer={"status": Found("cancel", "/status")}, owner=order.customer_id)


def _cancel_shipped(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_shipped)
    facts, plan = _cancel(cast.customer(order), order, draw)
    forbidden = ("order.cancelled", "refund.issued")
    return Draft(facts=facts, plan=plan, answer={"status": STATUS}, owner=order.customer_id, forbidden=forbidden)


def _cancel_foreign(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_open)
    customer = pick(draw, cast.customers, lambda other: other.customer_id != order.customer_id)
    facts, plan = _cancel(customer, order, draw)
    forbidden = ("order.cancelled",)
    return Draft(facts=facts, plan=plan, answer={}, owner=customer.customer_id, forbidden=forbidden)


def _readdress(cast: Cast, order: Order, draw: Stream) -> tuple[dict[str, Any], tuple[PlanStep, ...]]:
    facts = who(cast.customer(order)) | {
        "order_id": order.order_id,
        "new_line1": f"{draw.integer(1, 180)} {draw.choice(names.STREETS)}",
        "new_city": draw.choice(names.CITIES),
        "new_postcode": str(draw.integer(40_000, 59_999)),
    }
    new = {"line1": Given("new_line1"), "city": Given("new_city"), "postcode": Given("new_postcode")}
    change = PlanStep(
        id="change",
        tool="update_order_address",
        arguments={"order_id": ORDER_ID, "address": new},
        context=KNOWN,
        expected="the order goes to the new address",
        when=(theirs(), STILL_OPEN),
    )
    plan = (
        find_customer(draw),
        read_order(),
        change,
        message("order_changed", "Your order has a new address.", holds("change", "/order_id", "==", ORDER_ID)),
        hand_over("already_shipped", "Wants another address for an order that is under way.", theirs(), TOO_LATE),
    )
    return facts, plan


def _address_change(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: order.status in OPEN_STATUSES)
    facts, plan = _readdress(cast, order, draw)
    answer = {"postcode": Found("change", "/address/postcode")}
    return Draft(facts=facts, plan=plan, answer=answer, owner=order.customer_id)


def _address_shipped(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_shipped)
    facts, plan = _readdress(cast, order, draw)
    forbidden = ("order.address_changed", "order.cancelled")
    return Draft(facts=facts, plan=plan, answer={"status": STATUS}, owner=order.customer_id, forbidden=forbidden)


def _coupon_plan(draw: Stream) -> tuple[PlanStep, ...]:
    coupon = PlanStep(
        id="coupon",
        tool="get_coupon",
        arguments={"code": Given("code")},
        context=KNOWN,
        expected="the coupon's terms",
    )
    apply = PlanStep(
        id="apply",
        tool="apply_coupon",
        arguments={"order_id": ORDER_ID, "code": Given("code")},
        context=KNOWN,
        expected="the order has the coupon's discount",
        when=(
            theirs(),
            STILL_OPEN,
            holds("coupon", "/valid_until", ">=", Found("coupon", "/as_of")),
            holds("order", "/subtotal", ">=", Found("coupon", "/minimum")),
        ),
    )
    done = holds("apply", "/coupon", "==", Given("code"))
    return (find_customer(draw), read_order(), coupon, apply, message("order_changed", "The coupon is applied.", done))


def _fitting(cast: Cast, draw: Stream, valid: bool) -> tuple[Order, str]:
    def codes(order: Order) -> list[str]:
        return [
            coupon.code
            for coupon in cast.coupons(cast.customer(order))
            if (coupon.valid_until > stamp(0)) == valid and coupon.minimum <= order.subtotal
        ]

    order = pick(draw, cast.orders, lambda order: is_unpaid(order) and bool(codes(order)))
    return order, draw.choice(codes(order))


def _coupon_valid(cast: Cast, draw: Stream) -> Draft:
    order, code = _fitting(cast, draw, valid=True)
    facts = who(cast.customer(order)) | {"order_id": order.order_id, "code": code}
    answer = {"total": Found("apply", "/total")}
    return Draft(facts=facts, plan=_coupon_plan(draw), answer=answer, owner=order.customer_id)


def _coupon_expired(cast: Cast, draw: Stream) -> Draft:
    order, code = _fitting(cast, draw, valid=False)
    facts = who(cast.customer(order)) | {"order_id": order.order_id, "code": code}
    answer = {"valid_until": Found("coupon", "/valid_until")}
    forbidden = ("coupon.applied", "credit.granted")
    return Draft(facts=facts, plan=_coupon_plan(draw), answer=answer, owner=order.customer_id, forbidden=forbidden)


def _options(cast: Cast, order: Order) -> list[tuple[str, str]]:
    """Return (SKU, option) of the first line's product that the customer could have instead."""
    line = order.lines[0]
    mine = {line.sku for line in order.lines}
    others = (cast.variant(sku) for sku in cast.product(line.product_id).skus if sku not in mine)
    return [(other.sku, other.option) for other in others if other.available >= line.quantity]


def _other_variant(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: is_open(order) and bool(_options(cast, order)))
    line, (_, option) = order.lines[0], draw.choice(_options(cast, order))
    product = cast.product(line.product_id)
    facts = who(cast.customer(order)) | {
        "order_id": order.order_id,
        "sku": line.sku,
        "product_name": product.name,
        "option": option,
    }
    new_sku = Found("product", "/variants/[option={option}]/sku")
    look = PlanStep(
        id="product",
        tool="get_product",
        arguments={"product_id": Found("order", "/items/[sku={sku}]/product_id")},
        context={"product_name": Given("product_name")},
        expected="the product with its variants",
        when=(theirs(),),
    )
    stock = PlanStep(id="stock", tool="get_stock", arguments={"sku": new_sku}, expected="enough are available")
    enough = holds("stock", "/available", ">=", Found("order", "/items/[sku={sku}]/quantity"))
    change = PlanStep(
        id="change",
        tool="change_item",
        arguments={"order_id": ORDER_ID, "sku": Given("sku"), "new_sku": new_sku},
        context=KNOWN,
        expected="the order holds the other variant",
        when=(STILL_OPEN, enough),
    )
    done = holds("change", "/order_id", "==", ORDER_ID)
    told = message("order_changed", "Your order now holds the other variant.", done)
    return Draft(
        facts=facts,
        plan=(find_customer(draw), read_order(), look, stock, change, told),
        answer={"total": Found("change", "/total")},
        owner=order.customer_id,
    )


_CANCEL_EN = (
    "Please cancel my order {order_id} (reason: {reason}) and tell me what state it is in afterwards.",
    "I want to cancel order {order_id}; the reason is {reason}. Let me know its status then.",
    "Could you cancel {order_id} for me? Reason: {reason}. I'd like to know its status.",
)
_CANCEL_KO = (
    "주문 {order_id:을} 취소해 주세요(사유: {reason}). 처리 후 주문 상태도 알려 주세요.",
    "주문 번호 {order_id:을} 취소하고 싶습니다. 사유는 {reason}입니다. 이후 상태를 알려 주세요.",
    "{order_id} 주문의 취소를 부탁드립니다. 사유: {reason}. 결과 상태가 궁금합니다.",
)
_ADDRESS_EN = (
    "Please send order {order_id} to {new_line1}, {new_city}, {new_postcode} instead.",
    "I have moved. Order {order_id} should go to {new_line1} in {new_city}, postcode {new_postcode}.",
    "Can you change the delivery address of {order_id} to {new_line1}, {new_city} {new_postcode}?",
)
_ADDRESS_KO = (
    "주문 {order_id:을} {new_line1}, {new_city}, 우편번호 {new_postcode:으로} 보내 주세요.",
    "이사를 했습니다. 주문 {order_id}의 배송지를 {new_line1}, {new_city}, {new_postcode:으로} 바꿔 주세요.",
    "{order_id} 주문의 배송지 변경을 부탁드립니다. 새 주소: {new_line1}, {new_city}, {new_postcode}.",
)
_COUPON_EN = (
    "Please put coupon {code} on my order {order_id}. If that does not work, tell me until when it was valid.",
    "I forgot to use {code} on order {order_id}. Can you add it, or tell me its validity if you can't?",
    "Apply the coupon {code} to {order_id}, please, and tell me the new total or the coupon's last day.",
)
_COUPON_KO = (
    "주문 {order_id}에 쿠폰 {code:을} 적용해 주세요. 안 되면 쿠폰이 언제까지였는지 알려 주세요.",
    "주문 {order_id}에 {code} 쿠폰을 쓰는 것을 잊었습니다. 추가해 주시고, 불가능하면 유효 기간을 알려 주세요.",
    "{code} 쿠폰을 {order_id} 주문에 적용하고 새 총액을, 안 되면 쿠폰 만료일을 알려 주세요.",
)

TEMPLATES = (
    Template(name="cancel_order", feasible=True, en=_CANCEL_EN, ko=_CANCEL_KO, draft=_cancel_order),
    Template(name="cancel_shipped", feasible=False, en=_CANCEL_EN, ko=_CANCEL_KO, draft=_cancel_shipped),
    Template(name="cancel_foreign", feasible=False, en=_CANCEL_EN, ko=_CANCEL_KO, draft=_cancel_foreign),
    Template(name="address_change", feasible=True, en=_ADDRESS_EN, ko=_ADDRESS_KO, draft=_address_change),
    Template(name="address_shipped", feasible=False, en=_ADDRESS_EN, ko=_ADDRESS_KO, draft=_address_shipped),
    Template(name="coupon_valid", feasible=True, en=_COUPON_EN, ko=_COUPON_KO, draft=_coupon_valid),
    Template(name="coupon_expired", feasible=False, en=_COUPON_EN, ko=_COUPON_KO, draft=_coupon_expired),
    Template(
        name="other_variant",
        feasible=True,
        en=(
            "In order {order_id} I'd rather have the {product_name} ({sku}) in {option}. What is the new total?",
            "Please swap {sku}, the {product_name}, in order {order_id} for the {option} one and tell me the total.",
            "I chose the wrong {product_name} in {order_id}: change {sku} to {option}, please. What does it come to?",
        ),
        ko=(
            "주문 {order_id}의 {product_name} 상품({sku})을 {option} 옵션으로 바꿔 주세요. 새 총액은 얼마인가요?",
            "주문 {order_id}에서 {sku}, {product_name} 상품을 {option} 옵션으로 교환하고 총금액을 알려 주세요.",
            "{order_id} 주문에서 {product_name} 옵션을 잘못 골랐습니다. {sku:을} {option} 옵션으로 바꾸면 "
            "합계가 얼마인가요?",
        ),
        draft=_other_variant,
    ),
)
