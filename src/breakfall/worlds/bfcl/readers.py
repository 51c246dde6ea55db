"""Readers: the read that tells what became of a write, and how it tells.

A write has none where no single read can tell: orders (only their ids are listed), deletions of the latest message,
insurance, fuel, tokens, settings that nothing displays. Whether a reader can tell also depends on the task (an equal
record may be there already): `gold` tries each on the task's own writes and drops it where it would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from breakfall.vocab import Arguments, Reader, Settlement
from breakfall.worlds.gold.mapping import given
from breakfall.worlds.gold.readers import UNKNOWN as _UNKNOWN
from breakfall.worlds.gold.readers import Tell, reader
from breakfall.worlds.gold.readers import yes as _yes


def _reader(tool: str, tell: Tell, *names: str, **fixed: Any) -> Reader:
    """Build a reader whose arguments are the write's of these names and fixed ones."""
    return reader(tool, tell, given(*names, **fixed))


def _listed(name: str) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        found = write[name] in value["current_directory_content"]
        return _yes(None, f"{write[name]!r} is listed") if found else None

    return tell


def _gone(name: str) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        gone = write[name] not in value["current_directory_content"]
        return _yes({"result": f"'{write[name]}' removed"}, f"{write[name]!r} is not listed") if gone else None

    return tell


def _stands_in(value: Any, write: Arguments) -> Settlement | None:
    folder = write["folder"].rstrip("/")
    if folder in ("", ".", "..") or "/" in folder:
        return _UNKNOWN
    here = value["current_working_directory"].rsplit("/", 1)[-1] == folder
    return _yes({"current_working_directory": folder}, f"the session stands in {folder!r}") if here else None


def _written(value: Any, write: Arguments) -> Settlement | None:
    return _yes(None, "the file holds the text") if value["file_content"] == write["content"] else None


def _moved(value: Any, write: Arguments) -> Settlement | None:
    source, target = write["source"], write["destination"]
    if f"./{source}" in value["matches"]:
        return None
    place = _arrived(value["matches"], source, target)
    return _yes({"result": f"'{source}' moved to '{place}'"}, f"it is at {place!r}") if place else _UNKNOWN


def _copied(value: Any, write: Arguments) -> Settlement | None:
    matches, source, target = value["matches"], write["source"], write["destination"]
    place = _arrived(matches, source, target)
    if place == target:  # a copy under this name, or a folder that was there before
        inside = [match.removeprefix(f"./{source}/") for match in matches if match.startswith(f"./{source}/")]
        if not inside and "." not in source:
            return _UNKNOWN
        if "." not in target and not (inside and all(f"./{target}/{name}" in matches for name in inside)):
            return None
    return _yes({"result": f"'{source}' copied to '{place}'"}, f"it is at {place!r}") if place else None


def _arrived(matches: list[str], source: str, target: str) -> str | None:
    if f"./{target}/{source}" in matches:
        return f"{target}/{source}"
    return target if f"./{target}" in matches else None


def _status(field: str, wanted: bool, answer: Any) -> Tell:
    """Tell from a login status; `answer` is the write's own answer."""

    def tell(value: Any, write: Arguments) -> Settlement | None:
        if value[field] is not wanted:
            return None
        filled = {key: part.format(**write) if type(part) is str else part for key, part in answer.items()}
        return _yes(filled, f"{field} is {wanted}")

    return tell


def _commented(value: Any, write: Arguments) -> Settlement | None:
    found = any(comment["content"] == write["comment_content"] for comment in value)
    return _yes({"comment_status": "Comment added successfully"}, "the comment is there") if found else None


def _mentioned(value: Any, write: Arguments) -> Settlement | None:
    found = all(name in value["mentions"] for name in write["mentioned_usernames"])
    return _yes({"mention_status": "Users mentioned successfully"}, "the tweet mentions them") if found else None


def _posted(value: Any, write: Arguments) -> Settlement | None:
    wanted = {"content": write["content"], "tags": write.get("tags", []), "mentions": write.get("mentions", [])}
    found = [tweet for tweet in value if all(tweet[name] == part for name, part in wanted.items())]
    return _yes(found[-1], f"tweet {found[-1]['id']} is it") if found else None


def _follows(name: str, wanted: bool, field: str) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        so = (write[name] in value["following_list"]) is wanted
        return _yes({field: True}, f"{write[name]!r} is {'' if wanted else 'not '}followed") if so else None

    return tell


def _contact(value: Any, write: Arguments) -> Settlement | None:
    name = write["user_name"]
    text = {"added_status": True, "message": f"Contact '{name}' added successfully."}
    return _yes(text, f"{name!r} is listed") if name in value["user_list"] else None


def _sent(value: Any, write: Arguments) -> Settlement | None:
    receiver = write["receiver_id"]
    text = {"sent_status": True, "message": f"Message sent to '{receiver}' successfully."}
    found = write["message"] in value["messages"].get(receiver, [])
    return _yes(text, "the message stands among those sent") if found else None


def _created(value: Any, write: Arguments) -> Settlement | None:
    wanted = {
        "title": write["title"],
        "description": write.get("description", ""),
        "priority": write.get("priority", 1),
    }
    found = [ticket for ticket in value if all(ticket[name] == part for name, part in wanted.items())]
    return _yes(found[-1], f"ticket {found[-1]['id']} is it") if found else None


def _ticket(verb: str, fields: Callable[[Arguments], dict[str, Any]]) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        so = all(value.get(name) == part for name, part in fields(write).items())
        text = {"status": f"Ticket {write['ticket_id']} has been {verb} successfully."}
        return _yes(text, "the ticket shows it") if so else None

    return tell


def _updated(write: Arguments) -> dict[str, Any]:
    return {name: part for name, part in write["updates"].items() if part is not None}


def _watched(value: Any, write: Arguments) -> Settlement | None:
    listed = value["watchlist"]
    return _yes({"watchlist": listed}, f"{write['stock']} is listed") if write["stock"] in listed else None


def _unwatched(value: Any, write: Arguments) -> Settlement | None:
    symbol = write["symbol"]
    text = {"status": f"Stock {symbol} removed from watchlist successfully."}
    return None if symbol in value["watchlist"] else _yes(text, f"{symbol} is not listed")


def _cancelled(value: Any, write: Arguments) -> Settlement | None:
    if value["status"] != "Cancelled":
        return None
    return _yes({"order_id": write["order_id"], "status": "Cancelled"}, "the order is cancelled")


def _transacted(kind: str, status: str) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        found = any(
            entry["type"] == kind and entry["amount"] == write["amount"] for entry in value["transaction_history"]
        )
        return _yes({"status": status}, f"a {kind} of that amount is there") if found else None

    return tell


def _registered(value: Any, write: Arguments) -> Settlement | None:
    for card_id, card in value["credit_card_list"].items():
        if card.get("card_number") == write["card_number"]:
            return _yes({"card_id": card_id}, f"card {card_id} is it")
    return None


def _booked(value: Any, write: Arguments) -> Settlement | None:
    names = ("card_id", "travel_date", "travel_from", "travel_to", "travel_class")
    found = [
        (booking_id, booking)
        for booking_id, booking in value["booking_history"].items()
        if all(booking.get(name) == write[name] for name in names)
    ]
    if len(found) > 1:
        return _UNKNOWN
    for booking_id, booking in found:
        text = {"booking_id": booking_id, "transaction_id": booking["transaction_id"], "booking_status": True}
        return _yes({**text, "booking_history": {}}, f"booking {booking_id} is it")
    return None


def _unbooked(value: Any, write: Arguments) -> Settlement | None:
    gone = write["booking_id"] not in value["booking_history"]
    return _yes({"cancel_status": True}, "the booking is gone") if gone else None


def _doors(value: Any, write: Arguments) -> Settlement | None:
    wanted = "unlocked" if write["unlock"] else "locked"
    doors = value["doorStatus"]
    left = sum(status == "unlocked" for status in doors.values())
    so = all(doors[door] == wanted for door in write["door"])
    return _yes({"lockStatus": wanted, "remainingUnlockedDoors": left}, f"the doors are {wanted}") if so else None


def _climate(value: Any, write: Arguments) -> Settlement | None:
    given = write["temperature"]
    wanted = (given - 32) * 5 / 9 if write.get("unit") == "fahrenheit" else given
    speed, mode = write.get("fanSpeed", 50), write.get("mode", "auto")
    if (value["currentACTemperature"], value["fanSpeed"], value["climateMode"]) != (wanted, speed, mode):
        return None
    answer = {"currentACTemperature": given, "climateMode": mode, "humidityLevel": value["humidityLevel"]}
    return _yes(answer, "the display shows it")


def _brake(value: Any, write: Arguments) -> Settlement | None:
    force = write.get("pedalPosition", 0) * 1000
    status = "pressed" if force else "released"
    if (value["brakePedalStatus"], value["brakePedalForce"]) != (status, force):
        return None
    return _yes({"brakePedalStatus": status, "brakePedalForce": float(force)}, "the display shows it")


def _parked(value: Any, write: Arguments) -> Settlement | None:
    status, force = ("engaged", 500.0) if write["mode"] == "engage" else ("released", 0.0)
    if value["parkingBrakeStatus"] != status:
        return None
    return _yes(
        {"parkingBrakeStatus": status, "_parkingBrakeForce": force, "_slopeAngle": 10.0}, "the display shows it"
    )


def _running(value: Any, write: Arguments) -> Settlement | None:
    if write["ignitionMode"] != "START":
        return _UNKNOWN
    return _yes({"engineState": "running"}, "the engine runs") if value["engineState"] == "running" else None


def _lights(value: Any, write: Arguments) -> Settlement | None:
    status = "on" if write["mode"] == "on" else "off"
    return _yes({"headlightStatus": status}, "the display shows it") if value["headlightStatus"] == status else None


READERS: dict[str, Reader] = {
    "mkdir": _reader("ls", _listed("dir_name"), a=True),
    "touch": _reader("ls", _listed("file_name"), a=True),
    "rm": _reader("ls", _gone("file_name"), a=True),
    "rmdir": _reader("ls", _gone("dir_name"), a=True),
    "cd": _reader("pwd", _stands_in),
    "echo": _reader("cat", _written, "file_name"),
    "mv": _reader("find", _moved, path="."),
    "cp": _reader("find", _copied, path="."),
    "authenticate_twitter": _reader(
        "posting_get_login_status", _status("login_status", True, {"authentication_status": True})
    ),
    "comment": _reader("get_tweet_comments", _commented, "tweet_id"),
    "mention": _reader("get_tweet", _mentioned, "tweet_id"),
    "post_tweet": _reader("search_tweets", _posted, keyword=""),
    "follow_user": _reader("list_all_following", _follows("username_to_follow", True, "follow_status")),
    "unfollow_user": _reader("list_all_following", _follows("username_to_unfollow", False, "unfollow_status")),
    "add_contact": _reader("list_users", _contact),
    "send_message": _reader("view_messages_sent", _sent),
    "message_login": _reader(
        "message_get_login_status",
        _status("login_status", True, {"login_status": True, "message": "User '{user_id}' logged in successfully."}),
    ),
    "create_ticket": _reader("get_user_tickets", _created),
    "close_ticket": _reader("get_ticket", _ticket("closed", lambda write: {"status": "Closed"}), "ticket_id"),
    "resolve_ticket": _reader(
        "get_ticket",
        _ticket("resolved", lambda write: {"status": "Resolved", "resolution": write["resolution"]}),
        "ticket_id",
    ),
    "edit_ticket": _reader("get_ticket", _ticket("updated", _updated), "ticket_id"),
    "ticket_login": _reader("ticket_get_login_status", _status("login_status", True, {"success": True})),
    "logout": _reader("ticket_get_login_status", _status("login_status", False, {"success": True})),
    "trading_login": _reader("trading_get_login_status", _status("status", True, {"status": "Logged in successfully"})),
    "trading_logout": _reader(
        "trading_get_login_status", _status("status", False, {"status": "Logged out successfully"})
    ),
    "add_to_watchlist": _reader("get_watchlist", _watched),
    "remove_stock_from_watchlist": _reader("get_watchlist", _unwatched),
    "cancel_order": _reader("get_order_details", _cancelled, "order_id"),
    "fund_account": _reader("get_transaction_history", _transacted("deposit", "Account funded successfully")),
    "withdraw_funds": _reader("get_transaction_history", _transacted("withdrawal", "Withdrawal successful")),
    "register_credit_card": _reader("get_all_credit_cards", _registered),
    "book_flight": _reader("get_booking_history", _booked, "access_token"),
    "cancel_booking": _reader("get_booking_history", _unbooked, "access_token"),
    "lockDoors": _reader("displayCarStatus", _doors, option="doors"),
    "adjustClimateControl": _reader("displayCarStatus", _climate, option="climate"),
    "pressBrakePedal": _reader("displayCarStatus", _brake, option="brakePedal"),
    "releaseBrakePedal": _reader("displayCarStatus", _brake, option="brakePedal"),
    "activateParkingBrake": _reader("displayCarStatus", _parked, option="parkingBrake"),
    "startEngine": _reader("displayCarStatus", _running, option="engine"),
    "setHeadlights": _reader("displayCarStatus", _lights, option="headlights"),
}
"""Write -> the reader that can tell what became of it."""
