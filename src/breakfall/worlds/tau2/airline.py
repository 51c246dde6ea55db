"""The airline domain: services, readers, equivalences and mirrors over flights, users and reservations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from breakfall.vocab import Arguments, Json, Path, Settlement
from breakfall.worlds.gold.domain import Domain, GoldCall, Mirror, names
from breakfall.worlds.gold.mapping import from_context, given
from breakfall.worlds.gold.readers import reader, yes
from breakfall.worlds.gold.session import Ask, Refused
from breakfall.worlds.tau2.retail import part

_NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
_NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
_RESERVATION_WRITES = (
    "book_reservation cancel_reservation update_reservation_baggages update_reservation_flights"
    " update_reservation_passengers"
)
_WRITES = names(f"{_RESERVATION_WRITES} send_certificate")
_BOOKED = ("user_id", "origin", "destination", "flight_type", "cabin", "total_baggages", "nonfree_baggages")


def _booked(user: Any, write: Arguments) -> Settlement | None:
    new = [key for key in user["reservations"] if key in _NEW_RESERVATIONS]
    if not new:
        return None
    held = {name: write[name] for name in (*_BOOKED, "passengers", "insurance")}
    return yes({"reservation_id": new[-1], **held}, f"reservation {new[-1]} is new")


def _cancelled(reservation: Any, write: Arguments) -> Settlement | None:
    return yes(reservation, "the reservation is cancelled") if reservation["status"] == "cancelled" else None


def _certified(user: Any, write: Arguments) -> Settlement | None:
    for key in _NEW_CERTIFICATES:
        if key in user["payment_methods"] and user["payment_methods"][key]["amount"] == write["amount"]:
            text = f"Certificate {key} added to user {write['user_id']} with amount {write['amount']}."
            return yes(text, f"{key} is there")
    return None


def _bags(reservation: Any, write: Arguments) -> Settlement | None:
    same = all(reservation[name] == write[name] for name in ("total_baggages", "nonfree_baggages"))
    return yes(reservation, "the reservation shows the bags") if same else None


def _reflown(reservation: Any, write: Arguments) -> Settlement | None:
    asked = [(leg["flight_number"], leg["date"]) for leg in write["flights"]]
    held = [(leg["flight_number"], leg["date"]) for leg in reservation["flights"]]
    same = held == asked and reservation["cabin"] == write["cabin"]
    return yes(reservation, "the reservation shows flights and cabin") if same else None


def _renamed(reservation: Any, write: Arguments) -> Settlement | None:
    return yes(reservation, "they are listed") if reservation["passengers"] == list(write["passengers"]) else None


def opening(ask: Ask, calls: Sequence[GoldCall], instruction: str) -> list[GoldCall]:
    """Begin with the look-ups that a gold solution of writes alone passes over: its ids come from nowhere."""
    if not calls or any(call.tool not in _WRITES for call in calls):
        return []
    named = [call.arguments["reservation_id"] for call in calls if "reservation_id" in call.arguments]
    held = {
        key: ask("get_reservation_details", {"reservation_id": key}) for key in named if key not in _NEW_RESERVATIONS
    }
    users = [call.arguments["user_id"] for call in calls if "user_id" in call.arguments]
    users += [reservation["user_id"] for reservation in held.values()]
    return [
        *(GoldCall(tool="get_user_details", arguments={"user_id": key}) for key in users[:1]),
        *(GoldCall(tool="get_reservation_details", arguments={"reservation_id": key}) for key in held),
    ]


def context(ask: Ask, call: GoldCall, calls: Sequence[GoldCall]) -> dict[str, Any]:
    """Return what the mirrors need besides a call's own arguments."""
    try:
        match call.tool:
            case "get_reservation_details":
                return {"user_id": ask(call.tool, call.arguments)["user_id"]}
            case "get_user_details":
                owned = ask(call.tool, call.arguments)["reservations"]
                named = [other.arguments.get("reservation_id") for other in calls]
                return {"reservation_id": mine[0]} if (mine := [key for key in named if key in owned]) else {}
    except Refused:
        pass
    return {}


def _user_reservations(ask: Ask, asked: Mapping[str, Any]) -> Any:
    user = ask("get_user_details", {"user_id": asked["user_id"]})
    return [ask("get_reservation_details", {"reservation_id": key}) for key in user["reservations"]]


def _user_by_reservation(ask: Ask, asked: Mapping[str, Any]) -> Any:
    reservation = ask("get_reservation_details", {"reservation_id": asked["reservation_id"]})
    return ask("get_user_details", {"user_id": reservation["user_id"]})


def _departures(ask: Ask, asked: Mapping[str, Any]) -> Any:
    airports = ask("list_all_airports", {})
    codes = [airport["iata"] for airport in airports] if isinstance(airports, list) else list(airports)
    found: list[Any] = []
    for code in codes:
        direct = {"origin": asked["origin"], "destination": code, "date": asked["date"]}
        found += [flight | {"destination": code} for flight in ask("search_direct_flight", direct)]
    return found


def _bound_for(value: Json, arguments: Arguments, context: Arguments) -> Json:
    return [flight for flight in value if flight["destination"] == arguments["destination"]]


def _reservation(value: Json, arguments: Arguments, context: Arguments) -> Json:
    for reservation in value:
        if reservation["reservation_id"] == arguments["reservation_id"]:
            return reservation
    raise LookupError(f"no reservation {arguments['reservation_id']!r}")


def _payment_methods(tables: Mapping[str, Any]) -> Iterable[str]:
    return [key for user in tables["users"].values() for key in part(user, "payment_methods")]


AIRLINE = Domain(
    services={
        "airline/profiles": "get_user_details send_certificate",
        "airline/reservations": f"get_reservation_details {_RESERVATION_WRITES}",
        "airline/schedule": "search_direct_flight search_onestop_flight list_all_airports",
        "airline/operations": "get_flight_status",
        "airline/desk": "calculate think transfer_to_human_agents",
    },
    writes=names(
        "update_reservation_baggages update_reservation_flights update_reservation_passengers transfer_to_human_agents"
    ),
    irreversible=names("book_reservation cancel_reservation send_certificate"),
    natural=names(
        "update_reservation_baggages update_reservation_flights update_reservation_passengers transfer_to_human_agents"
    ),
    unseen=names("transfer_to_human_agents"),
    unread=names("summary"),
    readers={
        "book_reservation": reader("get_user_details", _booked, given("user_id")),
        "cancel_reservation": reader("get_reservation_details", _cancelled, given("reservation_id")),
        "send_certificate": reader("get_user_details", _certified, given("user_id")),
        "update_reservation_baggages": reader("get_reservation_details", _bags, given("reservation_id")),
        "update_reservation_flights": reader("get_reservation_details", _reflown, given("reservation_id")),
        "update_reservation_passengers": reader("get_reservation_details", _renamed, given("reservation_id")),
    },
    echoes=names(
        "cancel_reservation update_reservation_baggages update_reservation_flights update_reservation_passengers"
    ),
    mirrors=(
        Mirror(
            name="list_user_reservations",
            description="List all reservations of a user in full, from the account service.",
            parameters={"user_id": {"type": "string", "description": "The user's id."}},
            fault_domain="account/reservations",
            run=_user_reservations,
        ),
        Mirror(
            name="get_user_by_reservation",
            description="Get the details of the user whose reservation it is, from the check-in service.",
            parameters={"reservation_id": {"type": "string", "description": "The reservation's id."}},
            fault_domain="checkin/users",
            run=_user_by_reservation,
        ),
        Mirror(
            name="list_departures",
            description="List all direct flights that leave an airport on a day, from the airport's board.",
            parameters={
                "origin": {"type": "string", "description": "The airport's code in three letters."},
                "date": {"type": "string", "description": "The day as YYYY-MM-DD."},
            },
            fault_domain="board/departures",
            run=_departures,
        ),
    ),
    mirror_paths={
        "get_reservation_details": (
            Path(tool="list_user_reservations", arguments=from_context("user_id"), value=_reservation),
        ),
        "get_user_details": (Path(tool="get_user_by_reservation", arguments=from_context("reservation_id")),),
        "search_direct_flight": (Path(tool="list_departures", arguments=given("origin", "date"), value=_bound_for),),
    },
    kinds={
        "reservations": "id:reservation",
        "id": "id:payment_method",
        "payment_id": "id:payment_method",
        "flight_number": "id:flight",
        "origin": "id:airport",
        "destination": "id:airport",
        "iata": "id:airport",
        "price": "money",
        "prices": "money",
        "amount": "money",
    },
    ids={
        "reservation": lambda tables: tables["reservations"],
        "user": lambda tables: tables["users"],
        "flight": lambda tables: tables["flights"],
        "airport": lambda tables: sorted({part(flight, "origin") for flight in tables["flights"].values()}),
        "payment_method": _payment_methods,
    },
    opening=opening,
    context=context,
)
