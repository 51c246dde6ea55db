"""The store's tools: for each, what its caller sees and what runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from breakfall.vocab import ALTERNATIVES, Effect, Idempotency, IdempotencyKind, Tool
from breakfall.vocab.schema import ArgumentSchema
from breakfall.worlds.store import contact_writes, forms, money_writes, order_writes, reads
from breakfall.worlds.store.desk import Desk
from breakfall.worlds.store.forms import AMOUNT, CHOSEN_ITEMS, KEY, NAME, NEW_ADDRESS, Schema, arguments, choice
from breakfall.worlds.store.judges import READERS
from breakfall.worlds.store.paths import paths_of
from breakfall.worlds.store.policy import KEY_WINDOW_S
from breakfall.worlds.store.records import Order
from breakfall.worlds.store.views import repriced_view

Run: TypeAlias = Callable[[Desk, dict[str, Any]], dict[str, Any]]
Show: TypeAlias = Callable[[Order], dict[str, Any]]


class Entry(Struct, frozen=True, kw_only=True):
    """One tool with what runs behind it."""

    tool: Tool
    run: Run
    schema: ArgumentSchema
    shows: Show | None = None
    """For a write that answers with the order it changed: how it shows that order."""


NONE = Idempotency()
NATURAL = Idempotency(kind=IdempotencyKind.NATURAL)
KEYED = Idempotency(kind=IdempotencyKind.KEY, window_s=KEY_WINDOW_S, parameter="idempotency_key")


def _entry(run: Run, about: str, domain: str, forms_: tuple[Schema, Schema], **more: Any) -> Entry:
    shows = more.pop("shows", None)
    name = run.__name__ if "name" not in more else more.pop("name")
    parameters, returns = forms_
    tool = Tool(
        name=name,
        description=about,
        parameters=parameters,
        returns=returns,
        fault_domain=domain,
        paths=paths_of(name),
        reader=READERS.get(name),
        **({"effect": Effect.READ} | more),
    )
    return Entry(tool=tool, run=run, schema=ArgumentSchema(parameters), shows=shows)


def _read(run: Run, about: str, domain: str, forms_: tuple[Schema, Schema], mirror: bool = False) -> Entry:
    return _entry(run, about, domain, forms_, mirror=mirror)


def _reads() -> tuple[Entry, ...]:
    by_order, by_customer = arguments({"order_id": NAME}), arguments({"customer_id": NAME})
    by_sku, by_code, by_email = arguments({"sku": NAME}), arguments({"code": NAME}), arguments({"email": NAME})
    by_name = arguments({"name": NAME, "postcode": NAME})
    return (
        _read(
            reads.find_customer_by_email,
            "Find a customer by e-mail address.",
            "crm",
            (by_email, forms.CUSTOMER),
        ),
        _read(
            reads.find_customer_by_name,
            "Find a customer by full name and postcode.",
            "search",
            (by_name, forms.CUSTOMER),
        ),
        _read(reads.get_order, "Show one order whole.", "orders", (by_order, forms.ORDER)),
        _read(
            reads.list_customer_orders,
            "List a customer's orders, newest first.",
            "crm",
            (by_customer, forms.ORDERS),
        ),
        _read(
            reads.search_orders,
            "List the orders under an e-mail address, newest first.",
            "search",
            (by_email, forms.ORDERS),
            mirror=True,
        ),
        _read(
            reads.get_product,
            "Show one product with its variants and prices.",
            "catalog",
            (arguments({"product_id": NAME}), forms.PRODUCT),
        ),
        _read(
            reads.search_products,
            "Find products whose names hold every word given.",
            "search",
            (arguments({"name": NAME}), forms.PRODUCTS),
        ),
        _read(
            reads.get_item_by_sku,
            "Show which product and variant a SKU is.",
            "warehouse",
            (by_sku, forms.ITEM),
            mirror=True,
        ),
        _read(reads.get_stock, "Show how many of a SKU can be sold now.", "catalog", (by_sku, forms.STOCK)),
        _read(
            reads.get_warehouse_stock,
            "Show how many of a SKU are on the shelf and how many of them are reserved.",
            "warehouse",
            (by_sku, forms.SHELF),
            mirror=True,
        ),
        _read(reads.get_shipment, "Show the shipment of an order.", "orders", (by_order, forms.SHIPMENT)),
        _read(
            reads.track_parcel,
            "Ask the carrier where a parcel is.",
            "carrier",
            (arguments({"tracking_number": NAME}), forms.SHIPMENT),
        ),
        _read(
            reads.list_payments,
            "List the payments and refunds of an order.",
            "billing",
            (by_order, forms.PAYMENTS),
        ),
        _read(
            reads.get_invoice,
            "Show the invoice of an order: payments, refunds and the balance due.",
            "orders",
            (by_order, forms.INVOICE),
        ),
        _read(reads.get_gift_card, "Show the balance of a gift card.", "billing", (by_code, forms.GIFT_CARD)),
        _read(reads.get_coupon, "Show the terms of a coupon.", "catalog", (by_code, forms.COUPON)),
        _read(
            reads.get_wallet,
            "Show a customer's gift cards, coupons and store credit.",
            "crm",
            (by_customer, forms.WALLET),
        ),
        _read(
            reads.list_returns,
            "List the returns that the warehouse expects for an order.",
            "warehouse",
            (by_order, forms.RETURNS),
        ),
        _read(
            reads.get_contact_history,
            "List the messages and cases of a customer, oldest first.",
            "crm",
            (by_customer, forms.CONTACTS),
        ),
        _read(reads.get_cart, "Show what a customer laid aside in the shop.", "catalog", (by_customer, forms.CART)),
    )


def _order_writes() -> tuple[Entry, ...]:
    cancel = (arguments({"order_id": NAME, "reason": choice(*forms.CANCEL_REASONS)}), forms.CANCELLED)
    readdress = (arguments({"order_id": NAME, "address": NEW_ADDRESS}), forms.READDRESSED)
    final = {"effect": Effect.IRREVERSIBLE, "idempotency": NATURAL, "shows": order_writes.cancelled_view}
    moved = {"effect": Effect.WRITE, "idempotency": NATURAL, "shows": order_writes.readdressed_view}
    priced = {"effect": Effect.WRITE, "idempotency": NATURAL, "shows": repriced_view}
    return (
        _entry(
            order_writes.cancel_order,
            "Cancel an order that has not shipped. Cannot be undone.",
            "orders",
            cancel,
            **final,
        ),
        _entry(
            order_writes.cancel_order,
            "Ask the support desk to cancel an order that has not shipped. Cannot be undone.",
            "support",
            cancel,
            name="request_cancellation",
            mirror=True,
            **final,
        ),
        _entry(
            order_writes.update_order_address,
            "Send an order that has not shipped to another address.",
            "orders",
            readdress,
            **moved,
        ),
        _entry(
            order_writes.update_order_address,
            "Ask the carrier to take an order that has not shipped to another address.",
            "carrier",
            readdress,
            name="request_redirect",
            mirror=True,
            **moved,
        ),
        _entry(
            order_writes.apply_coupon,
            "Take a coupon's percentage off an order that has not shipped.",
            "catalog",
            (arguments({"order_id": NAME, "code": NAME}), forms.REPRICED),
            **priced,
        ),
        _entry(
            order_writes.change_item,
            "Swap an item of an order that has not shipped for another variant of the same product.",
            "orders",
            (arguments({"order_id": NAME, "sku": NAME, "new_sku": NAME}), forms.REPRICED),
            **priced,
        ),
    )


def _new_orders_and_returns() -> tuple[Entry, ...]:
    place = (
        arguments({"customer_id": NAME, "items": CHOSEN_ITEMS, "payment_method": choice("card", "invoice")}),
        forms.PLACED,
    )
    send_back: Schema = {"order_id": NAME, "items": CHOSEN_ITEMS, "reason": choice(*forms.RETURN_REASONS)}
    return (
        _entry(
            order_writes.place_order,
            "Place an order for a customer, to their address.",
            "orders",
            place,
            effect=Effect.WRITE,
        ),
        _entry(
            order_writes.place_order,
            "Place an order for a customer over the phone desk, to their address.",
            "support",
            place,
            name="place_phone_order",
            effect=Effect.WRITE,
            mirror=True,
        ),
        _entry(
            order_writes.create_return,
            "Create a return of delivered goods that the customer brings to a drop-off point.",
            "orders",
            (arguments(send_back, {"idempotency_key": KEY}), forms.RETURN),
            effect=Effect.WRITE,
            idempotency=KEYED,
        ),
        _entry(
            order_writes.book_return_pickup,
            "Create a return of delivered goods that the carrier fetches.",
            "carrier",
            (arguments(send_back), forms.RETURN),
            effect=Effect.WRITE,
            mirror=True,
        ),
    )


def _money_writes() -> tuple[Entry, ...]:
    refund: Schema = {"order_id": NAME, "amount": AMOUNT, "reason": choice(*forms.REFUND_REASONS)}
    return (
        _entry(
            money_writes.refund_to_card,
            "Refund an amount of an order to the card. Cannot be undone.",
            "billing",
            (arguments(refund, {"approval_code": NAME}), forms.REFUND),
            effect=Effect.IRREVERSIBLE,
        ),
        _entry(
            money_writes.refund_as_credit,
            "Refund an amount of an order as store credit, with a shift lead's approval code. Cannot be undone.",
            "crm",
            (arguments(refund | {"approval_code": NAME}), forms.REFUND),
            effect=Effect.IRREVERSIBLE,
        ),
        _entry(
            money_writes.grant_credit,
            "Grant goodwill credit to a customer.",
            "billing",
            (
                arguments({"customer_id": NAME, "amount": AMOUNT, "reason": choice(*forms.CREDIT_REASONS)}),
                forms.CREDIT,
            ),
            effect=Effect.WRITE,
        ),
        _entry(
            money_writes.redeem_gift_card,
            "Pay an amount of an order from a gift card. Cannot be undone.",
            "billing",
            (arguments({"order_id": NAME, "code": NAME, "amount": AMOUNT}, {"idempotency_key": KEY}), forms.REDEEMED),
            effect=Effect.IRREVERSIBLE,
            idempotency=KEYED,
        ),
    )


def _contact_writes() -> tuple[Entry, ...]:
    text: Schema = {"type": "string", "minLength": 1, "maxLength": 2000}
    message = (
        arguments({"customer_id": NAME, "topic": choice(*forms.MESSAGE_TOPICS), "text": text}, {"order_id": NAME}),
        forms.LOGGED,
    )
    hand_over = arguments({"reason": choice(*forms.CASE_REASONS), "summary": text}, {"customer_id": NAME})
    return (
        _entry(contact_writes.send_message, "Send the customer an e-mail.", "support", message, effect=Effect.WRITE),
        _entry(
            contact_writes.send_text,
            "Send the customer a text message.",
            "phone",
            message,
            effect=Effect.WRITE,
            mirror=True,
        ),
        _entry(
            contact_writes.transfer_to_human,
            "Hand the customer over to a person, with the reason and a summary.",
            "support",
            (hand_over, forms.LOGGED),
            effect=Effect.WRITE,
            idempotency=NATURAL,
        ),
    )


@lru_cache(maxsize=1)
def entries() -> dict[str, Entry]:
    """Return every tool of the store by name."""
    every = (*_reads(), *_order_writes(), *_new_orders_and_returns(), *_money_writes(), *_contact_writes())
    return {entry.tool.name: entry for entry in every}


@lru_cache(maxsize=4)
def entries_of(condition: str) -> dict[str, Entry]:
    """Return the tools of a condition: without alternatives, mirrors are gone and so are the paths to them."""
    if condition == ALTERNATIVES:
        return entries()
    kept = {name: entry for name, entry in entries().items() if not entry.tool.mirror}
    return {
        name: replace(entry, tool=replace(entry.tool, paths=tuple(p for p in entry.tool.paths if p.tool in kept)))
        for name, entry in kept.items()
    }
