"""Other ways to the same information: how the arguments and the answers of equivalent tools map onto each other."""

from __future__ import annotations

from typing import Any

from breakfall.vocab import Arguments, Granularity, Json, Path
from breakfall.vocab.tool import MapArguments, MapValue, same_value
from breakfall.worlds.store.forms import ACCOUNT


def known(**names: str) -> MapArguments:
    """Map arguments by name: ``known(order_id="order_id")`` takes each from the call, else from its context."""

    def arguments(given: Arguments, context: Arguments) -> dict[str, Json] | None:
        mapped = {}
        for target, source in names.items():
            value = given.get(source, context.get(source))
            if value is None:
                return None
            mapped[target] = value
        return mapped

    return arguments


def careful(value: MapValue) -> MapValue:
    """Turn every way in which an answer can lack what is sought into `LookupError`."""

    def mapped(answer: Json, given: Arguments, context: Arguments) -> Json:
        try:
            return value(answer, given, context)
        except LookupError:
            raise
        except (TypeError, AttributeError, ValueError) as error:
            raise LookupError(f"the other tool's answer is not in its usual form: {error}") from None

    return mapped


def partial(tool: str, arguments: MapArguments, value: MapValue, *missing: str) -> Path:
    """Return a path that gives a part."""
    return Path(
        tool=tool,
        arguments=arguments,
        value=value if value is same_value else careful(value),
        granularity=Granularity.PARTIAL,
        missing=missing,
    )


def exact(tool: str, arguments: MapArguments, value: MapValue = same_value) -> Path:
    """Return a path that gives the whole."""
    return Path(tool=tool, arguments=arguments, value=value if value is same_value else careful(value))


def picked(items: Json, field: str, value: Json) -> dict[str, Any]:
    """Return the item of a list whose field has this value.

    Raises:
        LookupError: There is none.
    """
    for item in items:
        if item[field] == value:
            return dict(item)
    raise LookupError(f"no item with {field} {value!r} in the other tool's answer")


def _order_from_list(answer: Json, given: Arguments, context: Arguments) -> Json:
    return picked(answer["orders"], "order_id", given["order_id"]) | {"as_of": answer["as_of"]}


def _product_from_search(answer: Json, given: Arguments, context: Arguments) -> Json:
    return picked(answer["products"], "product_id", given["product_id"]) | {"as_of": answer["as_of"]}


def _product_from_item(answer: Json, given: Arguments, context: Arguments) -> Json:
    if answer["product_id"] != given["product_id"]:
        raise LookupError(f"{answer['sku']} belongs to product {answer['product_id']}, not {given['product_id']}")
    variant = {name: answer[name] for name in ("sku", "option", "price")}
    return {
        "product_id": answer["product_id"],
        "name": answer["name"],
        "variants": [variant],
        "as_of": answer["as_of"],
    }


def _item_from_product(answer: Json, given: Arguments, context: Arguments) -> Json:
    variant = picked(answer["variants"], "sku", given["sku"])
    shown = {"product_id": answer["product_id"], "name": answer["name"], "as_of": answer["as_of"]}
    return {name: variant[name] for name in ("sku", "option", "price")} | shown


def _search_from_product(answer: Json, given: Arguments, context: Arguments) -> Json:
    if given["name"].lower() not in answer["name"].lower():
        raise LookupError(f"product {answer['product_id']} is {answer['name']!r}, not {given['name']!r}")
    product = {name: answer[name] for name in ("product_id", "name", "variants", "count")}
    return {"products": [product], "as_of": answer["as_of"]}


def _stock_from_shelf(answer: Json, given: Arguments, context: Arguments) -> Json:
    stock = {name: value for name, value in answer.items() if name not in {"on_hand", "reserved"}}
    return stock | {"available": answer["on_hand"] - answer["reserved"]}


def _shelf_from_stock(answer: Json, given: Arguments, context: Arguments) -> Json:
    shelf = {name: value for name, value in answer.items() if name != "available"}
    return shelf | {"sku": answer["sku"], "as_of": answer["as_of"]}


def _payments_from_invoice(answer: Json, given: Arguments, context: Arguments) -> Json:
    return {name: answer[name] for name in ACCOUNT}


def _from_wallet(part: str) -> MapValue:
    def value(answer: Json, given: Arguments, context: Arguments) -> Json:
        return picked(answer[part], "code", given["code"]) | {"as_of": answer["as_of"]}

    return value


def _approved(given: Arguments, context: Arguments) -> dict[str, Json] | None:
    code = given.get("approval_code", context.get("approval_code"))
    if code is None:
        return None
    return {name: value for name, value in given.items() if name != "idempotency_key"} | {"approval_code": code}


def without_key(given: Arguments, context: Arguments) -> dict[str, Json]:
    """Map arguments to themselves, less the idempotency key, which another server does not know."""
    return {name: value for name, value in given.items() if name != "idempotency_key"}


Paths = dict[str, tuple[Path, ...]]

READ_PATHS: Paths = {
    "find_customer_by_email": (exact("find_customer_by_name", known(name="name", postcode="postcode")),),
    "find_customer_by_name": (exact("find_customer_by_email", known(email="email")),),
    "get_order": (
        partial(
            "list_customer_orders", known(customer_id="customer_id"), _order_from_list,
            "coupon", "discount", "shipping", "balance_due", "address",
        ),
        partial(
            "search_orders", known(email="email"), _order_from_list,
            "coupon", "discount", "shipping", "balance_due", "address",
        ),
    ),
    "list_customer_orders": (exact("search_orders", known(email="email")),),
    "search_orders": (exact("list_customer_orders", known(customer_id="customer_id")),),
    "get_product": (
        partial("search_products", known(name="product_name"), _product_from_search, "category", "description"),
        partial("get_item_by_sku", known(sku="sku"), _product_from_item,
            "variants", "count", "category", "description",
       ),
    ),
    "search_products": (partial("get_product", known(product_id="product_id"), _search_from_product, "count"),),
    "get_item_by_sku": (exact("get_product", known(product_id="product_id"), _item_from_product),),
    "get_stock": (exact("get_warehouse_stock", known(sku="sku"), _stock_from_shelf),),
    "get_warehouse_stock": (partial("get_stock", known(sku="sku"), _shelf_from_stock, "on_hand", "reserved"),),
    "get_shipment": (exact("track_parcel", known(tracking_number="tracking_number")),),
    "track_parcel": (exact("get_shipment", known(order_id="order_id")),),
    "list_payments": (exact("get_invoice", known(order_id="order_id"), _payments_from_invoice),),
    "get_invoice": (
        partial("list_payments", known(order_id="order_id"), same_value, "customer_id", "total", "balance_due"),
    ),
    "get_gift_card": (exact("get_wallet", known(customer_id="customer_id"), _from_wallet("gift_cards")),),
    "get_coupon": (partial("get_wallet", known(customer_id="customer_id"), _from_wallet("coupons"), "minimum"),),
}  # fmt: skip

WRITE_PATHS: Paths = {
    "cancel_order": (exact("request_cancellation", without_key),),
    "request_cancellation": (exact("cancel_order", without_key),),
    "update_order_address": (exact("request_redirect", without_key),),
    "request_redirect": (exact("update_order_address", without_key),),
    "refund_to_card": (exact("refund_as_credit", _approved),),
    "refund_as_credit": (exact("refund_to_card", without_key),),
    "place_order": (exact("place_phone_order", without_key),),
    "place_phone_order": (exact("place_order", without_key),),
    "create_return": (exact("book_return_pickup", without_key),),
    "book_return_pickup": (exact("create_return", without_key),),
    "send_message": (exact("send_text", without_key),),
    "send_text": (exact("send_message", without_key),),
}


def paths_of(tool: str) -> tuple[Path, ...]:
    """Return the paths that can stand in for a tool."""
    return READ_PATHS.get(tool) or WRITE_PATHS.get(tool, ())
