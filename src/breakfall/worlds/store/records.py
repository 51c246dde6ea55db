"""What the store keeps. Amounts are integer cents; records are never changed, only replaced."""

from __future__ import annotations

from msgspec import Struct


class Address(Struct, frozen=True, kw_only=True):
    """Where parcels go."""

    line1: str
    city: str
    postcode: str


class Customer(Struct, frozen=True, kw_only=True):
    """A person with an account."""

    customer_id: str
    name: str
    email: str
    address: Address
    since: str


class Product(Struct, frozen=True, kw_only=True):
    """Something sold in one or more variants."""

    product_id: str
    name: str
    category: str
    description: str
    skus: tuple[str, ...]


class Variant(Struct, frozen=True, kw_only=True):
    """One option of a product, with its stock."""

    sku: str
    product_id: str
    option: str
    price: int
    available: int
    reserved: int
    restock_on: str


class Line(Struct, frozen=True, kw_only=True):
    """One line of an order."""

    sku: str
    product_id: str
    name: str
    quantity: int
    price: int


class Order(Struct, frozen=True, kw_only=True):
    """What a customer bought."""

    order_id: str
    customer_id: str
    status: str
    placed_at: str
    updated_at: str
    lines: tuple[Line, ...]
    discount: int
    shipping: int
    coupon: str | None
    address: Address
    return_until: str | None

    @property
    def subtotal(self) -> int:
        """The price of all lines in cents."""
        return sum(line.price * line.quantity for line in self.lines)

    @property
    def total(self) -> int:
        """What the customer owes for the order in cents."""
        return self.subtotal - self.discount + self.shipping


class Payment(Struct, frozen=True, kw_only=True):
    """Money that came in for an order."""

    payment_id: str
    order_id: str
    method: str
    gift_card: str | None
    amount: int
    status: str
    created_at: str


class Refund(Struct, frozen=True, kw_only=True):
    """Money that went back."""

    refund_id: str
    order_id: str
    amount: int
    method: str
    created_at: str


class Shipment(Struct, frozen=True, kw_only=True):
    """A parcel under way."""

    shipment_id: str
    order_id: str
    carrier: str
    tracking_number: str
    status: str
    promised_by: str
    estimated_on: str
    delivered_at: str | None


class Return(Struct, frozen=True, kw_only=True):
    """Goods that come back; `items` are (SKU, quantity)."""

    return_id: str
    order_id: str
    items: tuple[tuple[str, int], ...]
    method: str
    status: str
    created_at: str


class GiftCard(Struct, frozen=True, kw_only=True):
    """Prepaid money with a code."""

    code: str
    customer_id: str
    balance: int
    expires_on: str


class Coupon(Struct, frozen=True, kw_only=True):
    """A percentage off an order above a minimum."""

    code: str
    percent: int
    minimum: int
    valid_until: str


class Credit(Struct, frozen=True, kw_only=True):
    """Store credit that was granted."""

    credit_id: str
    customer_id: str
    amount: int
    reason: str
    created_at: str


class Contact(Struct, frozen=True, kw_only=True):
    """One entry of a customer's contact history: a message that was sent, or a case that a person took over."""

    contact_id: str
    customer_id: str
    kind: str
    topic: str
    order_id: str | None
    channel: str
    created_at: str


class Cart(Struct, frozen=True, kw_only=True):
    """What a customer laid aside in the shop; `items` are (SKU, quantity)."""

    customer_id: str
    items: tuple[tuple[str, int], ...]
    updated_at: str


class Approval(Struct, frozen=True, kw_only=True):
    """A shift lead's approval of store credit, or of an amount above the limit, for one order."""

    code: str
    order_id: str
