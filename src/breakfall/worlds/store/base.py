"""The store's base data: generated once per process from a fixed seed, the same on every machine."""

from __future__ import annotations

from functools import lru_cache

from breakfall.seeds import Stream, stream
from breakfall.worlds.store import names
from breakfall.worlds.store.calendar import DAY_S, day, day_end, stamp
from breakfall.worlds.store.policy import RETURN_DAYS
from breakfall.worlds.store.records import (
    Address,
    Approval,
    Cart,
    Contact,
    Coupon,
    Credit,
    Customer,
    GiftCard,
    Line,
    Order,
    Payment,
    Product,
    Refund,
    Return,
    Shipment,
    Variant,
)
from breakfall.worlds.store.state import Base

SEED = 20_260_302
CUSTOMERS = 400
ORDERS_EACH = 3
"""Orders per customer: from this many to two more."""

ORDER_LISTS = ("orders of customer", "payments of order", "refunds of order", "returns of order", "shipment of order")
CUSTOMER_LISTS = ("gift cards of customer", "coupons of customer", "credits of customer", "contacts of customer")


@lru_cache(maxsize=1)
def base() -> Base:
    """Return the base data; nothing ever changes it."""
    made = Base()
    for kind in (Approval, Refund, Return):
        made.records[kind] = {}
    for name in (*ORDER_LISTS, *CUSTOMER_LISTS):
        made.lists[name] = {}
    _add_products(made, stream(SEED, "products"))
    _add_coupons(made, stream(SEED, "coupons"))
    for number in range(CUSTOMERS):
        _add_customer(made, number)
    return made


def _add_products(made: Base, draw: Stream) -> None:
    number = 100
    for material in names.MATERIALS:
        for noun, category, text, options in names.GOODS:
            number += 1
            product_id, price = f"P{number}", draw.integer(6, 70) * 100 + 95
            skus = []
            for nth, option in enumerate(options, start=1):
                sku = f"{noun[:3].upper()}{number}-{nth}"
                skus.append(sku)
                available = 0 if draw.uniform() < 0.12 else draw.integer(4, 60)
                made.add(
                    sku,
                    Variant(
                        sku=sku,
                        product_id=product_id,
                        option=option,
                        price=price + (nth - 1) * draw.integer(0, 4) * 100,
                        available=available,
                        reserved=draw.integer(0, 9),
                        restock_on=day(draw.integer(3, 30)),
                    ),
                )
            name = f"{material} {noun}"
            about = f"{name}, {text}."
            product = Product(product_id=product_id, name=name, category=category, description=about, skus=tuple(skus))
            made.add(product_id, product)
            for word in (material, noun):
                made.join("products by word", word.lower(), product_id)


def _add_coupons(made: Base, draw: Stream) -> None:
    for word in names.COUPON_WORDS:
        for percent in (5, 10, 15, 20):
            valid = draw.integer(5, 60) if draw.uniform() < 0.6 else -draw.integer(3, 60)
            code = f"{word}{percent}"
            made.add(
                code,
                Coupon(code=code, percent=percent, minimum=draw.integer(1, 4) * 1000, valid_until=day_end(valid)),
            )


def _address(draw: Stream, postcode: str) -> Address:
    line1 = f"{draw.integer(1, 180)} {draw.choice(names.STREETS)}"
    return Address(line1=line1, city=draw.choice(names.CITIES), postcode=postcode)


def _add_customer(made: Base, number: int) -> None:
    draw = stream(SEED, "customer", number)
    customer_id, postcode = f"C{1001 + number}", f"{20_011 + number * 37}"
    given, family = draw.choice(names.GIVEN_NAMES), draw.choice(names.FAMILY_NAMES)
    name, email = f"{given} {family}", f"{given.lower()}.{family.lower()}{number}@mail.example"
    customer = Customer(
        customer_id=customer_id,
        name=name,
        email=email,
        address=_address(draw, postcode),
        since=day(-draw.integer(100, 900)),
    )
    made.add(customer_id, customer)
    made.join("customer by email", email, customer_id)
    made.join("customer by name", f"{name.lower()}/{postcode}", customer_id)
    made.join("postcodes", "", postcode)
    for nth in range(ORDERS_EACH + draw.integer(0, 2)):
        _add_order(made, customer, f"O{10_001 + number * 10 + nth}", draw)
    _add_wallet(made, customer_id, number, draw)
    in_stock = [sku for sku, variant in made.records[Variant].items() if variant.available >= 4]
    items = tuple((sku, draw.integer(1, 2)) for sku in draw.sample(in_stock, draw.integer(1, 3)))
    made.add(customer_id, Cart(customer_id=customer_id, items=items, updated_at=stamp(-draw.integer(1, 9) * DAY_S)))


def _add_wallet(made: Base, customer_id: str, number: int, draw: Stream) -> None:
    for nth in range(draw.integer(1, 2)):
        code = f"GC-{draw.integer(1000, 9999)}-{number * 10 + nth:04d}"
        card = GiftCard(
            code=code,
            customer_id=customer_id,
            balance=draw.integer(2, 60) * 500,
            expires_on=day(draw.integer(40, 400)),
        )
        made.add(code, card)
        made.join("gift cards of customer", customer_id, code)
    for code in draw.sample(list(made.records[Coupon]), 3):
        made.join("coupons of customer", customer_id, code)
    if draw.uniform() < 0.5 or number == 0:
        credit_id = f"CR{3001 + number}"
        when = stamp(-draw.integer(10, 200) * DAY_S)
        credit = Credit(
            credit_id=credit_id,
            customer_id=customer_id,
            amount=draw.integer(1, 4) * 500,
            reason="service_failure",
            created_at=when,
        )
        made.add(credit_id, credit)
        made.join("credits of customer", customer_id, credit_id)
    contact_id = f"CT{4001 + number}"
    made.add(
        contact_id,
        Contact(
            contact_id=contact_id,
            customer_id=customer_id,
            kind="message",
            topic="welcome",
            order_id=None,
            channel="email",
            created_at=stamp(-draw.integer(90, 400) * DAY_S),
        ),
    )
    made.join("contacts of customer", customer_id, contact_id)


def _add_order(made: Base, customer: Customer, order_id: str, draw: Stream) -> None:
    status = draw.weighted(
        ("awaiting_payment", "pending", "shipped", "delivered", "cancelled"), (0.15, 0.25, 0.18, 0.37, 0.05)
    )
    placed = -draw.integer(1, 3) if status in {"awaiting_payment", "pending"} else -draw.integer(6, 9)
    delivered = None
    if status == "delivered":  # never within two days of the window's end, so that no episode runs over it
        delivered = -draw.integer(1, RETURN_DAYS - 3) if draw.uniform() < 0.65 else -draw.integer(RETURN_DAYS + 3, 80)
        placed += delivered
    hour = draw.integer(0, 8) * 3600
    order = Order(
        order_id=order_id,
        customer_id=customer.customer_id,
        status=status,
        placed_at=stamp(placed * DAY_S + hour),
        updated_at=stamp((delivered or placed) * DAY_S + hour + 1800),
        lines=_lines(made, draw),
        discount=0,
        shipping=draw.choice((0, 495, 895)),
        coupon=None,
        address=customer.address,
        return_until=None if delivered is None else day_end(delivered + RETURN_DAYS),
    )
    made.add(order_id, order)
    made.join("orders of customer", customer.customer_id, order_id)
    if status != "awaiting_payment":
        _add_payment(made, order)
    if status in {"shipped", "delivered"}:
        _add_shipment(made, order, placed, delivered, draw)


def _lines(made: Base, draw: Stream) -> tuple[Line, ...]:
    variants, products = made.records[Variant], made.records[Product]
    lines = []
    for sku in draw.sample(list(variants), draw.integer(1, 3)):
        variant: Variant = variants[sku]
        product: Product = products[variant.product_id]
        quantity = draw.weighted((1, 2, 3), (0.6, 0.3, 0.1))
        lines.append(
            Line(
                sku=sku,
                product_id=product.product_id,
                name=f"{product.name}, {variant.option}",
                quantity=quantity,
                price=variant.price,
            )
        )
    return tuple(lines)


def _add_payment(made: Base, order: Order) -> None:
    payment_id = f"PAY{order.order_id[1:]}"
    made.add(
        payment_id,
        Payment(
            payment_id=payment_id,
            order_id=order.order_id,
            method="card",
            gift_card=None,
            amount=order.total,
            status="voided" if order.status == "cancelled" else "captured",
            created_at=order.placed_at,
        ),
    )
    made.join("payments of order", order.order_id, payment_id)
    code = f"AP{order.order_id[1:]}"
    made.add(code, Approval(code=code, order_id=order.order_id))


def _add_shipment(made: Base, order: Order, placed: int, delivered: int | None, draw: Stream) -> None:
    shipment_id, tracking = f"SH{order.order_id[1:]}", f"TRK{draw.integer(100, 999)}{order.order_id[1:]}"
    late = draw.uniform() < 0.5
    if delivered is None:
        promised, estimated = draw.integer(1, 4), draw.integer(1, 5)
    else:
        promised, estimated = delivered + (-draw.integer(1, 3) if late else draw.integer(1, 2)), delivered
    shipment = Shipment(
        shipment_id=shipment_id,
        order_id=order.order_id,
        carrier=draw.choice(names.CARRIERS),
        tracking_number=tracking,
        status="in_transit" if delivered is None else "delivered",
        promised_by=day_end(max(promised, placed + 1)),
        estimated_on=day(estimated),
        delivered_at=None if delivered is None else stamp(delivered * DAY_S + 3600),
    )
    made.add(shipment_id, shipment)
    made.join("shipment of order", order.order_id, shipment_id)
    made.join("shipment by tracking number", tracking, shipment_id)


_IDS: dict[str, type] = {
    "order": Order,
    "customer": Customer,
    "product": Product,
    "variant": Variant,
    "payment": Payment,
    "refund": Refund,
    "return": Return,
    "shipment": Shipment,
    "gift_card": GiftCard,
    "coupon": Coupon,
    "credit": Credit,
    "contact": Contact,
}


@lru_cache(maxsize=32)
def ids_of(kind: str) -> tuple[str, ...]:
    """Return the base ids of a kind, none for a kind that the store does not know."""
    made = base()
    if kind == "tracking":
        return tuple(made.lists["shipment by tracking number"])
    if kind == "postcode":
        return made.lists["postcodes"][""]
    return tuple(made.records[_IDS[kind]]) if kind in _IDS else ()
