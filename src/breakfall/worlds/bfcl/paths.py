"""BFCL's native equivalences: one call of another tool that gives the same information or does the same.

Left out, because they are no path: what takes several calls (diff, mv, cp, mean, percentage, filter by price), what
gives less than was asked (door states, tweet counts), what is read from an error's text (order ids), and what does
more than it should (`rm` for `rmdir` also deletes a full folder; `edit_ticket` for `resolve_ticket` loses the
resolution; the second weather service never answers). Whether a path suffices depends on the task's state, so each
pair is checked there when a scenario is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from breakfall.vocab import Arguments, Path

_MILES_PER_GALLON = 20.0
_GALLONS_PER_LITER = 0.264172
_ALL_LINES = 10**6


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise LookupError(f"the answer has no {name!r}")
    return value[name]


def _lines(value: Any) -> list[str]:
    return str(_field(value, "file_content")).splitlines()


def _item(items: Any, name: str, wanted: Any) -> Any:
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict) and item.get(name) == wanted:
                return item
    raise LookupError(f"no item has {name} {wanted!r}")


def _cat_as_tail(value: Any, arguments: Arguments, context: Arguments) -> Any:
    lines = _lines(value)
    wanted = min(arguments.get("lines", 10), len(lines))
    return {"last_lines": "\n".join(lines[-wanted:])}


def _cat_as_grep(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"matching_lines": [line for line in _lines(value) if arguments["pattern"] in line]}


def _cat_as_sort(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"sorted_content": "\n".join(sorted(_lines(value)))}


def _cat_as_wc(value: Any, arguments: Arguments, context: Arguments) -> Any:
    text = str(_field(value, "file_content"))
    counts: dict[str, tuple[int, str]] = {
        "l": (len(text.splitlines()), "lines"),
        "w": (len(text.split()), "words"),
        "c": (len(text), "characters"),
    }
    count, unit = counts[arguments.get("mode", "l")]
    return {"count": count, "type": unit}


def _find_as_ls(value: Any, arguments: Arguments, context: Arguments) -> Any:
    names = [match.removeprefix("./") for match in _field(value, "matches")]
    hidden = arguments.get("a", False)
    return {"current_directory_content": [n for n in names if "/" not in n and (hidden or not n.startswith("."))]}


def _cards_as_balance(value: Any, arguments: Arguments, context: Arguments) -> Any:
    card = _field(_field(value, "credit_card_list"), arguments["card_id"])
    return {"card_balance": _field(card, "balance")}


def _history_as_invoice(value: Any, arguments: Arguments, context: Arguments) -> Any:
    booking = _field(_field(value, "booking_history"), arguments["booking_id"])
    fields = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id")
    return {"invoice": {"booking_id": arguments["booking_id"]} | {name: _field(booking, name) for name in fields}}


def _fuel_as_feasibility(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"canDrive": not _field(value, "fuelLevel") * _MILES_PER_GALLON < arguments["distance"]}


def _search_as_sent(value: Any, arguments: Arguments, context: Arguments) -> Any:
    messages: dict[str, list[Any]] = {}
    for result in _field(value, "results"):
        messages.setdefault(_field(result, "receiver_id"), []).append(_field(result, "message"))
    return {"messages": messages}


def _sent_as_search(value: Any, arguments: Arguments, context: Arguments) -> Any:
    keyword = arguments["keyword"].lower()
    messages: dict[str, list[str]] = _field(value, "messages")
    found = [(to, text) for to, texts in messages.items() for text in texts if keyword in text.lower()]
    return {"results": [{"receiver_id": to, "message": text} for to, text in found]}


def _sent_as_stats(value: Any, arguments: Arguments, context: Arguments) -> Any:
    messages = _field(value, "messages")
    return {"stats": {"received_count": sum(map(len, messages.values())), "total_contacts": len(messages)}}


def _logged_in(name: str) -> Any:
    def value(answer: Any, arguments: Arguments, context: Arguments) -> Any:
        return {name: True}  # the other tool refuses whoever is not logged in

    return value


def _by_id(name: str) -> Any:
    def value(answer: Any, arguments: Arguments, context: Arguments) -> Any:
        return _item(answer, "id", arguments[name])

    return value


def _same_file(arguments: Arguments, context: Arguments) -> dict[str, Any] | None:
    return {"file_name": arguments["file_name"]} if "file_name" in arguments else None


def _fixed(**given: Any) -> Any:
    def arguments(original: Arguments, context: Arguments) -> dict[str, Any] | None:
        return dict(given)

    return arguments


def _named(*names: str, **given: Any) -> Any:
    """Map the arguments of these names to themselves and add fixed ones; unknown where one is missing."""

    def arguments(original: Arguments, context: Arguments) -> dict[str, Any] | None:
        if any(name not in original for name in names):
            return None
        return {name: original[name] for name in names} | given

    return arguments


def _if_fuel(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    return {"fuelAmount": 0} if original.get("option") == "fuel" else None


def _if_released(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    return {} if original.get("pedalPosition") == 0 else None


def _if_closed(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    only_closes = original.get("updates") == {"status": "Closed"} and "ticket_id" in original
    return {"ticket_id": original["ticket_id"]} if only_closes else None


def _ticket_text(verb: str) -> Any:
    def value(answer: Any, arguments: Arguments, context: Arguments) -> Any:
        return {"status": f"Ticket {arguments['ticket_id']} has been {verb} successfully."}

    return value


def _rows_of(field: str) -> Any:
    def value(answer: Any, arguments: Arguments, context: Arguments) -> Any:
        if not isinstance(answer, list):
            raise LookupError("the answer is no list")
        return [row for row in answer if _field(row, field) == arguments[field]]

    return value


def _add_as_sum(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    return {"numbers": [original["a"], original["b"]]} if {"a", "b"} <= original.keys() else None


def _liter_as_product(original: Arguments, context: Arguments) -> dict[str, Any] | None:
    return {"a": original["liter"], "b": _GALLONS_PER_LITER} if "liter" in original else None


def _product_as_gallon(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"gallon": _field(value, "result")}


def _last_as_content(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"file_content": _field(value, "last_lines")}


def _matching_as_content(value: Any, arguments: Arguments, context: Arguments) -> Any:
    return {"file_content": "\n".join(_field(value, "matching_lines"))}


NATIVE_PATHS: dict[str, tuple[Path, ...]] = {
    "cat": (
        Path(tool="tail", arguments=_named("file_name", lines=_ALL_LINES), value=_last_as_content),
        Path(tool="grep", arguments=_named("file_name", pattern=""), value=_matching_as_content),
    ),
    "tail": (Path(tool="cat", arguments=_same_file, value=_cat_as_tail),),
    "grep": (Path(tool="cat", arguments=_same_file, value=_cat_as_grep),),
    "sort": (Path(tool="cat", arguments=_same_file, value=_cat_as_sort),),
    "wc": (Path(tool="cat", arguments=_same_file, value=_cat_as_wc),),
    "ls": (Path(tool="find", arguments=_fixed(path="."), value=_find_as_ls),),
    "get_watchlist": (Path(tool="add_to_watchlist", arguments=_fixed(stock="")),),
    "trading_get_login_status": (Path(tool="get_account_info", arguments=_fixed(), value=_logged_in("status")),),
    "get_credit_card_balance": (Path(tool="get_all_credit_cards", arguments=_fixed(), value=_cards_as_balance),),
    "retrieve_invoice": (
        Path(tool="get_booking_history", arguments=_named("access_token"), value=_history_as_invoice),
    ),
    "releaseBrakePedal": (Path(tool="pressBrakePedal", arguments=_fixed(pedalPosition=0)),),
    "pressBrakePedal": (Path(tool="releaseBrakePedal", arguments=_if_released),),
    "displayCarStatus": (Path(tool="fillFuelTank", arguments=_if_fuel),),
    "estimate_drive_feasibility_by_mileage": (
        Path(tool="displayCarStatus", arguments=_fixed(option="fuel"), value=_fuel_as_feasibility),
    ),
    "liter_to_gallon": (Path(tool="multiply", arguments=_liter_as_product, value=_product_as_gallon),),
    "get_tweet": (Path(tool="search_tweets", arguments=_fixed(keyword=""), value=_by_id("tweet_id")),),
    "get_user_tweets": (Path(tool="search_tweets", arguments=_fixed(keyword=""), value=_rows_of("username")),),
    "posting_get_login_status": (
        Path(tool="list_all_following", arguments=_fixed(), value=_logged_in("login_status")),
    ),
    "view_messages_sent": (Path(tool="search_messages", arguments=_fixed(keyword=""), value=_search_as_sent),),
    "search_messages": (Path(tool="view_messages_sent", arguments=_fixed(), value=_sent_as_search),),
    "get_message_stats": (Path(tool="view_messages_sent", arguments=_fixed(), value=_sent_as_stats),),
    "close_ticket": (
        Path(
            tool="edit_ticket",
            arguments=_named("ticket_id", updates={"status": "Closed"}),
            value=_ticket_text("closed"),
        ),
    ),
    "edit_ticket": (Path(tool="close_ticket", arguments=_if_closed, value=_ticket_text("updated")),),
    "get_ticket": (Path(tool="get_user_tickets", arguments=_fixed(), value=_by_id("ticket_id")),),
    "add": (Path(tool="sum_values", arguments=_add_as_sum),),
}
"""Tool -> its native paths, the one that gives the most first."""


def canonical(tool: str, arguments: Arguments) -> tuple[str, Arguments]:
    """Name a write as the tool would that its equivalents stand in for: equal effects get equal names."""
    for other, mapped in _SAME_EFFECT.items():
        if tool == mapped[0]:
            given = mapped[1](arguments, {})
            if given is not None:
                return other, given
    return tool, arguments


_SAME_EFFECT: dict[str, tuple[str, Any]] = {
    "releaseBrakePedal": ("pressBrakePedal", _if_released),
    "close_ticket": ("edit_ticket", _if_closed),
}


def known(paths: Iterable[Path], offered: Iterable[str]) -> tuple[Path, ...]:
    """Keep the paths whose tool is offered."""
    names = frozenset(offered)
    return tuple(path for path in paths if path.tool in names)
