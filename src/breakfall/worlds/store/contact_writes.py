"""The writes towards people: messages to the customer, and the transfer to a person."""

from __future__ import annotations

from typing import Any, TypeAlias

from breakfall.worlds.store.desk import Desk
from breakfall.worlds.store.records import Contact, Order
from breakfall.worlds.store.views import View

Given: TypeAlias = dict[str, Any]


def logged_view(entry: Contact) -> View:
    """Show a new entry of the contact history."""
    return {"contact_id": entry.contact_id, "topic": entry.topic, "created_at": entry.created_at}


def _log(desk: Desk, customer_id: str, kind: str, topic: str, order_id: str | None, channel: str) -> Contact:
    entry = Contact(
        contact_id=desk.state.new_id("CT", "contact"),
        customer_id=customer_id,
        kind=kind,
        topic=topic,
        order_id=order_id,
        channel=channel,
        created_at=desk.at,
    )
    desk.state.put(entry.contact_id, entry)
    desk.state.join("contacts of customer", customer_id, entry.contact_id)
    return entry


def _message(desk: Desk, given: Given, channel: str) -> View:
    customer, order_id = desk.customer(given), given.get("order_id")
    if order_id is not None:
        desk.need(Order, order_id)
    entry = _log(desk, customer.customer_id, "message", given["topic"], order_id, channel)
    desk.applied("message.sent", f"customer:{customer.customer_id}", topic=entry.topic, order_id=order_id)
    return logged_view(entry)


def send_message(desk: Desk, given: Given) -> View:
    """Send an e-mail; the same call again sends another."""
    return _message(desk, given, "email")


def send_text(desk: Desk, given: Given) -> View:
    """Send a text message; the same call again sends another."""
    return _message(desk, given, "text")


def transfer_to_human(desk: Desk, given: Given) -> View:
    """Hand the customer to a person; while the case is open, the same reason opens no second one."""
    customer_id = given.get("customer_id", "")
    if customer_id:
        desk.customer(given)
    reason = given["reason"]
    for key in desk.state.listed("contacts of customer", customer_id):
        entry = desk.need(Contact, key)
        if entry.kind == "case" and entry.topic == reason:
            return logged_view(entry)
    entry = _log(desk, customer_id, "case", reason, None, "person")
    desk.applied("case.transferred", f"customer:{customer_id or 'unknown'}", reason=reason)
    return logged_view(entry)
