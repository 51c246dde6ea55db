"""The writes on money: refunds, store credit, gift cards."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec.structs import replace

from breakfall.worlds.store.desk import Desk, Refusal, cents, money
from breakfall.worlds.store.policy import CREDIT_LIMIT, REFUND_LIMIT
from breakfall.worlds.store.records import Approval, Credit, GiftCard, Order, Payment, Refund
from breakfall.worlds.store.views import View, balance_due, captured, credit_view, payments_of, refund_view, refunds_of

Given: TypeAlias = dict[str, Any]


def _check_approval(desk: Desk, order: Order, code: str) -> None:
    approval = desk.state.find(Approval, code)
    if approval is None or approval.order_id != order.order_id:
        text = f"approval code {code!r} is not for order {order.order_id}; ask a shift lead for one"
        raise Refusal(403, "approval_not_valid", text)


def _refund(desk: Desk, order: Order, given: Given, method: str) -> Refund:
    amount, state = cents(given["amount"]), desk.state
    paid = captured(payments_of(state, order.order_id))
    left = paid - sum(refund.amount for refund in refunds_of(state, order.order_id))
    if amount > left:
        text = f"{left / 100:.2f} of order {order.order_id} can be refunded, {amount / 100:.2f} asked for"
        raise Refusal(422, "refund_exceeds_payment", text)
    refund = Refund(
        refund_id=state.new_id("RF", "refund"),
        order_id=order.order_id,
        amount=amount,
        method=method,
        created_at=desk.at,
    )
    state.put(refund.refund_id, refund)
    state.join("refunds of order", order.order_id, refund.refund_id)
    desk.applied("refund.issued", f"order:{order.order_id}", amount=money(amount))
    return refund


def refund_to_card(desk: Desk, given: Given) -> View:
    """Give money back to the card; the same call again gives it back again."""
    order = desk.order(given)
    code = given.get("approval_code")
    if code is not None:
        _check_approval(desk, order, code)
    elif cents(given["amount"]) > REFUND_LIMIT:
        text = f"refunds above {REFUND_LIMIT / 100:.2f} need an approval_code from a shift lead"
        raise Refusal(403, "approval_required", text)
    return refund_view(_refund(desk, order, given, "card"))


def refund_as_credit(desk: Desk, given: Given) -> View:
    """Give money back as store credit, which a shift lead must have approved for the order."""
    order = desk.order(given)
    _check_approval(desk, order, given["approval_code"])
    refund = _refund(desk, order, given, "store_credit")
    _add_credit(desk, order.customer_id, refund.amount, "refund")
    return refund_view(refund)


def _add_credit(desk: Desk, customer_id: str, amount: int, reason: str) -> Credit:
    credit = Credit(
        credit_id=desk.state.new_id("CR", "credit"),
        customer_id=customer_id,
        amount=amount,
        reason=reason,
        created_at=desk.at,
    )
    desk.state.put(credit.credit_id, credit)
    desk.state.join("credits of customer", customer_id, credit.credit_id)
    return credit


def grant_credit(desk: Desk, given: Given) -> View:
    """Give goodwill credit; the same call again gives it again."""
    customer, amount = desk.customer(given), cents(given["amount"])
    if amount > CREDIT_LIMIT:
        raise Refusal(403, "credit_over_limit", f"goodwill credit is at most {CREDIT_LIMIT / 100:.2f}")
    credit = _add_credit(desk, customer.customer_id, amount, given["reason"])
    target = f"customer:{customer.customer_id}"
    desk.applied("credit.granted", target, amount=money(amount), reason=given["reason"])
    return credit_view(credit)


def redeem_gift_card(desk: Desk, given: Given) -> View:
    """Pay for an order from a gift card, whole or in part."""
    order, amount, state = desk.order(given), cents(given["amount"]), desk.state
    card = state.find(GiftCard, given["code"])
    if card is None:
        raise Refusal(404, "gift_card_not_found", f"no gift card {given['code']!r}; check the code")
    due = balance_due(state, order)
    if amount > due:
        text = f"{due / 100:.2f} is due on order {order.order_id}, {amount / 100:.2f} offered"
        raise Refusal(422, "more_than_due", text)
    if amount > card.balance:
        raise Refusal(422, "balance_too_low", f"gift card {card.code} holds {card.balance / 100:.2f}")
    payment = Payment(
        payment_id=state.new_id("PAY", "payment"),
        order_id=order.order_id,
        method="gift_card",
        gift_card=card.code,
        amount=amount,
        status="captured",
        created_at=desk.at,
    )
    state.put(card.code, replace(card, balance=card.balance - amount))
    state.put(payment.payment_id, payment)
    state.join("payments of order", order.order_id, payment.payment_id)
    if amount == due:
        state.put(order.order_id, replace(order, status="pending", updated_at=desk.at))
    desk.applied("gift_card.redeemed", f"order:{order.order_id}", code=card.code, amount=money(amount))
    return {
        "payment_id": payment.payment_id,
        "order_id": order.order_id,
        "gift_card": card.code,
        "amount": money(amount),
        "created_at": desk.at,
    }
