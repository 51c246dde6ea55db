"""The writes on orders: cancel, re-address, change, discount, place, return."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec.structs import replace

from breakfall.worlds.store.desk import Desk, Refusal
from breakfall.worlds.store.policy import OPEN_STATUSES
from breakfall.worlds.store.records import Address, Coupon, Line, Order, Payment, Product, Return, Variant
from breakfall.worlds.store.state import State
from breakfall.worlds.store.views import (
    View,
    address_view,
    items_view,
    line_view,
    payments_of,
    repriced_view,
    return_view,
)

Given: TypeAlias = dict[str, Any]


def _open_order(desk: Desk, given: Given) -> Order:
    order = desk.order(given)
    if order.status not in OPEN_STATUSES:
        text = f"order {order.order_id} is {order.status}; only orders awaiting payment or pending can be changed"
        raise Refusal(409, f"order_{order.status}", text)
    return order


def _move_stock(state: State, sku: str, sold: int) -> None:
    variant = state.find(Variant, sku)
    if variant is not None:
        state.put(sku, replace(variant, available=variant.available - sold, reserved=max(variant.reserved + sold, 0)))


def cancelled_view(order: Order) -> View:
    """Show how far an order has come."""
    return {"order_id": order.order_id, "status": order.status, "updated_at": order.updated_at}


def cancel_order(desk: Desk, given: Given) -> View:
    """Cancel an order that has not shipped; an order that is cancelled stays so."""
    order = desk.order(given)
    if order.status == "cancelled":
        return cancelled_view(order)
    order = _open_order(desk, given)
    state = desk.state
    for line in order.lines:
        _move_stock(state, line.sku, -line.quantity)
    for payment in payments_of(state, order.order_id):
        state.put(payment.payment_id, replace(payment, status="voided"))
    order = replace(order, status="cancelled", updated_at=desk.at)
    state.put(order.order_id, order)
    desk.applied("order.cancelled", f"order:{order.order_id}")
    return cancelled_view(order)


def readdressed_view(order: Order) -> View:
    """Show where an order goes."""
    return {"order_id": order.order_id, "address": address_view(order.address), "updated_at": order.updated_at}


def update_order_address(desk: Desk, given: Given) -> View:
    """Send an order elsewhere; the address that it has already changes nothing."""
    order = _open_order(desk, given)
    address = Address(**given["address"])
    if address != order.address:
        order = replace(order, address=address, updated_at=desk.at)
        desk.state.put(order.order_id, order)
        desk.applied("order.address_changed", f"order:{order.order_id}", **address_view(address))
    return readdressed_view(order)


def apply_coupon(desk: Desk, given: Given) -> View:
    """Take a coupon's percentage off an order; the coupon that it has already changes nothing."""
    order = _open_order(desk, given)
    coupon = desk.need(Coupon, given["code"])
    if order.coupon == coupon.code:
        return repriced_view(order)
    if order.coupon is not None:
        raise Refusal(409, "coupon_already_used", f"order {order.order_id} has coupon {order.coupon}; one per order")
    if coupon.valid_until < desk.at:
        raise Refusal(422, "coupon_expired", f"coupon {coupon.code} was valid until {coupon.valid_until}")
    if order.subtotal < coupon.minimum:
        text = f"coupon {coupon.code} needs {coupon.minimum / 100:.2f}, the order comes to {order.subtotal / 100:.2f}"
        raise Refusal(422, "below_minimum", text)
    discount = order.subtotal * coupon.percent // 100
    order = replace(order, coupon=coupon.code, discount=discount, updated_at=desk.at)
    desk.state.put(order.order_id, order)
    desk.applied("coupon.applied", f"order:{order.order_id}", code=coupon.code)
    return repriced_view(order)


def change_item(desk: Desk, given: Given) -> View:
    """Swap one line of an order for another variant of the same product; what is swapped already stays so."""
    order = _open_order(desk, given)
    old, new = given["sku"], desk.need(Variant, given["new_sku"])
    skus = [line.sku for line in order.lines]
    if new.sku in skus:
        return repriced_view(order)
    if old not in skus:
        raise Refusal(404, "item_not_in_order", f"order {order.order_id} has no {old!r}; it has {', '.join(skus)}")
    place = skus.index(old)
    line = order.lines[place]
    if new.product_id != line.product_id:
        raise Refusal(422, "other_product", f"{new.sku} is not a variant of {line.product_id}; choose one that is")
    if new.available < line.quantity:
        raise Refusal(409, "out_of_stock", f"{new.available} of {new.sku} available, {line.quantity} needed")
    _move_stock(desk.state, old, -line.quantity)
    _move_stock(desk.state, new.sku, line.quantity)
    line = _line(desk, new, line.quantity)
    lines = (*order.lines[:place], line, *order.lines[place + 1 :])
    order = replace(order, lines=lines, updated_at=desk.at)
    desk.state.put(order.order_id, order)
    desk.applied("order.item_changed", f"order:{order.order_id}", sku=old, new_sku=new.sku)
    return repriced_view(order)


def _line(desk: Desk, variant: Variant, quantity: int) -> Line:
    name = f"{desk.need(Product, variant.product_id).name}, {variant.option}"
    return Line(sku=variant.sku, product_id=variant.product_id, name=name, quantity=quantity, price=variant.price)


def chosen_items(given: Given) -> tuple[tuple[str, int], ...]:
    """Return the chosen (SKU, quantity) in one order, whatever order they were sent in.

    Raises:
        Refusal: A SKU stands there twice.
    """
    items = sorted((item["sku"], int(item["quantity"])) for item in given["items"])
    for (sku, _), (following, _) in pairwise(items):
        if sku == following:
            raise Refusal(422, "sku_twice", f"items: {sku!r} stands there twice; give it once with the whole quantity")
    return tuple(items)


def placed_view(order: Order) -> View:
    """Show a new order."""
    return {
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "status": order.status,
        "items": [line_view(line) for line in order.lines],
        "total": order.total / 100,
        "placed_at": order.placed_at,
    }


def place_order(desk: Desk, given: Given) -> View:
    """Sell items to a customer at their address; the same call again sells them again."""
    customer, items, state = desk.customer(given), chosen_items(given), desk.state
    lines = []
    for sku, quantity in items:
        variant = desk.need(Variant, sku)
        if variant.available < quantity:
            text = f"{variant.available} of {sku} available, {quantity} asked for; back on {variant.restock_on}"
            raise Refusal(409, "out_of_stock", text)
        lines.append(_line(desk, variant, quantity))
    by_card = given["payment_method"] == "card"
    order = Order(
        order_id=state.new_id("O", "order"),
        customer_id=customer.customer_id,
        status="pending" if by_card else "awaiting_payment",
        placed_at=desk.at,
        updated_at=desk.at,
        lines=tuple(lines),
        discount=0,
        shipping=0,
        coupon=None,
        address=customer.address,
        return_until=None,
    )
    for sku, quantity in items:
        _move_stock(state, sku, quantity)
    state.put(order.order_id, order)
    state.join("orders of customer", customer.customer_id, order.order_id)
    if by_card:
        _pay_by_card(desk, order)
    method = given["payment_method"]
    desk.applied("order.placed", f"customer:{customer.customer_id}", items=items_view(items), payment_method=method)
    return placed_view(order)


def _pay_by_card(desk: Desk, order: Order) -> None:
    payment = Payment(
        payment_id=desk.state.new_id("PAY", "payment"),
        order_id=order.order_id,
        method="card",
        gift_card=None,
        amount=order.total,
        status="captured",
        created_at=desk.at,
    )
    desk.state.put(payment.payment_id, payment)
    desk.state.join("payments of order", order.order_id, payment.payment_id)


def create_return(desk: Desk, given: Given) -> View:
    """Expect goods back that the customer brings to a drop-off point."""
    return _send_back(desk, given, "drop_off")


def book_return_pickup(desk: Desk, given: Given) -> View:
    """Expect goods back that the carrier fetches."""
    return _send_back(desk, given, "pickup")


def _send_back(desk: Desk, given: Given, method: str) -> View:
    order, items, state = desk.order(given), chosen_items(given), desk.state
    if order.status != "delivered":
        text = f"order {order.order_id} is {order.status}; only delivered goods can be sent back"
        raise Refusal(409, f"order_{order.status}", text)
    left = Counter({line.sku: line.quantity for line in order.lines})
    for key in state.listed("returns of order", order.order_id):
        left.subtract(dict(desk.need(Return, key).items))
    for sku, quantity in items:
        if left[sku] < quantity:
            text = f"{left[sku]} of {sku!r} left to send back in order {order.order_id}, {quantity} asked for"
            raise Refusal(409, "nothing_left_to_return", text)
    entry = Return(
        return_id=state.new_id("RT", "return"),
        order_id=order.order_id,
        items=items,
        method=method,
        status="expected",
        created_at=desk.at,
    )
    state.put(entry.return_id, entry)
    state.join("returns of order", order.order_id, entry.return_id)
    desk.applied("return.created", f"order:{order.order_id}", items=items_view(items))
    return return_view(entry)
