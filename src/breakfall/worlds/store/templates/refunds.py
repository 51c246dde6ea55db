"""Tasks about returns, refunds and goodwill."""

from __future__ import annotations

from typing import Any

from breakfall.seeds import Stream
from breakfall.vocab import Condition, Found, Given, PlanStep
from breakfall.worlds.store.cast import Cast, is_returnable, is_too_old, pick
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
from breakfall.worlds.store.forms import RETURN_REASONS
from breakfall.worlds.store.policy import LATE_CREDIT, REFUND_LIMIT
from breakfall.worlds.store.records import Order

ITEM = "/items/[sku={sku}]"
WHOLE_LINE = Found("order", f"{ITEM}/quantity")
IN_TIME = holds("order", "/return_until", ">=", Found("order", "/as_of"))
TOO_LATE = holds("order", "/return_until", "<", Found("order", "/as_of"))
LIMIT = REFUND_LIMIT / 100
APPROVED = KNOWN | {"approval_code": Given("approval_code")}


def approval(order: Order) -> str:
    """Return the approval code that a shift lead has given for an order's store credit."""
    return f"AP{order.order_id[1:]}"


def send_back(quantity: Any = WHOLE_LINE) -> PlanStep:
    """Create the return of one line, or of a part of it."""
    return PlanStep(
        id="return",
        tool="create_return",
        arguments={
            "order_id": ORDER_ID,
            "items": [{"sku": Given("sku"), "quantity": quantity}],
            "reason": Given("reason"),
        },
        context=KNOWN,
        expected="the return is expected in the warehouse",
        when=(
            theirs(),
            IN_TIME,
        ),
    )


def payments() -> PlanStep:
    """Read what can still be refunded."""
    return PlanStep(
        id="payments",
        tool="list_payments",
        arguments={"order_id": ORDER_ID},
        context=KNOWN,
        expected="the payments, and what can be refunded",
    )


def refund(amount: Found, reason: str, *when: Condition) -> PlanStep:
    """Refund a found amount, if it is within the limit and covered."""
    return PlanStep(
        id="refund",
        tool="refund_to_card",
        arguments={"order_id": ORDER_ID, "amount": amount, "reason": reason},
        context=APPROVED,
        expected="the amount is back with the customer",
        when=(
            *when,
            holds(amount.step, amount.pointer, "<=", LIMIT),
            holds("payments", "/refundable", ">=", amount),
        ),
    )


REFUNDED = holds("refund", "/order_id", "==", ORDER_ID)
RETURNED = holds("return", "/status", "==", "expected")


def _facts(cast: Cast, order: Order, draw: Stream) -> dict[str, Any]:
    line = max(order.lines, key=lambda line: (line.quantity, line.sku))
    named = {"order_id": order.order_id, "sku": line.sku, "reason": draw.choice(RETURN_REASONS)}
    return who(cast.customer(order)) | named


def _return_plan(draw: Stream) -> tuple[PlanStep, ...]:
    return (
        find_customer(draw),
        read_order(),
        send_back(quantity=1),
        message("return_instructions", "Here is how to send the goods back.", RETURNED),
        hand_over("return_window_passed", "Wants to return goods after the window.", theirs(), TOO_LATE),
    )


def _return_item(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_returnable)
    facts = _facts(cast, order, draw)
    answer = {"return_until": Found("order", "/return_until")}
    return Draft(facts=facts, plan=_return_plan(draw), answer=answer, owner=order.customer_id)


def _return_too_late(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_too_old)
    return Draft(
        facts=_facts(cast, order, draw),
        plan=_return_plan(draw),
        answer={"return_until": Found("order", "/return_until")},
        owner=order.customer_id,
        forbidden=("return.created", "refund.issued"),
    )


def _return_and_refund(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_returnable)
    amount = Found("order", f"{ITEM}/line_total")
    plan = (
        find_customer(draw),
        read_order(),
        send_back(),
        payments(),
        refund(amount, "returned", RETURNED),
        message("refund_issued", "Your refund is on its way.", REFUNDED),
    )
    facts = _facts(cast, order, draw) | {"approval_code": approval(order)}
    return Draft(facts=facts, plan=plan, answer={"refund": Found("refund", "/amount")}, owner=order.customer_id)


def _damaged_refund(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, is_returnable)
    amount = Found("order", f"{ITEM}/unit_price")
    plan = (
        find_customer(draw),
        read_order(),
        payments(),
        refund(amount, "damaged", theirs(), IN_TIME),
        message("refund_issued", "Your refund is on its way.", REFUNDED),
    )
    facts = _facts(cast, order, draw) | {"reason": "damaged", "approval_code": approval(order)}
    return Draft(facts=facts, plan=plan, answer={"refund": Found("refund", "/amount")}, owner=order.customer_id)


def _refund_over_limit(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: order.status == "delivered" and order.total > REFUND_LIMIT)
    amount = Found("payments", "/refundable")
    whole = PlanStep(
        id="refund",
        tool="refund_to_card",
        arguments={"order_id": ORDER_ID, "amount": amount, "reason": "damaged"},
        context=KNOWN,
        expected="the amount is back with the customer",
        when=(theirs(), holds("payments", "/refundable", "<=", LIMIT)),
    )
    plan = (
        find_customer(draw),
        read_order(),
        payments(),
        whole,
        message("refund_issued", "Your refund is on its way.", REFUNDED),
        hand_over(
            "approval_needed",
            "Wants a refund above the limit; nobody has approved it.",
            theirs(),
            holds("payments", "/refundable", ">", LIMIT),
        ),
    )
    return Draft(
        facts=who(cast.customer(order)) | {"order_id": order.order_id},
        plan=plan,
        answer={"refundable": amount},
        owner=order.customer_id,
        forbidden=("refund.issued", "credit.granted"),
    )


def _credit_plan(draw: Stream) -> tuple[PlanStep, ...]:
    shipment = PlanStep(
        id="shipment",
        tool="get_shipment",
        arguments={"order_id": ORDER_ID},
        context={"tracking_number": Given("tracking_number")},
        expected="when the parcel was promised and when it came",
        when=(theirs(),),
    )
    promised = Found("shipment", "/promised_by")
    grant = PlanStep(
        id="credit",
        tool="grant_credit",
        arguments={"customer_id": CUSTOMER_ID, "amount": LATE_CREDIT, "reason": "late_delivery"},
        context=KNOWN,
        expected="the customer has the credit",
        when=(holds("shipment", "/delivered_at", ">", promised),),
    )
    granted = holds("credit", "/customer_id", "==", CUSTOMER_ID)
    return (
        find_customer(draw),
        read_order(),
        shipment,
        grant,
        message("credit_granted", "You have store credit for the late parcel.", granted),
        hand_over(
            "not_covered",
            "Wants credit for a parcel that came in time.",
            holds("shipment", "/delivered_at", "<=", promised),
        ),
    )


def _credit(cast: Cast, draw: Stream, late: bool) -> tuple[dict[str, Any], Order]:
    def fits(order: Order) -> bool:
        if order.status != "delivered":
            return False
        shipment = cast.shipment(order)
        return (str(shipment.delivered_at) > shipment.promised_by) == late

    order = pick(draw, cast.orders, fits)
    named = {"order_id": order.order_id, "tracking_number": cast.shipment(order).tracking_number}
    return who(cast.customer(order)) | named, order


def _late_credit(cast: Cast, draw: Stream) -> Draft:
    facts, order = _credit(cast, draw, late=True)
    answer = {"credit": Found("credit", "/amount"), "delivered_at": Found("shipment", "/delivered_at")}
    return Draft(facts=facts, plan=_credit_plan(draw), answer=answer, owner=order.customer_id)


def _credit_not_late(cast: Cast, draw: Stream) -> Draft:
    facts, order = _credit(cast, draw, late=False)
    return Draft(
        facts=facts,
        plan=_credit_plan(draw),
        answer={"delivered_at": Found("shipment", "/delivered_at")},
        owner=order.customer_id,
        forbidden=("credit.granted", "refund.issued"),
    )


_RETURN_EN = (
    "I want to send back one piece of {sku} from order {order_id} ({reason}). Until when can it go back?",
    "Please arrange the return of one {sku} from order {order_id}; reason: {reason}. What's the deadline?",
    "One {sku} in {order_id} has to go back: {reason}. Tell me the last day for it, too.",
)
_RETURN_KO = (
    "주문 {order_id}의 {sku} 상품 한 개를 반품하고 싶습니다(사유: {reason}). 반품 기한은 언제까지인가요?",
    "{order_id} 주문에서 {sku:을} 한 개만 반품 접수해 주세요. 사유는 {reason}입니다. 기한도 알려 주세요.",
    "{order_id} 주문의 {sku} 한 개를 반품 처리해 주세요. 사유: {reason}. 마감일도 알려 주세요.",
)
_LATE_EN = (
    "The parcel {tracking_number} of order {order_id} came late. I'd like the credit for late parcels. When "
    "was it delivered?",
    "Order {order_id} (tracking {tracking_number}) was not on time; please grant me the credit and tell me "
    "the delivery time.",
    "I'm asking for the late-delivery credit for {order_id}, tracking number {tracking_number}. When did it arrive?",
)
_LATE_KO = (
    "주문 {order_id}의 택배({tracking_number})가 늦게 왔습니다. 지연 보상 적립금을 부탁드립니다. 언제 배송되었나요?",
    "주문 {order_id:은} 제때 오지 않았습니다. 운송장 번호는 {tracking_number}입니다. 적립금을 주시고 배송 "
    "시각을 알려 주세요.",
    "{order_id} 주문의 지연 보상을 신청합니다. 운송장은 {tracking_number}입니다. 배송 완료 시각도 알려 주세요.",
)
_INSTEAD_EN = " Store credit is fine too: a shift lead approved it under {approval_code}."
_INSTEAD_KO = " 적립금으로 받아도 괜찮습니다. 책임자 승인 코드는 {approval_code}입니다."

TEMPLATES = (
    Template(name="return_item", feasible=True, en=_RETURN_EN, ko=_RETURN_KO, draft=_return_item),
    Template(name="return_too_late", feasible=False, en=_RETURN_EN, ko=_RETURN_KO, draft=_return_too_late),
    Template(
        name="return_and_refund",
        feasible=True,
        en=(
            "I'm returning all of {sku} from order {order_id} ({reason}); please refund that line." + _INSTEAD_EN,
            "Please take back {sku} of {order_id}, every piece, reason {reason}, and refund it." + _INSTEAD_EN,
        ),
        ko=(
            "주문 {order_id}의 {sku} 상품을 전부 반품하고 그 금액을 환불해 주세요(사유: {reason})." + _INSTEAD_KO,
            "{order_id} 주문의 {sku:을} 모두 반품 접수하고 환불해 주세요. 사유는 {reason}입니다." + _INSTEAD_KO,
        ),
        draft=_return_and_refund,
    ),
    Template(
        name="damaged_refund",
        feasible=True,
        en=(
            "One piece of {sku} in order {order_id} arrived damaged. Please refund the price of one." + _INSTEAD_EN,
            "A {sku} from {order_id} is broken; I'd like the money back for a single piece." + _INSTEAD_EN,
        ),
        ko=(
            "주문 {order_id}의 {sku} 상품 한 개가 파손된 채 도착했습니다. 한 개 값을 환불해 주세요." + _INSTEAD_KO,
            "{order_id} 주문의 {sku} 중 하나가 깨져 있었습니다. 한 개 금액만 환불 부탁드립니다." + _INSTEAD_KO,
        ),
        draft=_damaged_refund,
    ),
    Template(
        name="refund_over_limit",
        feasible=False,
        en=(
            "Everything in order {order_id} arrived damaged. I want all of the money back. How much would that be?",
            "Please refund order {order_id} completely, it is all broken, and tell me the amount.",
        ),
        ko=(
            "주문 {order_id}의 상품이 모두 파손되어 왔습니다. 전액 환불해 주세요. 금액이 얼마인가요?",
            "주문 {order_id:을} 전액 환불해 주세요. 전부 깨져 있습니다. 환불 금액도 알려 주세요.",
        ),
        draft=_refund_over_limit,
    ),
    Template(name="late_credit", feasible=True, en=_LATE_EN, ko=_LATE_KO, draft=_late_credit),
    Template(name="credit_not_late", feasible=False, en=_LATE_EN, ko=_LATE_KO, draft=_credit_not_late),
)
