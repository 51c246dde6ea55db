"""The telecom domain: the operator's records and the user's own phone, whose tools the agent holds as well.

As in τ²'s solo mode one agent calls the tools of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from breakfall.vocab import Arguments, Json, Path, Reader, Settlement
from breakfall.worlds.gold.domain import Domain, GoldCall, names
from breakfall.worlds.gold.mapping import from_context, given, renamed
from breakfall.worlds.gold.readers import Tell, reader, yes
from breakfall.worlds.gold.session import Ask

_BY_PHONE, _BY_NAME, _BY_ID, _RECORD = (
    "get_customer_by_phone",
    "get_customer_by_name",
    "get_customer_by_id",
    "get_details_by_id",
)


def _of_record(name: str, tell: Tell) -> Reader:
    """Build a reader of the record whose id is the write's argument `name`."""
    return reader(_RECORD, tell, renamed(id=name))


def _is(field: str, wanted: Any, answer: Callable[[Any, Arguments], Any]) -> Tell:
    def tell(record: Any, write: Arguments) -> Settlement | None:
        return yes(answer(record, write), f"{field} is {wanted!r}") if record[field] == wanted else None

    return tell


def _refuelled(line: Any, write: Arguments) -> Settlement | None:
    held = line["data_refueling_gb"]
    return yes({"new_data_refueling_gb": held}, f"{held} GB were added") if held >= write["gb_amount"] else None


def _shows(text: Callable[[Arguments], str]) -> Tell:
    """Tell from a text of the phone; what the write itself would have said is not known."""

    def tell(value: Any, write: Arguments) -> Settlement | None:
        return yes(value, "the phone shows it") if text(write) in value else None

    return tell


def _permitted(value: Any, write: Arguments) -> Settlement | None:
    granted = value.partition("has permission for: ")[2].rstrip(".").split(", ")
    wanted = write["permission"].lower().replace("_", " ")
    return yes(value, "the permission is listed") if wanted in granted else None


def _seated(value: Any, write: Arguments) -> Settlement | None:
    return None if "No SIM card" in value else yes(value, "a SIM card is there")


def _disconnected(value: Any, write: Arguments) -> Settlement | None:
    return None if "ON and connected" in value else yes(value, "no VPN is connected")


def opening(ask: Ask, calls: Sequence[GoldCall], instruction: str) -> list[GoldCall]:
    """Begin with looking up the customer by the phone number in the text: gold has the ids from nowhere."""
    for call in calls:
        if "customer_id" in call.arguments:
            customer = ask(_BY_ID, {"customer_id": call.arguments["customer_id"]})
            lines = [ask(_RECORD, {"id": key}) for key in customer["line_ids"]]
            numbers = [line["phone_number"] for line in lines] + [customer["phone_number"]]
            return [
                GoldCall(tool=_BY_PHONE, arguments={"phone_number": number})
                for number in numbers
                if number in instruction
            ][:1]
    return []


def _names(ask: Ask, call: GoldCall) -> dict[str, Any]:
    if call.tool != _BY_PHONE:
        return {}
    customer = ask(call.tool, call.arguments)
    return {"full_name": customer["full_name"], "dob": customer["date_of_birth"]}


def known(ask: Ask, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Let the user also state name and date of birth: tasks state the phone number and the name alone."""
    facts: dict[str, Any] = {}
    for call in calls:
        facts.update(_names(ask, call))
    return facts


def context(ask: Ask, call: GoldCall, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Return what the look-up by name needs besides a call's own arguments."""
    return _names(ask, call)


def _first(value: Json, arguments: Arguments, context: Arguments) -> Json:
    if not value:
        raise LookupError("no customer of that name and date of birth")
    return value[0]


def _customer_id(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    key = original.get("id")
    return {"customer_id": key} if isinstance(key, str) and key.startswith("C") else None


def _as_permissions(value: Json, arguments: Arguments, context: Arguments) -> Json:
    name = arguments["app_name"]
    granted = [line.removeprefix("   - ") for line in value.splitlines() if line.startswith("   - ")]
    if not value.startswith("Status for App"):
        return value
    listed = f"has permission for: {', '.join(granted)}." if granted else "currently has no permissions granted."
    return f"App '{name}' {listed}"


def _as_status(value: Json, arguments: Arguments, context: Arguments) -> Json:
    name = arguments["app_name"]
    head, _, tail = value.partition("has permission for: ")
    if tail:
        lines = "\n".join(f"   - {granted}" for granted in tail.rstrip(".").split(", "))
        return f"Status for App: {name}\n - Permissions Granted:\n{lines}"
    if "no permissions granted" in head:
        return f"Status for App: {name}\n - Permissions: None granted."
    return value


TELECOM = Domain(
    services={
        "telecom/phone_index": _BY_PHONE,
        "telecom/directory": _BY_NAME,
        "telecom/customers": _BY_ID,
        "telecom/records": _RECORD,
        "telecom/lines": "suspend_line resume_line enable_roaming disable_roaming refuel_data get_data_usage",
        "telecom/billing": "get_bills_for_customer send_payment_request",
        "telecom/desk": "transfer_to_human_agents",
        "phone/network": "check_status_bar check_network_status check_network_mode_preference"
        " set_network_mode_preference toggle_airplane_mode toggle_data toggle_roaming",
        "phone/data": "run_speed_test check_data_restriction_status toggle_data_saver_mode",
        "phone/sim": "check_sim_status reseat_sim_card",
        "phone/apn": "check_apn_settings set_apn_settings reset_apn_settings can_send_mms",
        "phone/wifi": "check_wifi_status toggle_wifi check_wifi_calling_status toggle_wifi_calling",
        "phone/vpn": "check_vpn_status connect_vpn disconnect_vpn",
        "phone/apps": "check_installed_apps check_app_status grant_app_permission",
        "phone/permissions": "check_app_permissions",
        "phone/power": "reboot_device",
        "phone/payments": "check_payment_request make_payment",
    },
    writes=names(
        "suspend_line resume_line enable_roaming disable_roaming transfer_to_human_agents"
        " toggle_airplane_mode toggle_data toggle_roaming toggle_data_saver_mode toggle_wifi toggle_wifi_calling"
        " set_network_mode_preference set_apn_settings reset_apn_settings reseat_sim_card connect_vpn disconnect_vpn"
        " grant_app_permission reboot_device"
    ),
    irreversible=names("refuel_data send_payment_request make_payment"),
    natural=names(
        "enable_roaming disable_roaming transfer_to_human_agents set_network_mode_preference set_apn_settings"
        " reset_apn_settings reseat_sim_card connect_vpn disconnect_vpn grant_app_permission reboot_device make_payment"
    ),
    unseen=names("transfer_to_human_agents"),
    unread=names("summary reason"),
    readers={
        "suspend_line": _of_record("line_id", _is("status", "Suspended", lambda line, write: {"line": line})),
        "resume_line": _of_record("line_id", _is("status", "Active", lambda line, write: {"line": line})),
        "enable_roaming": _of_record(
            "line_id", _is("roaming_enabled", True, lambda line, write: "Roaming enabled successfully")
        ),
        "disable_roaming": _of_record(
            "line_id", _is("roaming_enabled", False, lambda line, write: "Roaming disabled successfully")
        ),
        "refuel_data": _of_record("line_id", _refuelled),
        "send_payment_request": _of_record(
            "bill_id",
            _is(
                "status",
                "Awaiting Payment",
                lambda bill, write: f"Payment request sent to the customer for bill {bill['bill_id']}",
            ),
        ),
        "make_payment": reader("check_payment_request", _shows(lambda write: "No payment request"), given()),
        "set_network_mode_preference": reader(
            "check_network_mode_preference", _shows(lambda write: write["mode"]), given()
        ),
        "grant_app_permission": reader("check_app_permissions", _permitted, given("app_name")),
        "reseat_sim_card": reader("check_sim_status", _seated, given()),
        "connect_vpn": reader("check_vpn_status", _shows(lambda write: "ON and connected"), given()),
        "disconnect_vpn": reader("check_vpn_status", _disconnected, given()),
    },
    paths={
        _BY_PHONE: (Path(tool=_BY_NAME, arguments=from_context("full_name", "dob"), value=_first),),
        _BY_ID: (Path(tool=_RECORD, arguments=renamed(id="customer_id")),),
        _RECORD: (Path(tool=_BY_ID, arguments=_customer_id),),
        "check_app_permissions": (Path(tool="check_app_status", value=_as_permissions),),
        "check_app_status": (Path(tool="check_app_permissions", value=_as_status),),
    },
    kinds={
        "id": "id:record",
        "bill_ids": "id:bill",
        "line_ids": "id:line",
        "price_per_month": "money",
        "total_due": "money",
        "amount": "money",
    },
    ids={
        "customer": lambda tables: [customer.customer_id for customer in tables["customers"]],
        "line": lambda tables: [line.line_id for line in tables["lines"]],
        "bill": lambda tables: [bill.bill_id for bill in tables["bills"]],
        "plan": lambda tables: [plan.plan_id for plan in tables["plans"]],
        "device": lambda tables: [device.device_id for device in tables["devices"]],
    },
    opening=opening,
    known=known,
    context=context,
)
