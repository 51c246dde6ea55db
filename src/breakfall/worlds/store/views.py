"""How records look in answers."""

from __future__ import annotations

from typing import Any, TypeAlias

from breakfall.worlds.store.records import (
    Address,
    Contact,
    Credit,
    Line,
    Order,
    Payment,
    Product,
    Refund,
    Return,
    Shipment,
    Variant,
)
from breakfall.worlds.store.state import State

View: TypeAlias = dict[str, Any]


def address_view(address: Address) -> View:
    """Show an address."""
    return {"line1": address.line1, "city": address.city, "postcode": address.postcode}


def line_view(line: Line) -> View:
    """Show one line of an order."""
    return {
        "sku": line.sku,
        "product_id": line.product_id,
        "name": line.name,
        "quantity": line.quantity,
        "unit_price": line.price / 100,
        "line_total": line.price * line.quantity / 100,
    }


def summary_view(order: Order) -> View:
    """Show an order as lists of orders do."""
    subtotal = order.subtotal
    return {
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "status": order.status,
        "placed_at": order.placed_at,
        "updated_at": order.updated_at,
        "items": [line_view(line) for line in order.lines],
        "count": len(order.lines),
        "subtotal": subtotal / 100,
        "total": (subtotal - order.discount + order.shipping) / 100,
        "return_until": order.return_until,
    }


def order_view(state: State, order: Order, as_of: str) -> View:
    """Show an order whole."""
    view = summary_view(order)
    view["coupon"] = order.coupon
    view["discount"] = order.discount / 100
    view["shipping"] = order.shipping / 100
    view["balance_due"] = balance_due(state, order) / 100
    view["address"] = address_view(order.address)
    view["as_of"] = as_of
    return view


def repriced_view(order: Order) -> View:
    """Show what a coupon or another item did to an order."""
    return {
        "order_id": order.order_id,
        "items": [line_view(line) for line in order.lines],
        "coupon": order.coupon,
        "discount": order.discount / 100,
        "total": order.total / 100,
        "updated_at": order.updated_at,
    }


def payments_of(state: State, order_id: str) -> list[Payment]:
    """Return an order's payments, oldest first."""
    found = (state.find(Payment, key) for key in state.listed("payments of order", order_id))
    return [payment for payment in found if payment is not None]


def refunds_of(state: State, order_id: str) -> list[Refund]:
    """Return an order's refunds, oldest first."""
    found = (state.find(Refund, key) for key in state.listed("refunds of order", order_id))
    return [refund for refund in found if refund is not None]


def captured(payments: list[Payment]) -> int:
    """Return the cents that really came in."""
    return sum(payment.amount for payment in payments if payment.status == "captured")


def balance_due(state: State, order: Order) -> int:
    """Return the cents that are still to be paid; a cancelled order owes nothing."""
    if order.status != "awaiting_payment":
        return 0
    return max(order.total - captured(payments_of(state, order.order_id)), 0)


def account_view(state: State, order: Order, as_of: str) -> View:
    """Show an order's payments and refunds."""
    payments, refunds = payments_of(state, order.order_id), refunds_of(state, order.order_id)
    paid = captured(payments)
    return {
        "order_id": order.order_id,
        "payments": [payment_view(payment) for payment in payments],
        "count": len(payments),
        "refunds": [refund_view(refund) for refund in refunds],
        "refund_count": len(refunds),
        "paid": paid / 100,
        "refundable": (paid - sum(refund.amount for refund in refunds)) / 100,
        "as_of": as_of,
    }


def payment_view(payment: Payment) -> View:
    """Show a payment."""
    return {
        "payment_id": payment.payment_id,
        "method": payment.method,
        "gift_card": payment.gift_card,
        "amount": payment.amount / 100,
        "status": payment.status,
        "created_at": payment.created_at,
    }


def refund_view(refund: Refund) -> View:
    """Show a refund."""
    return {
        "refund_id": refund.refund_id,
        "order_id": refund.order_id,
        "amount": refund.amount / 100,
        "method": refund.method,
        "created_at": refund.created_at,
    }


def credit_view(credit: Credit) -> View:
    """Show granted credit."""
    return {
        "credit_id": credit.credit_id,
        "customer_id": credit.customer_id,
        "amount": credit.amount / 100,
        "reason": credit.reason,
        "created_at": credit.created_at,
    }


def items_view(items: tuple[tuple[str, int], ...]) -> list[View]:
    """Show chosen items."""
    return [{"sku": sku, "quantity": quantity} for sku, quantity in items]


def return_view(entry: Return) -> View:
    """Show a return."""
    return {
        "return_id": entry.return_id,
        "order_id": entry.order_id,
        "items": items_view(entry.items),
        "count": len(entry.items),
        "method": entry.method,
        "status": entry.status,
        "created_at": entry.created_at,
    }


def contact_view(entry: Contact) -> View:
    """Show an entry of the contact history."""
    return {
        "contact_id": entry.contact_id,
        "kind": entry.kind,
        "topic": entry.topic,
        "order_id": entry.order_id,
        "channel": entry.channel,
        "created_at": entry.created_at,
    }


def shipment_view(shipment: Shipment, as_of: str) -> View:
    """Show a shipment."""
    return {
        "shipment_id": shipment.shipment_id,
        "order_id": shipment.order_id,
        "carrier": shipment.carrier,
        "tracking_number": shipment.tracking_number,
        "status": shipment.status,
        "promised_by": shipment.promised_by,
        "estimated_on": shipment.estimated_on,
        "delivered_at": shipment.delivered_at,
        "as_of": as_of,
    }


def found_product_view(state: State, product: Product) -> View:
    """Show a product as the search does."""
    variants = (state.find(Variant, sku) for sku in product.skus)
    shown = [{"sku": v.sku, "option": v.option, "price": v.price / 100} for v in variants if v is not None]
    return {"product_id": product.product_id, "name": product.name, "variants": shown, "count": len(shown)}
