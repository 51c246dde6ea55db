"""The orders that every client places, and what the service must hold in the end."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from breakfall.seeds import stream


class Endpoint(StrEnum):
    """How an order is placed, which decides what protects it from happening twice."""

    PLAIN = "plain"
    """POST /orders: each request is an order of its own. What was placed can be looked up."""
    KEYED = "keyed"
    """POST /v2/orders: a repeat with the same Idempotency-Key in its window is answered with the first's result."""
    NATURAL = "natural"
    """PUT /orders/{reference}: a repeat changes nothing."""
    PARTNER = "partner"
    """POST /partner/orders: each request is an order of its own, and nothing can be looked up."""


SOLD_OUT = "unicorn"
"""What the service refuses to sell: such an order cannot be placed."""
_ITEMS = ("hat", "scarf", "umbrella", "boots", "lantern")
_SHARES = {Endpoint.PLAIN: 0.45, Endpoint.KEYED: 0.30, Endpoint.NATURAL: 0.20, Endpoint.PARTNER: 0.05}


class Order(Struct, frozen=True):
    """One order, as its buyer wants it: once."""

    reference: str
    """The buyer's own number; the service stores it and does not ask whether it is new."""
    endpoint: Endpoint
    item: str
    quantity: int

    @property
    def can_be_placed(self) -> bool:
        """Whether the service would take it."""
        return self.item != SOLD_OUT


def orders(seed: int, count: int) -> list[Order]:
    """Draw the orders of a run; the same seed gives the same ones."""
    made = []
    for n in range(count):
        draw = stream(seed, "order", n)
        made.append(
            Order(
                reference=f"PO-{n:05d}",
                endpoint=draw.weighted(list(_SHARES), list(_SHARES.values())),
                item=SOLD_OUT if draw.uniform() < 0.02 else draw.choice(_ITEMS),
                quantity=draw.integer(1, 9),
            )
        )
    return made
