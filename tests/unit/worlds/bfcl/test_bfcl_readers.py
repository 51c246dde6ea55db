"""What readers and paths say of single answers."""

from __future__ import annotations

from typing import Any

import pytest

from breakfall.vocab import Applied
from breakfall.worlds.bfcl.paths import NATIVE_PATHS
from breakfall.worlds.bfcl.readers import READERS

YES, NO, UNKNOWN = Applied.YES, Applied.NO, Applied.UNKNOWN
BOOKING = {
    "card_id": "1",
    "travel_date": "2024-11-11",
    "travel_from": "SFO",
    "travel_to": "LAX",
    "travel_class": "first",
    "transaction_id": "45451592",
}
FLIGHT = {"access_token": "t", **{name: part for name, part in BOOKING.items() if name != "transaction_id"}}


def _matches(*paths: str) -> dict[str, Any]:
    return {"matches": list(paths)}


@pytest.mark.parametrize(
    ("write", "arguments", "value", "applied"),
    [
        ("cp", {"source": "a.txt", "destination": "b.txt"}, _matches("./a.txt", "./b.txt"), YES),
        ("cp", {"source": "a.txt", "destination": "box"}, _matches("./a.txt", "./box"), NO),
        ("cp", {"source": "a.txt", "destination": "box"}, _matches("./a.txt", "./box", "./box/a.txt"), YES),
        ("cp", {"source": "a.txt", "destination": "b.txt"}, _matches("./a.txt"), NO),
        ("cp", {"source": "in", "destination": "out"}, _matches("./in", "./in/x", "./out", "./out/x"), YES),
        ("cp", {"source": "in", "destination": "out"}, _matches("./in", "./in/x", "./out"), NO),
        ("cp", {"source": "in", "destination": "out"}, _matches("./in", "./out"), UNKNOWN),
        ("mv", {"source": "a", "destination": "b"}, _matches("./a", "./b"), NO),
        ("mv", {"source": "a", "destination": "b"}, _matches("./b", "./b/a"), YES),
        ("mv", {"source": "a", "destination": "b"}, _matches("./c"), UNKNOWN),
        ("cd", {"folder": ".."}, {"current_working_directory": "/a"}, UNKNOWN),
        ("cd", {"folder": "b/"}, {"current_working_directory": "/a/b"}, YES),
        ("cd", {"folder": "b"}, {"current_working_directory": "/a"}, NO),
        ("book_flight", FLIGHT, {"booking_history": {}}, NO),
        ("book_flight", FLIGHT, {"booking_history": {"7": BOOKING}}, YES),
        ("book_flight", FLIGHT, {"booking_history": {"7": BOOKING, "8": BOOKING}}, UNKNOWN),
        ("book_flight", FLIGHT, {"history": {}}, UNKNOWN),
        ("touch", {"file_name": "a"}, {}, UNKNOWN),
        ("startEngine", {"ignitionMode": "STOP"}, {"engineState": "stopped"}, UNKNOWN),
        ("add_to_watchlist", {"stock": "X"}, ["X"], UNKNOWN),
        (
            "edit_ticket",
            {"ticket_id": 1, "updates": {"priority": 2, "title": None}},
            {"priority": 2, "title": "t"},
            YES,
        ),
        ("comment", {"tweet_id": 1, "comment_content": "hi"}, [{"username": "u", "content": "hi"}], YES),
    ],
)
def test_judges(write: str, arguments: dict[str, Any], value: Any, applied: Applied) -> None:
    """A reader says YES or NO only where the answer tells, and UNKNOWN for what is incomplete or ambiguous."""
    assert READERS[write].judge(value, arguments, 0.0).applied is applied


def test_the_settlement_has_the_answer_of_the_write() -> None:
    """What can be told of the lost answer is told: ids of what was created, and BFCL's words."""
    booked = READERS["book_flight"].judge({"booking_history": {"7": BOOKING}}, FLIGHT, 0.0)
    assert booked.value["booking_id"] == "7"
    moved = READERS["mv"].judge(_matches("./b", "./b/a"), {"source": "a", "destination": "b"}, 0.0)
    assert moved.value == {"result": "'a' moved to 'b/a'"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("displayCarStatus", {"option": "doors"}),
        ("pressBrakePedal", {"pedalPosition": 0.5}),
        ("edit_ticket", {"ticket_id": 1, "updates": {"status": "Closed", "priority": 1}}),
        ("cat", {}),
        ("retrieve_invoice", {"booking_id": "1"}),
        ("add", {"a": 1}),
        ("liter_to_gallon", {}),
    ],
)
def test_no_path_where_its_arguments_are_not_known(tool: str, arguments: dict[str, Any]) -> None:
    """A path that does not stand in for this very call has no arguments."""
    assert all(path.arguments(arguments, {}) is None for path in NATIVE_PATHS[tool])


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("get_ticket", {"ticket_id": 4}, [{"id": 3}]),
        ("get_tweet", {"tweet_id": 4}, {"id": 4}),
        ("retrieve_invoice", {"access_token": "t", "booking_id": "9"}, {"booking_history": {}}),
        ("get_credit_card_balance", {"access_token": "t", "card_id": "9"}, {"credit_card_list": {}}),
        ("wc", {"file_name": "a"}, {"lines": 3}),
        ("get_user_tweets", {"username": "a"}, {}),
    ],
)
def test_an_answer_that_lacks_it_is_a_lookup_error(tool: str, arguments: dict[str, Any], answer: Any) -> None:
    """A path never makes up what the other tool's answer does not hold."""
    with pytest.raises(LookupError):
        NATIVE_PATHS[tool][0].value(answer, arguments, {})


def test_no_reader_call_where_its_arguments_are_not_known() -> None:
    """Text that is shown and not written to a file leaves nothing to look up."""
    assert READERS["echo"].arguments({"content": "hello"}, {}) is None
