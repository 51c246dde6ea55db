"""JSON Schema pieces of the store's tools; leaves of answers say with `x-kind` what they hold."""

from __future__ import annotations

from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

ORDER_STATUSES = ("awaiting_payment", "pending", "shipped", "delivered", "cancelled")
SHIPMENT_STATUSES = ("in_transit", "delivered")
RETURN_REASONS = ("damaged", "wrong_item", "does_not_fit", "changed_mind")
CANCEL_REASONS = ("changed_mind", "ordered_by_mistake", "found_cheaper", "takes_too_long")
REFUND_REASONS = ("damaged", "returned", "overcharged", "lost_parcel")
CREDIT_REASONS = ("late_delivery", "service_failure")
MESSAGE_TOPICS = (
    "order_cancelled",
    "order_placed",
    "order_changed",
    "return_instructions",
    "refund_issued",
    "credit_granted",
    "payment_received",
)
CASE_REASONS = (
    "already_shipped",
    "return_window_passed",
    "approval_needed",
    "not_their_order",
    "not_covered",
    "other",
)

TEXT: Schema = {"type": "string", "x-kind": "text"}
MONEY: Schema = {"type": "number", "x-kind": "money"}
QUANTITY: Schema = {"type": "integer", "minimum": 0, "x-kind": "quantity"}
COUNT: Schema = {"type": "integer", "minimum": 0, "x-kind": "quantity"}
DATE: Schema = {"type": "string", "format": "date", "x-kind": "date"}
TIME: Schema = {"type": "string", "format": "date-time", "x-kind": "date"}
AS_OF: Schema = {"type": "string", "format": "date-time", "x-kind": "as_of"}
EMAIL: Schema = {"type": "string", "format": "email", "x-kind": "text"}


def ident(kind: str) -> Schema:
    """Return the leaf for an id of `kind`."""
    return {"type": "string", "x-kind": f"id:{kind}"}


def status(*values: str) -> Schema:
    """Return the leaf for one of a few states."""
    return {"type": "string", "enum": list(values), "x-kind": "status"}


def nullable(leaf: Schema) -> Schema:
    """Return a leaf that may also be null."""
    return leaf | {"type": [leaf["type"], "null"]}


def record(required: Schema, optional: Schema | None = None) -> Schema:
    """Return an object's schema."""
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def listing(item: Schema) -> Schema:
    """Return a list's schema."""
    return {"type": "array", "items": item}


def arguments(required: Schema, optional: Schema | None = None) -> Schema:
    """Return the schema of a tool's arguments, which takes no others."""
    return record(required, optional) | {"additionalProperties": False}


NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
AMOUNT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 100_000, "description": "money, two decimals"}
KEY: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "repeats with one key are answered once",
}
CHOSEN_ITEMS: Schema = {
    "type": "array",
    "minItems": 1,
    "maxItems": 20,
    "items": arguments({"sku": NAME, "quantity": {"type": "integer", "minimum": 1, "maximum": 50}}),
}
NEW_ADDRESS = arguments({"line1": NAME, "city": NAME, "postcode": NAME})


def choice(*values: str) -> Schema:
    """Return the schema of an argument that is one of a few words."""
    return {"type": "string", "enum": list(values)}


ADDRESS = record({"line1": TEXT, "city": TEXT, "postcode": ident("postcode")})
CUSTOMER = record(
    {
        "customer_id": ident("customer"),
        "name": TEXT,
        "email": EMAIL,
        "address": ADDRESS,
        "as_of": AS_OF,
    },
    {"since": DATE},
)
LINE = record(
    {
        "sku": ident("variant"),
        "product_id": ident("product"),
        "quantity": QUANTITY,
        "unit_price": MONEY,
        "line_total": MONEY,
    },
    {"name": TEXT},
)
SUMMARY = record(
    {
        "order_id": ident("order"),
        "customer_id": ident("customer"),
        "status": status(*ORDER_STATUSES),
        "placed_at": TIME,
        "updated_at": TIME,
        "items": listing(LINE),
        "count": COUNT,
        "subtotal": MONEY,
        "total": MONEY,
        "return_until": nullable(TIME),
    }
)
ORDER = record(
    SUMMARY["properties"]
    | {
        "coupon": nullable(ident("coupon")),
        "discount": MONEY,
        "balance_due": MONEY,
        "address": ADDRESS,
        "as_of": AS_OF,
    },
    {"shipping": MONEY},
)
ORDERS = record({"customer_id": ident("customer"), "orders": listing(SUMMARY), "count": COUNT, "as_of": AS_OF})
VARIANT = record({"sku": ident("variant"), "option": TEXT, "price": MONEY})
PRODUCT = record(
    {"product_id": ident("product"), "name": TEXT, "variants": listing(VARIANT), "count": COUNT, "as_of": AS_OF},
    {"category": TEXT, "description": TEXT},
)
FOUND_PRODUCT = record({"product_id": ident("product"), "name": TEXT, "variants": listing(VARIANT), "count": COUNT})
PRODUCTS = record({"products": listing(FOUND_PRODUCT), "count": COUNT, "as_of": AS_OF})
ITEM = record(
    {
        "sku": ident("variant"),
        "product_id": ident("product"),
        "name": TEXT,
        "option": TEXT,
        "price": MONEY,
        "as_of": AS_OF,
    }
)
STOCK = record({"sku": ident("variant"), "available": QUANTITY, "as_of": AS_OF}, {"restock_on": DATE})
SHELF = record(
    {"sku": ident("variant"), "on_hand": QUANTITY, "reserved": QUANTITY, "as_of": AS_OF}, {"restock_on": DATE}
)
SHIPMENT = record(
    {
        "shipment_id": ident("shipment"),
        "order_id": ident("order"),
        "tracking_number": ident("tracking"),
        "status": status(*SHIPMENT_STATUSES),
        "promised_by": TIME,
        "estimated_on": DATE,
        "delivered_at": nullable(TIME),
        "as_of": AS_OF,
    },
    {"carrier": TEXT},
)
PAYMENT = record(
    {
        "payment_id": ident("payment"),
        "method": status("card", "gift_card"),
        "gift_card": nullable(ident("gift_card")),
        "amount": MONEY,
        "status": status("captured", "voided"),
        "created_at": TIME,
    }
)
REFUND = record(
    {
        "refund_id": ident("refund"),
        "order_id": ident("order"),
        "amount": MONEY,
        "method": status("card", "store_credit"),
        "created_at": TIME,
    }
)
ACCOUNT = {
    "order_id": ident("order"),
    "payments": listing(PAYMENT),
    "count": COUNT,
    "refunds": listing(REFUND),
    "refund_count": COUNT,
    "paid": MONEY,
    "refundable": MONEY,
    "as_of": AS_OF,
}
PAYMENTS = record(ACCOUNT)
INVOICE = record(ACCOUNT | {"customer_id": ident("customer"), "total": MONEY, "balance_due": MONEY})
GIFT_CARD = record({"code": ident("gift_card"), "balance": MONEY, "expires_on": DATE, "as_of": AS_OF})
COUPON = record({"code": ident("coupon"), "percent": QUANTITY, "minimum": MONEY, "valid_until": TIME, "as_of": AS_OF})
CREDIT = record(
    {"credit_id": ident("credit"), "customer_id": ident("customer"), "amount": MONEY}
    | {"reason": status(*CREDIT_REASONS, "refund"), "created_at": TIME}
)
WALLET = record(
    {
        "customer_id": ident("customer"),
        "gift_cards": listing(record({"code": ident("gift_card"), "balance": MONEY, "expires_on": DATE})),
        "coupons": listing(record({"code": ident("coupon"), "percent": QUANTITY, "valid_until": TIME})),
        "credits": listing(CREDIT),
        "count": COUNT,
        "store_credit": MONEY,
        "as_of": AS_OF,
    }
)
RETURN = record(
    {
        "return_id": ident("return"),
        "order_id": ident("order"),
        "items": listing(record({"sku": ident("variant"), "quantity": QUANTITY})),
        "count": COUNT,
        "method": status("drop_off", "pickup"),
        "status": status("expected"),
        "created_at": TIME,
    }
)
RETURNS = record({"order_id": ident("order"), "returns": listing(RETURN), "count": COUNT, "as_of": AS_OF})
CONTACT = record(
    {
        "contact_id": ident("contact"),
        "kind": status("message", "case"),
        "topic": status("welcome", *MESSAGE_TOPICS, *CASE_REASONS),
        "order_id": nullable(ident("order")),
        "channel": status("email", "text", "person"),
        "created_at": TIME,
    }
)
CONTACTS = record({"customer_id": ident("customer"), "contacts": listing(CONTACT), "count": COUNT, "as_of": AS_OF})
CART = record(
    {
        "customer_id": ident("customer"),
        "items": listing(record({"sku": ident("variant"), "quantity": QUANTITY})),
        "count": COUNT,
        "updated_at": TIME,
        "as_of": AS_OF,
    }
)
CANCELLED = record({"order_id": ident("order"), "status": status(*ORDER_STATUSES), "updated_at": TIME})
READDRESSED = record({"order_id": ident("order"), "address": ADDRESS, "updated_at": TIME})
REPRICED = record(
    {
        "order_id": ident("order"),
        "items": listing(LINE),
        "coupon": nullable(ident("coupon")),
        "discount": MONEY,
        "total": MONEY,
        "updated_at": TIME,
    }
)
PLACED = record(
    {
        "order_id": ident("order"),
        "customer_id": ident("customer"),
        "status": status(*ORDER_STATUSES),
        "items": listing(LINE),
        "total": MONEY,
        "placed_at": TIME,
    }
)
REDEEMED = record(
    {
        "payment_id": ident("payment"),
        "order_id": ident("order"),
        "gift_card": ident("gift_card"),
        "amount": MONEY,
        "created_at": TIME,
    }
)
LOGGED = record(
    {
        "contact_id": ident("contact"),
        "topic": status(*MESSAGE_TOPICS, *CASE_REASONS),
        "created_at": TIME,
    }
)
