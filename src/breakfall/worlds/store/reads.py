"""The reads: each answers from the state and says as of when."""

from __future__ import annotations

from typing import Any, TypeAlias

from breakfall.worlds.store.desk import Desk, Refusal
from breakfall.worlds.store.records import (
    Cart,
    Contact,
    Coupon,
    Credit,
    Customer,
    GiftCard,
    Order,
    Product,
    Return,
    Shipment,
    Variant,
)
from breakfall.worlds.store.views import (
    View,
    account_view,
    address_view,
    balance_due,
    contact_view,
    credit_view,
    found_product_view,
    items_view,
    order_view,
    return_view,
    shipment_view,
    summary_view,
)

Given: TypeAlias = dict[str, Any]


def _customer(desk: Desk, ids: tuple[str, ...], sought: str) -> View:
    if not ids:
        raise Refusal(404, "customer_not_found", f"no customer with {sought}; ask the customer to spell it")
    customer = desk.need(Customer, ids[0])
    return {
        "customer_id": customer.customer_id,
        "name": customer.name,
        "email": customer.email,
        "address": address_view(customer.address),
        "since": customer.since,
        "as_of": desk.at,
    }


def find_customer_by_email(desk: Desk, given: Given) -> View:
    """Answer with the customer who has this e-mail address."""
    return _customer(desk, desk.state.listed("customer by email", given["email"].lower()), f"e-mail {given['email']!r}")


def find_customer_by_name(desk: Desk, given: Given) -> View:
    """Answer with the customer of this name and postcode."""
    key = f"{given['name'].lower()}/{given['postcode']}"
    sought = f"name {given['name']!r} and postcode {given['postcode']!r}"
    return _customer(desk, desk.state.listed("customer by name", key), sought)


def get_order(desk: Desk, given: Given) -> View:
    """Answer with one order, whole."""
    return order_view(desk.state, desk.order(given), desk.at)


def _orders(desk: Desk, customer_id: str) -> View:
    found = (desk.state.find(Order, key) for key in desk.state.listed("orders of customer", customer_id))
    orders = sorted((order for order in found if order is not None), key=_newest_first, reverse=True)
    shown = [summary_view(order) for order in orders]
    return {"customer_id": customer_id, "orders": shown, "count": len(shown), "as_of": desk.at}


def _newest_first(order: Order) -> tuple[str, str]:
    return order.placed_at, order.order_id


def list_customer_orders(desk: Desk, given: Given) -> View:
    """Answer with a customer's orders, newest first."""
    return _orders(desk, desk.customer(given).customer_id)


def search_orders(desk: Desk, given: Given) -> View:
    """Answer with the orders of whoever has this e-mail address, newest first."""
    ids = desk.state.listed("customer by email", given["email"].lower())
    if not ids:
        raise Refusal(404, "customer_not_found", f"no orders under e-mail {given['email']!r}; check the spelling")
    return _orders(desk, ids[0])


def get_product(desk: Desk, given: Given) -> View:
    """Answer with one product and its variants."""
    product = desk.need(Product, given["product_id"])
    view = found_product_view(desk.state, product)
    view["category"] = product.category
    view["description"] = product.description
    view["as_of"] = desk.at
    return view


def search_products(desk: Desk, given: Given) -> View:
    """Answer with the products whose names hold every word."""
    words = given["name"].lower().split()
    found: tuple[str, ...] = ()
    for nth, word in enumerate(words):
        ids = desk.state.listed("products by word", word)
        found = ids if nth == 0 else tuple(key for key in found if key in ids)
    shown = [found_product_view(desk.state, desk.need(Product, key)) for key in found]
    return {"products": shown, "count": len(shown), "as_of": desk.at}


def get_item_by_sku(desk: Desk, given: Given) -> View:
    """Answer with what a SKU is."""
    variant = desk.need(Variant, given["sku"])
    return {
        "sku": variant.sku,
        "product_id": variant.product_id,
        "name": desk.need(Product, variant.product_id).name,
        "option": variant.option,
        "price": variant.price / 100,
        "as_of": desk.at,
    }


def get_stock(desk: Desk, given: Given) -> View:
    """Answer with how many of a SKU can be sold."""
    variant = desk.need(Variant, given["sku"])
    return {
        "sku": variant.sku,
        "available": variant.available,
        "restock_on": variant.restock_on,
        "as_of": desk.at,
    }


def get_warehouse_stock(desk: Desk, given: Given) -> View:
    """Answer with how many of a SKU lie on the shelf, and how many of them are spoken for."""
    variant = desk.need(Variant, given["sku"])
    return {
        "sku": variant.sku,
        "on_hand": variant.available + variant.reserved,
        "reserved": variant.reserved,
        "restock_on": variant.restock_on,
        "as_of": desk.at,
    }


def _shipment(desk: Desk, ids: tuple[str, ...], sought: str) -> View:
    if not ids:
        raise Refusal(404, "shipment_not_found", f"no shipment for {sought}; it has not left the warehouse")
    return shipment_view(desk.need(Shipment, ids[0]), desk.at)


def get_shipment(desk: Desk, given: Given) -> View:
    """Answer with the shipment of an order."""
    order = desk.order(given)
    return _shipment(desk, desk.state.listed("shipment of order", order.order_id), f"order {order.order_id}")


def track_parcel(desk: Desk, given: Given) -> View:
    """Answer with what the carrier knows of a parcel."""
    number = given["tracking_number"]
    return _shipment(desk, desk.state.listed("shipment by tracking number", number), f"tracking number {number!r}")


def list_payments(desk: Desk, given: Given) -> View:
    """Answer with what was paid and refunded for an order."""
    return account_view(desk.state, desk.order(given), desk.at)


def get_invoice(desk: Desk, given: Given) -> View:
    """Answer with an order's invoice: payments, refunds and what is still due."""
    order = desk.order(given)
    view = account_view(desk.state, order, desk.at)
    view["customer_id"] = order.customer_id
    view["total"] = order.total / 100
    view["balance_due"] = balance_due(desk.state, order) / 100
    return view


def get_gift_card(desk: Desk, given: Given) -> View:
    """Answer with a gift card's balance."""
    card = desk.state.find(GiftCard, given["code"])
    if card is None:
        raise Refusal(404, "gift_card_not_found", f"no gift card {given['code']!r}; check the code")
    return {"code": card.code, "balance": card.balance / 100, "expires_on": card.expires_on, "as_of": desk.at}


def get_coupon(desk: Desk, given: Given) -> View:
    """Answer with a coupon's terms."""
    coupon = desk.need(Coupon, given["code"])
    return {
        "code": coupon.code,
        "percent": coupon.percent,
        "minimum": coupon.minimum / 100,
        "valid_until": coupon.valid_until,
        "as_of": desk.at,
    }


def get_wallet(desk: Desk, given: Given) -> View:
    """Answer with a customer's gift cards, coupons and store credit."""
    customer_id = desk.customer(given).customer_id
    state = desk.state
    cards = [state.find(GiftCard, key) for key in state.listed("gift cards of customer", customer_id)]
    coupons = [state.find(Coupon, key) for key in state.listed("coupons of customer", customer_id)]
    credits_ = [state.find(Credit, key) for key in state.listed("credits of customer", customer_id)]
    granted = [entry for entry in credits_ if entry is not None]
    return {
        "customer_id": customer_id,
        "gift_cards": [
            {"code": card.code, "balance": card.balance / 100, "expires_on": card.expires_on} for card in cards if card
        ],
        "coupons": [
            {"code": entry.code, "percent": entry.percent, "valid_until": entry.valid_until}
            for entry in coupons
            if entry
        ],
        "credits": [credit_view(entry) for entry in granted],
        "count": len(cards) + len(coupons) + len(granted),
        "store_credit": sum(entry.amount for entry in granted) / 100,
        "as_of": desk.at,
    }


def list_returns(desk: Desk, given: Given) -> View:
    """Answer with the returns that the warehouse expects for an order."""
    order_id = desk.order(given).order_id
    found = (desk.state.find(Return, key) for key in desk.state.listed("returns of order", order_id))
    shown = [return_view(entry) for entry in found if entry is not None]
    return {"order_id": order_id, "returns": shown, "count": len(shown), "as_of": desk.at}


def get_contact_history(desk: Desk, given: Given) -> View:
    """Answer with the messages and cases of a customer, oldest first."""
    customer_id = desk.customer(given).customer_id
    found = (desk.state.find(Contact, key) for key in desk.state.listed("contacts of customer", customer_id))
    shown = [contact_view(entry) for entry in found if entry is not None]
    return {"customer_id": customer_id, "contacts": shown, "count": len(shown), "as_of": desk.at}


def get_cart(desk: Desk, given: Given) -> View:
    """Answer with what a customer laid aside."""
    cart = desk.need(Cart, desk.customer(given).customer_id)
    return {
        "customer_id": cart.customer_id,
        "items": items_view(cart.items),
        "count": len(cart.items),
        "updated_at": cart.updated_at,
        "as_of": desk.at,
    }
