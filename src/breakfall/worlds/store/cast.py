"""Whom and what the tasks of one split are about: no customer and no order is in two splits."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from breakfall.seeds import Stream
from breakfall.worlds.store.base import base
from breakfall.worlds.store.calendar import stamp
from breakfall.worlds.store.policy import REFUND_LIMIT
from breakfall.worlds.store.records import Coupon, Customer, GiftCard, Order, Product, Shipment, Variant

HELD_OUT = "held-out"
TRAIN = "train"
SPLITS = (HELD_OUT, TRAIN)

T = TypeVar("T")


class Cast:
    """The customers and orders of one split, by what a template can use them for.

    Args:
        split: The split's name.
    """

    def __init__(self, split: str) -> None:
        made = base()
        place = SPLITS.index(split)
        self.customers: list[Customer] = list(made.records[Customer].values())[place :: len(SPLITS)]
        mine = {customer.customer_id for customer in self.customers}
        self.orders: list[Order] = [order for order in made.records[Order].values() if order.customer_id in mine]
        self.products: list[Product] = list(made.records[Product].values())
        self.variants: list[Variant] = list(made.records[Variant].values())[place :: len(SPLITS)]

    def customer(self, order: Order) -> Customer:
        """Return who placed an order."""
        found: Customer = base().records[Customer][order.customer_id]
        return found

    def variant(self, sku: str) -> Variant:
        """Return a variant."""
        found: Variant = base().records[Variant][sku]
        return found

    def product(self, product_id: str) -> Product:
        """Return a product."""
        found: Product = base().records[Product][product_id]
        return found

    def coupon(self, code: str) -> Coupon:
        """Return a coupon."""
        found: Coupon = base().records[Coupon][code]
        return found

    def coupons(self, customer: Customer) -> list[Coupon]:
        """Return the coupons in a customer's wallet."""
        return [self.coupon(code) for code in base().lists["coupons of customer"][customer.customer_id]]

    def gift_cards(self, customer: Customer) -> list[GiftCard]:
        """Return the gift cards in a customer's wallet."""
        codes = base().lists["gift cards of customer"][customer.customer_id]
        return [base().records[GiftCard][code] for code in codes]

    def shipment(self, order: Order) -> Shipment:
        """Return the shipment of an order that has one."""
        found: Shipment = base().records[Shipment][base().lists["shipment of order"][order.order_id][0]]
        return found

    def orders_of(self, customer: Customer) -> list[Order]:
        """Return a customer's orders, oldest first."""
        ids = base().lists["orders of customer"][customer.customer_id]
        return [base().records[Order][key] for key in ids]


@lru_cache(maxsize=len(SPLITS))
def cast(split: str) -> Cast:
    """Return the cast of a split."""
    return Cast(split)


def pick(draw: Stream, options: list[T], fits: Callable[[T], bool]) -> T:
    """Draw until an option fits; the base data has one for every template.

    Raises:
        LookupError: No option fits.
    """
    for _ in range(200):
        option = draw.choice(options)
        if fits(option):
            return option
    fitting = [option for option in options if fits(option)]
    if not fitting:
        raise LookupError("no record of the base data fits this template")
    return draw.choice(fitting)


def is_open(order: Order) -> bool:
    """Whether an order is pending: paid, and still to be changed."""
    return order.status == "pending"


def is_unpaid(order: Order) -> bool:
    """Whether an order waits for its payment."""
    return order.status == "awaiting_payment"


def is_shipped(order: Order) -> bool:
    """Whether an order is under way."""
    return order.status == "shipped"


def is_returnable(order: Order) -> bool:
    """Whether an order can be sent back today, and each line be refunded without approval."""
    return (
        order.return_until is not None
        and order.return_until > stamp(0)
        and all(line.price * line.quantity <= REFUND_LIMIT for line in order.lines)
    )


def is_too_old(order: Order) -> bool:
    """Whether an order was delivered too long ago to be sent back."""
    return order.return_until is not None and order.return_until < stamp(0)
