"""The retail domain: services, readers, equivalences and mirrors over orders, users and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from breakfall.vocab import Arguments, Path, Settlement
from breakfall.worlds.gold.domain import Domain, GoldCall, Mirror, names
from breakfall.worlds.gold.mapping import from_context, given, item
from breakfall.worlds.gold.readers import UNKNOWN, reader, yes
from breakfall.worlds.gold.session import Ask, Refused

_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
_NAME_ZIP = ("first_name", "last_name", "zip")
_BY_EMAIL, _BY_NAME = "find_user_id_by_email", "find_user_id_by_name_zip"
_ORDER_WRITES = (
    "cancel_pending_order exchange_delivered_order_items modify_pending_order_address modify_pending_order_items"
    " modify_pending_order_payment return_delivered_order_items"
)
_WRITES = names(f"{_ORDER_WRITES} modify_user_address")


def part(record: Any, name: str) -> Any:
    """Return a field of a record, which is a model in τ² and a dict in τ-bench's data."""
    return record[name] if isinstance(record, dict) else getattr(record, name)


def _cancelled(order: Any, write: Arguments) -> Settlement | None:
    if order["status"] == "cancelled":
        return yes(order, "the order is cancelled") if order["cancel_reason"] == write["reason"] else UNKNOWN
    return None


def _exchanged(order: Any, write: Arguments) -> Settlement | None:
    asked = sorted(write["item_ids"]), sorted(write["new_item_ids"]), write["payment_method_id"]
    if order["status"] != "exchange requested":
        return None
    held = order["exchange_items"], order["exchange_new_items"], order["exchange_payment_method_id"]
    return yes(order, "the exchange is requested") if held == asked else None


def _returned(order: Any, write: Arguments) -> Settlement | None:
    asked = sorted(write["item_ids"]), write["payment_method_id"]
    if order["status"] != "return requested":
        return None
    held = order["return_items"], order["return_payment_method_id"]
    return yes(order, "the return is requested") if held == asked else None


def _addressed(record: Any, write: Arguments) -> Settlement | None:
    same = all(record["address"][name] == write[name] for name in _ADDRESS)
    return yes(record, "the address is the new one") if same else None


def _items_modified(order: Any, write: Arguments) -> Settlement | None:
    if order["status"] == "pending":
        return None
    held = [line["item_id"] for line in order["items"]]
    there = order["status"] == "pending (item modified)" and all(item_id in held for item_id in write["new_item_ids"])
    return yes(order, "the order has the new items") if there else UNKNOWN


def _paid_otherwise(order: Any, write: Arguments) -> Settlement | None:
    paid = [part["payment_method_id"] for part in order["payment_history"] if part["transaction_type"] == "payment"]
    return yes(order, "it was paid anew") if write["payment_method_id"] in paid[1:] else None


def _user_of(ask: Ask, call: GoldCall) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = ask("get_user_details", {"user_id": ask(call.tool, call.arguments)})
    except Refused:
        return None
    return found


def _other_key(ask: Ask, call: GoldCall) -> dict[str, Any]:
    """Return the other key of the user whom a look-up finds: tasks state only one."""
    user = _user_of(ask, call)
    if user is None:
        return {}
    if call.tool == _BY_NAME:
        return {"email": user["email"]}
    return {**{name: user["name"][name] for name in _NAME_ZIP[:2]}, "zip": user["address"]["zip"]}


def opening(ask: Ask, calls: Sequence[GoldCall], instruction: str) -> list[GoldCall]:
    """Begin with the look-ups that a gold solution of writes alone passes over: its ids come from nowhere."""
    if not calls or any(call.tool not in _WRITES for call in calls):
        return []
    orders = list(dict.fromkeys(call.arguments["order_id"] for call in calls if "order_id" in call.arguments))
    found = {order: ask("get_order_details", {"order_id": order}) for order in orders}
    owners = [call.arguments.get("user_id") or found[call.arguments["order_id"]]["user_id"] for call in calls]
    user = ask("get_user_details", {"user_id": owners[0]})
    products = {line["item_id"]: line["product_id"] for order in found.values() for line in order["items"]}
    changed = [
        products[item] for call in calls if "new_item_ids" in call.arguments for item in call.arguments["item_ids"]
    ]
    return [
        *_identified(user, instruction),
        GoldCall(tool="get_user_details", arguments={"user_id": owners[0]}),
        *(GoldCall(tool="get_order_details", arguments={"order_id": order}) for order in orders),
        *(GoldCall(tool="get_product_details", arguments={"product_id": key}) for key in dict.fromkeys(changed)),
    ]


def _identified(user: dict[str, Any], instruction: str) -> list[GoldCall]:
    """Look the user up by the key that the text states, if it states one."""
    if user["email"] in instruction:
        return [GoldCall(tool=_BY_EMAIL, arguments={"email": user["email"]})]
    key = {**{name: user["name"][name] for name in _NAME_ZIP[:2]}, "zip": user["address"]["zip"]}
    if all(part in instruction for part in key.values()):
        return [GoldCall(tool=_BY_NAME, arguments=key)]
    return []


def known(ask: Ask, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Let the user also state the key that the task leaves out: e-mail, or name and postcode."""
    facts: dict[str, Any] = {}
    for call in calls:
        if call.tool in (_BY_EMAIL, _BY_NAME):
            facts.update(_other_key(ask, call))
    return facts


def context(ask: Ask, call: GoldCall, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Return what the mirrors need besides a call's own arguments."""
    try:
        match call.tool:
            case "find_user_id_by_email" | "find_user_id_by_name_zip":
                return _other_key(ask, call)
            case "get_order_details":
                return {"user_id": ask(call.tool, call.arguments)["user_id"]}
            case "get_product_details":
                return {"name": ask(call.tool, call.arguments)["name"]}
            case "get_user_details":
                owned = ask(call.tool, call.arguments)["orders"]
                orders = [other.arguments.get("order_id") for other in calls]
                return {"order_id": mine[0]} if (mine := [order for order in orders if order in owned]) else {}
    except Refused:
        pass
    return {}


def _user_orders(ask: Ask, given: Mapping[str, Any]) -> Any:
    user = ask("get_user_details", {"user_id": given["user_id"]})
    return [ask("get_order_details", {"order_id": order}) for order in user["orders"]]


def _products(ask: Ask, given: Mapping[str, Any]) -> Any:
    wanted = given["name"].lower()
    types = ask("list_all_product_types", {})
    return [ask("get_product_details", {"product_id": key}) for name, key in types.items() if wanted in name.lower()]


def _user_by_order(ask: Ask, given: Mapping[str, Any]) -> Any:
    order = ask("get_order_details", {"order_id": given["order_id"]})
    return ask("get_user_details", {"user_id": order["user_id"]})


def _types(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {product["name"]: product["product_id"] for product in value}


RETAIL = Domain(
    services={
        "retail/email_index": _BY_EMAIL,
        "retail/directory": _BY_NAME,
        "retail/profiles": "get_user_details modify_user_address",
        "retail/orders": f"get_order_details {_ORDER_WRITES}",
        "retail/catalogue": "get_product_details list_all_product_types",
        "retail/desk": "calculate think transfer_to_human_agents",
    },
    writes=names("modify_pending_order_address modify_user_address transfer_to_human_agents"),
    irreversible=names(
        "cancel_pending_order exchange_delivered_order_items modify_pending_order_items"
        " modify_pending_order_payment return_delivered_order_items"
    ),
    natural=names("modify_pending_order_address modify_user_address transfer_to_human_agents"),
    unseen=names("transfer_to_human_agents"),
    unread=names("summary"),
    readers={
        "cancel_pending_order": reader("get_order_details", _cancelled, given("order_id")),
        "exchange_delivered_order_items": reader("get_order_details", _exchanged, given("order_id")),
        "return_delivered_order_items": reader("get_order_details", _returned, given("order_id")),
        "modify_pending_order_address": reader("get_order_details", _addressed, given("order_id")),
        "modify_pending_order_items": reader("get_order_details", _items_modified, given("order_id")),
        "modify_pending_order_payment": reader("get_order_details", _paid_otherwise, given("order_id")),
        "modify_user_address": reader("get_user_details", _addressed, given("user_id")),
    },
    echoes=_WRITES,
    paths={
        _BY_EMAIL: (Path(tool=_BY_NAME, arguments=from_context(*_NAME_ZIP)),),
        _BY_NAME: (Path(tool=_BY_EMAIL, arguments=from_context("email")),),
    },
    mirrors=(
        Mirror(
            name="list_user_orders",
            description="List all orders of a user in full, from the account service.",
            parameters={"user_id": {"type": "string", "description": "The user's id."}},
            fault_domain="account/orders",
            run=_user_orders,
        ),
        Mirror(
            name="search_product_by_name",
            description="List the products whose name contains a text, with all their items, from the search service.",
            parameters={"name": {"type": "string", "description": "A part of the name; empty: all products."}},
            fault_domain="search/products",
            run=_products,
        ),
        Mirror(
            name="get_user_by_order",
            description="Get the details of the user whose order it is, from the shipping service.",
            parameters={"order_id": {"type": "string", "description": "The order's id, '#' included."}},
            fault_domain="shipping/users",
            run=_user_by_order,
        ),
    ),
    mirror_paths={
        "get_order_details": (
            Path(tool="list_user_orders", arguments=from_context("user_id"), value=item("order_id")),
        ),
        "get_product_details": (
            Path(tool="search_product_by_name", arguments=from_context("name"), value=item("product_id")),
        ),
        "list_all_product_types": (Path(tool="search_product_by_name", arguments=given(name=""), value=_types),),
        "get_user_details": (Path(tool="get_user_by_order", arguments=from_context("order_id")),),
    },
    kinds={
        "orders": "id:order",
        "id": "id:payment_method",
        "exchange_payment_method_id": "id:payment_method",
        "return_payment_method_id": "id:payment_method",
        "price": "money",
        "amount": "money",
        "balance": "money",
    },
    ids={
        "order": lambda tables: tables["orders"],
        "user": lambda tables: tables["users"],
        "product": lambda tables: tables["products"],
        "item": lambda tables: [key for product in tables["products"].values() for key in part(product, "variants")],
        "payment_method": lambda tables: [
            key for user in tables["users"].values() for key in part(user, "payment_methods")
        ],
    },
    opening=opening,
    known=known,
    context=context,
)
