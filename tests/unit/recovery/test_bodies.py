"""error_in tells a body that says error from a value, and in doubt takes it for a value."""

from typing import Any

import pytest

from breakfall.recovery.bodies import error_in, parsed, said

ERRORS: list[Any] = [
    {"error": "not found"},
    {"error": {"code": 404, "message": "no"}},
    {"error": {"message": "no"}, "data": None},
    {"ok": False},
    {"ok": False, "error": "channel_not_found"},
    {"success": False, "message": "coupon not applicable"},
    {"success": False, "errors": ["amount"], "order": {"id": 1}},
    {"status": "error"},
    {"status": "error", "message": "no", "data": None},
    {"status": "fail", "message": "amount is too high"},
    {"isError": True, "content": []},
    {"is_error": True},
    {"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}},
    {"errors": [{"message": "no"}], "data": None},
    {"errors": [{"message": "no"}], "data": {"order": None}},
    {"errors": [{"status": "404", "title": "no"}]},
    {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no order O1"},
    {"statusCode": 500, "message": "Internal server error"},
    {"code": 503, "message": "try later"},
    {"errorMessage": "Task timed out", "errorType": "Timeout"},
    {"__type": "ThrottlingException", "message": "Rate exceeded"},
]

VALUES: list[Any] = [
    {},
    [],
    None,
    "error",
    {"error": None, "id": 1},
    {"error": "", "ok": True},
    {"error": False},
    {"error": 0.02, "mean": 3.1},
    {"errors": []},
    {"errors": 3, "lines": 100},
    {"job": "J1", "status": "failed", "error": "disk full"},
    {"status": "failed"},
    {"status": "error", "order_id": "O1"},
    {"ok": False, "checks": {"disk": "full"}},
    {"success": False, "score": 0.4},
    {"isError": False, "content": []},
    {"data": {"order": {"id": 1}, "customer": None}, "errors": [{"message": "no customer"}]},
    {"code": 404},
    {"code": 501, "name": "Paris"},
    {"status": 404, "path": "/a", "hits": 3},
    {"message": "hello"},
    {"title": "Errors", "detail": "a book"},
]


@pytest.mark.parametrize("value", ERRORS)
def test_errors(value: Any) -> None:
    """What says error and carries no data is an error."""
    assert error_in(value)


@pytest.mark.parametrize("value", VALUES)
def test_values(value: Any) -> None:
    """A field that is named like an error, empty or beside data, makes no error of a value."""
    assert error_in(value) is None


def test_declared_fields_are_data() -> None:
    """Fields that the output schema declares are data, whatever their names; `ok` that is false stays an error."""
    assert error_in({"error": "boiler E7"}, frozenset({"error"})) is None
    assert error_in({"status": "error"}, frozenset({"status"})) is None
    assert error_in({"code": 503, "message": "x"}, frozenset({"code"})) is None
    assert error_in({"ok": False, "error": "no"}, frozenset({"ok", "error"}))


def test_said() -> None:
    """Codes and texts are collected from wherever error bodies keep them."""
    found = said({"error": {"type": "t", "code": 7, "details": [{"reason": "r"}]}, "message": "m"})
    assert found.codes == ("t", 7, "r")
    assert found.texts == ("m", "r")
    assert said("text").codes == ()
    assert said([{"code": "a"}, 3]).codes == ("a",)


@pytest.mark.parametrize("body", ["", "hello", "{", '"text"', "7", "{" + " " * 300_000 + "}"])
def test_what_is_no_error_body(body: str) -> None:
    """Text that is no JSON object or list, or too long for an error, is not parsed."""
    assert parsed(body) is None
