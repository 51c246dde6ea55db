"""Which arguments of gold calls are bound to earlier results."""

from __future__ import annotations

from typing import Any

import pytest

from breakfall.vocab import Found
from breakfall.worlds.gold.bindings import Results, stated

RESULTS = {
    "s0": {"order_id": 12446, "price": 227.16, "amount": 5, "status": "Open", "names": ["log.txt", "b"]},
    "s1": {"id": 2, "price": 227.16, "open": True, "a/b": {"zip": "94016"}},
}


def results(answers: dict[str, Any]) -> Results:
    found = Results()
    for step, value in answers.items():
        found.add(step, value)
    return found


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("order_id", 12446, Found("s0", "/order_id")),
        ("price", 227.16, Found("s1", "/price")),
        ("file_name", "log.txt", Found("s0", "/names/0")),
        ("cityA", "94016", Found("s1", "/a~1b/zip")),
        ("ticket_id", 2, Found("s1", "/id")),
        ("numbers", [12446, 3], [Found("s0", "/order_id"), 3]),
        ("updates", {"status": "Open"}, {"status": Found("s0", "/status")}),
        ("amount", 5, 5),
        ("tweet_id", 5, 5),
        ("folder", "b", "b"),
        ("activate", True, True),
        ("order_id", "12446", "12446"),
        ("order_id", 12446.0, 12446.0),
        ("symbol", "AAPL", "AAPL"),
    ],
)
def test_binds_the_latest_equal_value(name: str, value: Any, bound: Any) -> None:
    """Equal in value and type, the latest wins; small numbers, flags and short texts are no evidence, small ids are."""
    assert results(RESULTS).bound(name, value, "") == bound


@pytest.mark.parametrize(
    ("value", "said", "is_stated"),
    [
        ("AAPL", "buy some aapl today", True),
        (1500, "a limit of $1,500 please", True),
        (1500.0, "a limit of 1500.00", True),
        (227.16, "at 227.16 dollars.", True),
        (12446, "order 124461", False),
        (44, "$2.44 each", False),
        (150, "to 150.", True),
    ],
)
def test_what_the_user_said_is_not_bound(value: Any, said: str, is_stated: bool) -> None:
    """A value that the user wrote, in whatever form of a number, comes from the user; a part of a number does not."""
    assert stated(value, said) is is_stated
    if is_stated:
        assert results({"s0": {"id": value}}).bound("any_id", value, said) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [("227.16", Found("s1", "/price")), ("open", Found("s0", "/status")), ("94016", Found("s1", "/a~1b/zip"))],
)
def test_what_an_answer_must_say_is_found_however_it_is_typed(text: str, found: Found) -> None:
    """A text that a result spells, as a number or in other letters, is found at the latest place."""
    assert results(RESULTS).worded(text) == found


@pytest.mark.parametrize("text", ["5", "b", "227.1", "true"])
def test_short_texts_parts_and_flags_are_not_found(text: str) -> None:
    """Texts of fewer than three characters, parts of a value and flags are no evidence."""
    assert results(RESULTS).worded(text) is None
