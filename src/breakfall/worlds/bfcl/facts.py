"""What BFCL's tools do: effects, the service behind each tool, idempotency, ids; the tests prove it on the package."""

from __future__ import annotations

from breakfall.vocab import Effect

SERVICES: dict[str, dict[str, str]] = {
    "GorillaFileSystem": {
        "content": "cat",
        "text": "tail grep sort wc diff",
        "listing": "ls",
        "search": "find du",
        "shell": "cd pwd",
        "folders": "mkdir rmdir",
        "files": "touch echo cp mv rm",
    },
    "TwitterAPI": {
        "account": "authenticate_twitter posting_get_login_status",
        "graph": "follow_user unfollow_user list_all_following get_user_stats",
        "posts": "post_tweet comment mention retweet get_tweet get_tweet_comments",
        "timeline": "get_user_tweets",
        "search": "search_tweets",
    },
    "MessageAPI": {
        "account": "message_login message_get_login_status",
        "directory": "list_users get_user_id add_contact",
        "outbox": "send_message delete_message view_messages_sent",
        "search": "search_messages",
        "statistics": "get_message_stats",
    },
    "TicketAPI": {
        "account": "ticket_login logout ticket_get_login_status",
        "desk": "create_ticket close_ticket resolve_ticket get_ticket",
        "editor": "edit_ticket",
        "queue": "get_user_tickets",
    },
    "TradingBot": {
        "account": "trading_login trading_logout trading_get_login_status",
        "funds": "get_account_info fund_account withdraw_funds get_transaction_history",
        "orders": "place_order cancel_order get_order_details get_order_history",
        "watchlist": "get_watchlist",
        "watchlist_editor": "add_to_watchlist remove_stock_from_watchlist",
        "market": "get_stock_info get_symbol_by_name get_available_stocks filter_stocks_by_price notify_price_change"
        " get_current_time",
    },
    "TravelAPI": {
        "identity": "authenticate_travel travel_get_login_status verify_traveler_information",
        "cards": "register_credit_card get_all_credit_cards",
        "balance": "get_credit_card_balance set_budget_limit get_budget_fiscal_year",
        "booking": "book_flight cancel_booking purchase_insurance",
        "history": "get_booking_history",
        "invoices": "retrieve_invoice",
        "reference": "get_flight_cost get_nearest_airport_by_city list_all_airports compute_exchange_rate",
        "support": "contact_customer_support",
    },
    "VehicleControlAPI": {
        "dashboard": "displayCarStatus check_tire_pressure get_current_speed display_log",
        "brake": "pressBrakePedal",
        "brake_release": "releaseBrakePedal",
        "fuel": "fillFuelTank",
        "drive": "startEngine setCruiseControl activateParkingBrake",
        "body": "lockDoors setHeadlights adjustClimateControl",
        "navigation": "set_navigation estimate_distance get_zipcode_based_on_city find_nearest_tire_shop",
        "planner": "estimate_drive_feasibility_by_mileage",
        "converter": "liter_to_gallon gallon_to_liter",
        "weather_google": "get_outside_temperature_from_google",
        "weather_com": "get_outside_temperature_from_weather_com",
    },
    "MathAPI": {
        "arithmetic": "add subtract multiply divide power percentage round_number absolute_value",
        "lists": "sum_values mean min_value max_value standard_deviation",
        "functions": "logarithm square_root si_unit_conversion imperial_si_conversion",
    },
}
"""Class -> service -> its tools. The service is the fault domain: a class as a whole would leave no tool of it an
alternative, although the package reaches the same records in several ways."""

DOMAINS: dict[str, str] = {
    tool: f"{name}/{service}"
    for name, services in SERVICES.items()
    for service, tools in services.items()
    for tool in tools.split()
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRITES = _names(
    "cd mkdir touch echo cp mv"
    " authenticate_twitter follow_user unfollow_user retweet"
    " message_login"
    " ticket_login logout close_ticket edit_ticket"
    " trading_login trading_logout add_to_watchlist remove_stock_from_watchlist"
    " set_budget_limit"
    " pressBrakePedal releaseBrakePedal startEngine setCruiseControl activateParkingBrake lockDoors setHeadlights"
    " adjustClimateControl set_navigation"
)

IRREVERSIBLE = _names(
    "rm rmdir"
    " post_tweet comment mention"
    " add_contact send_message delete_message"
    " create_ticket resolve_ticket"
    " fund_account withdraw_funds place_order cancel_order"
    " authenticate_travel register_credit_card book_flight cancel_booking purchase_insurance"
    " fillFuelTank"
)

NATURAL = _names(
    "echo"
    " authenticate_twitter follow_user unfollow_user retweet"
    " message_login"
    " ticket_login logout edit_ticket"
    " trading_login trading_logout add_to_watchlist cancel_order"
    " set_budget_limit"
    " pressBrakePedal releaseBrakePedal startEngine setCruiseControl activateParkingBrake lockDoors setHeadlights"
    " adjustClimateControl set_navigation"
)
"""Writes whose repeat changes nothing and is not refused either. Where a repeat changes nothing but is refused
("File exists", "already closed"), a blind repeat would look like a failure: such a write is looked up instead."""

DRAWS_FROM_GENERATOR = frozenset({"get_current_speed", "get_outside_temperature_from_google"})
"""Reads that take a number from the instance's generator. Another read then sees another number, so there is no
earlier value of them; no other result depends on that generator, so a repeat harms nothing else."""

SESSION = frozenset({"cd"})
"""Writes to where the session stands: in the effect log, but neither wanted nor unwanted by a task."""

IDS: dict[str, dict[str, str]] = {
    "TicketAPI": {"id": "id:ticket", "ticket_id": "id:ticket"},
    "TwitterAPI": {"id": "id:tweet"},
    "MessageAPI": {"user_id": "id:user", "receiver_id": "id:user"},
    "TradingBot": {
        "id": "id:order",
        "order_id": "id:order",
        "history": "id:order",
        "symbol": "id:stock",
        "watchlist": "id:stock",
        "stock_list": "id:stock",
        "filtered_stocks": "id:stock",
    },
    "TravelAPI": {"booking_id": "id:booking", "card_id": "id:card", "nearest_airport": "id:airport"},
}
"""Class -> field of an answer -> which ids it holds, as `x-kind` says it."""

SHOWS_STATE: dict[str, dict[str, str]] = {
    "fund_account": {"new_balance": "account_info/balance"},
    "withdraw_funds": {"new_balance": "account_info/balance"},
    "add_to_watchlist": {"watchlist": "watch_list"},
    "set_budget_limit": {"budget_limit": "budget_limit"},
    "fillFuelTank": {"fuelLevel": "fuelLevel"},
    "lockDoors": {"remainingUnlockedDoors": "remainingUnlockedDoors"},
    "adjustClimateControl": {"currentACTemperature": "acTemperature", "climateMode": "acMode"},
    "setHeadlights": {"headlightStatus": "headLightStatus"},
    "activateParkingBrake": {"parkingBrakeStatus": "parkingBrakeStatus", "_parkingBrakeForce": "_parkingBrakeForce"},
    "pressBrakePedal": {"brakePedalStatus": "brakePedalStatus", "brakePedalForce": "_brakePedalForce"},
    "releaseBrakePedal": {"brakePedalStatus": "brakePedalStatus", "brakePedalForce": "_brakePedalForce"},
    "setCruiseControl": {"cruiseStatus": "cruiseStatus", "distanceToNextVehicle": "distanceToNextVehicle"},
    "startEngine": {"engineState": "engine_state"},
}
"""Write -> field of its answer -> where the instance holds it: what a stale answer shows from before."""


def effect(tool: str) -> Effect:
    """Return what a call of a tool does."""
    if tool in IRREVERSIBLE:
        return Effect.IRREVERSIBLE
    return Effect.WRITE if tool in WRITES else Effect.READ
