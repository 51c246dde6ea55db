"""What a read tells about a write: applied, not applied, or not to be told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from breakfall.vocab import Applied, Arguments, Json, Reader, Settlement
from breakfall.vocab.tool import Judge
from breakfall.worlds.store.calendar import stamp
from breakfall.worlds.store.paths import known

Look: TypeAlias = Callable[[Json, Arguments, str], Json]
"""(the reader's value, arguments of the write, when it was sent) -> the write's answer, None if it was not applied.

It raises `LookupError` where the value cannot tell.
"""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def judge_by(look: Look) -> Judge:
    """Build the judge that trusts an answer only if it is fresh, whole and well formed."""

    def judge(value: Json, arguments: Arguments, sent_at: float) -> Settlement:
        since = stamp(sent_at)
        try:
            if not _STAMP.fullmatch(value["as_of"]):
                raise ValueError(f"as_of is {value['as_of']!r}, no timestamp")
            if value["as_of"] < since:
                raise LookupError(f"the answer is as of {value['as_of']}, the write was sent at {since}")
            found = look(value, arguments, since)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            return Settlement(applied=Applied.UNKNOWN, evidence=f"the answer cannot tell: {reason}")
        if found is None:
            return Settlement(applied=Applied.NO, evidence=f"nothing of the kind in the answer as of {value['as_of']}")
        return Settlement(applied=Applied.YES, value=found, evidence=f"found in the answer as of {value['as_of']}")

    return judge


def _about(value: Json, arguments: Arguments, field: str) -> None:
    """Raise `LookupError` if the answer is about another record."""
    if value[field] != arguments[field]:
        raise LookupError(f"the answer is about {value[field]!r}, the write about {arguments[field]!r}")


def _whole(value: Json, items: str, count: str = "count") -> list[dict[str, Any]]:
    """Return a list of the answer, whole.

    Raises:
        LookupError: The count beside it says that items are missing.
    """
    found: list[dict[str, Any]] = value[items]
    if len(found) != value[count]:
        raise LookupError(f"{items} has {len(found)} items where {count} says {value[count]}")
    return found


def _fields(record: Json, *names: str) -> dict[str, Json]:
    return {name: record[name] for name in names}


def _cents(amount: float) -> int:
    return round(amount * 100)


def _latest(items: list[dict[str, Any]]) -> dict[str, Any] | None:
    return max(items, key=lambda item: str(item["created_at"]), default=None)


def _cancelled(order: Json, given: Arguments, since: str) -> Json:
    _about(order, given, "order_id")
    return _fields(order, "order_id", "status", "updated_at") if order["status"] == "cancelled" else None


def _readdressed(order: Json, given: Arguments, since: str) -> Json:
    _about(order, given, "order_id")
    address = _fields(order["address"], "line1", "city", "postcode")
    return _fields(order, "order_id", "address", "updated_at") if address == given["address"] else None


def _repriced(order: Json) -> Json:
    _whole(order, "items")
    return _fields(order, "order_id", "items", "coupon", "discount", "total", "updated_at")


def _discounted(order: Json, given: Arguments, since: str) -> Json:
    _about(order, given, "order_id")
    return _repriced(order) if order["coupon"] == given["code"] else None


def _changed(order: Json, given: Arguments, since: str) -> Json:
    _about(order, given, "order_id")
    skus = [item["sku"] for item in _whole(order, "items")]
    return _repriced(order) if given["new_sku"] in skus else None


def _chosen(items: Json) -> list[tuple[str, int]]:
    return sorted((item["sku"], item["quantity"]) for item in items)


def _placed(answer: Json, given: Arguments, since: str) -> Json:
    _about(answer, given, "customer_id")
    wanted = _chosen(given["items"])
    for order in _whole(answer, "orders"):
        if order["placed_at"] >= since and _chosen(_whole(order, "items")) == wanted:
            return _fields(order, "order_id", "customer_id", "status", "items", "total", "placed_at")
    return None


def _refunded(method: str) -> Look:
    def look(account: Json, given: Arguments, since: str) -> Json:
        _about(account, given, "order_id")
        wanted = _cents(given["amount"])
        return _latest(
            [
                refund
                for refund in _whole(account, "refunds", "refund_count")
                if refund["created_at"] >= since and refund["method"] == method and _cents(refund["amount"]) == wanted
            ]
        )

    return look


def _credited(wallet: Json, given: Arguments, since: str) -> Json:
    _about(wallet, given, "customer_id")
    if len(wallet["gift_cards"]) + len(wallet["coupons"]) + len(wallet["credits"]) != wallet["count"]:
        raise LookupError(f"the wallet's lists do not add up to its count, {wallet['count']}")
    wanted = (_cents(given["amount"]), given["reason"])
    return _latest(
        [
            credit
            for credit in wallet["credits"]
            if credit["created_at"] >= since and (_cents(credit["amount"]), credit["reason"]) == wanted
        ]
    )


def _redeemed(account: Json, given: Arguments, since: str) -> Json:
    _about(account, given, "order_id")
    wanted = (given["code"], _cents(given["amount"]))
    found = _latest(
        [
            payment
            for payment in _whole(account, "payments")
            if payment["created_at"] >= since and (payment["gift_card"], _cents(payment["amount"])) == wanted
        ]
    )
    if found is None:
        return None
    return {"order_id": account["order_id"]} | _fields(found, "payment_id", "gift_card", "amount", "created_at")


def _sent_back(method: str) -> Look:
    def look(answer: Json, given: Arguments, since: str) -> Json:
        _about(answer, given, "order_id")
        wanted = _chosen(given["items"])
        return _latest(
            [
                entry
                for entry in _whole(answer, "returns")
                if entry["created_at"] >= since
                and entry["method"] == method
                and _chosen(_whole(entry, "items")) == wanted
            ]
        )

    return look


def _contacted(channel: str) -> Look:
    def look(answer: Json, given: Arguments, since: str) -> Json:
        _about(answer, given, "customer_id")
        wanted = ("message", channel, given["topic"], given.get("order_id"))
        found = _latest(
            [
                entry
                for entry in _whole(answer, "contacts")
                if entry["created_at"] >= since
                and (entry["kind"], entry["channel"], entry["topic"], entry["order_id"]) == wanted
            ]
        )
        return found and _fields(found, "contact_id", "topic", "created_at")

    return look


def _transferred(answer: Json, given: Arguments, since: str) -> Json:
    # An earlier open case for the same reason is as good: another transfer would change nothing.
    _about(answer, given, "customer_id")
    cases = [entry for entry in _whole(answer, "contacts") if entry["kind"] == "case"]
    found = _latest([entry for entry in cases if entry["topic"] == given["reason"]])
    return found and _fields(found, "contact_id", "topic", "created_at")


def _reader(tool: str, by: str, look: Look) -> Reader:
    return Reader(tool=tool, arguments=known(**{by: by}), judge=judge_by(look))


_ORDER_CANCELLED = _reader("get_order", "order_id", _cancelled)
_ORDER_READDRESSED = _reader("get_order", "order_id", _readdressed)
_ORDER_PLACED = _reader("list_customer_orders", "customer_id", _placed)

READERS: dict[str, Reader] = {
    "cancel_order": _ORDER_CANCELLED,
    "request_cancellation": _ORDER_CANCELLED,
    "update_order_address": _ORDER_READDRESSED,
    "request_redirect": _ORDER_READDRESSED,
    "apply_coupon": _reader("get_order", "order_id", _discounted),
    "change_item": _reader("get_order", "order_id", _changed),
    "place_order": _ORDER_PLACED,
    "place_phone_order": _ORDER_PLACED,
    "create_return": _reader("list_returns", "order_id", _sent_back("drop_off")),
    "book_return_pickup": _reader("list_returns", "order_id", _sent_back("pickup")),
    "refund_to_card": _reader("get_invoice", "order_id", _refunded("card")),
    "refund_as_credit": _reader("list_payments", "order_id", _refunded("store_credit")),
    "grant_credit": _reader("get_wallet", "customer_id", _credited),
    "redeem_gift_card": _reader("get_invoice", "order_id", _redeemed),
    "send_message": _reader("get_contact_history", "customer_id", _contacted("email")),
    "send_text": _reader("get_contact_history", "customer_id", _contacted("text")),
    "transfer_to_human": _reader("get_contact_history", "customer_id", _transferred),
}
"""For every write, the read that tells what became of it."""
