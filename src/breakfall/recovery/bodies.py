"""Bodies that say error: which ones do, although the call came back, and which codes and texts they give."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

_LONGEST = 200_000
"""A longer body is data, not an error's text."""

_CODES = frozenset({
    "code", "Code", "error", "error_code", "errorCode", "errorType", "status", "statusCode", "type", "__type", "reason",
})  # fmt: skip
_TEXTS = frozenset({
    "message", "Message", "msg", "error", "detail", "title", "description", "error_description", "errorMessage", "text",
    "reason",
})  # fmt: skip
_INNER = frozenset({
    "error", "Error", "errors", "Errors", "detail", "details", "extensions", "fault", "Fault", "data", "content",
})  # fmt: skip
_DEPTH = 4
_ITEMS = 5

_ENVELOPE = frozenset({
    "error", "errors", "message", "msg", "code", "status", "statusCode", "status_code", "ok", "success", "detail",
    "details", "title", "type", "instance", "reason", "description", "error_description", "error_uri", "error_code",
    "errorCode", "error_type", "hint", "help", "documentation_url", "request_id", "requestId", "trace_id", "traceId",
    "timestamp", "path", "param", "meta", "extensions", "warnings", "retry_after", "retryable",
})  # fmt: skip
"""What an error envelope holds; a value with any other field carries data."""
_EMPTY_OK = frozenset({"data", "result", "results", "response", "payload", "value"})
"""Fields of data that an error envelope may show, empty."""
_SIGNS = frozenset({
    "error", "errors", "ok", "success", "status", "statusCode", "status_code", "code", "isError", "is_error", "__type",
    "errorMessage",
})  # fmt: skip
"""Every value that says error has one of these fields."""
_RPC = frozenset({"jsonrpc", "id", "error"})
_LAMBDA = frozenset({"errorMessage", "errorType", "stackTrace", "requestId"})


class Said(Struct, frozen=True):
    """What an error body gives."""

    codes: tuple[str | int, ...]
    texts: tuple[str, ...]


NOTHING = Said((), ())


def parsed(body: str) -> Any:
    """Return the JSON value that a text holds, or None where it is no object or list, or too long to be an error."""
    if not body or len(body) > _LONGEST or body.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None


def said(value: Any) -> Said:
    """Collect the error codes and texts of a body's JSON value, outermost first."""
    if not isinstance(value, dict | list):
        return NOTHING
    codes: list[str | int] = []
    texts: list[str] = []
    _collect(value, _DEPTH, codes, texts)
    return Said(tuple(codes), tuple(dict.fromkeys(texts)))


def _collect(value: Any, depth: int, codes: list[str | int], texts: list[str]) -> None:
    """Walk the objects of an error body that may hold codes and texts."""
    if isinstance(value, list):
        for item in value[:_ITEMS]:
            if isinstance(item, dict):
                _collect(item, depth, codes, texts)
        return
    inner = []
    for name, part in value.items():
        kind = type(part)
        if kind is str:
            if part and name in _CODES:
                codes.append(part)
            if part and name in _TEXTS:
                texts.append(part)
        elif kind is int:
            if name in _CODES:
                codes.append(part)
        elif name in _INNER and (kind is dict or kind is list):
            inner.append(part)
    if depth:
        for part in inner:
            _collect(part, depth - 1, codes, texts)


def error_in(value: Any, declared: frozenset[str] = frozenset()) -> str | None:
    """Return what shows that a value is an error although the call came back, or None if it is a value.

    In doubt it is a value: a record may have a field `error` that is empty, a job may have the status "failed".

    Args:
        value: The JSON value that came back.
        declared: The fields that the tool's output schema declares: there they are data.
    """
    if not isinstance(value, dict):
        return None
    found = _SIGNS.intersection(value)
    if not found or (found == _STATUS and _harmless(value["status"])):
        return None
    if value.get("isError") is True or value.get("is_error") is True:
        return "isError is true"
    error = value.get("error")
    if error and "error" not in declared and isinstance(error, str | dict | list):
        if _is_envelope(value):
            return "the body has an `error` and no data"
        if "jsonrpc" in value and _RPC.issuperset(value):
            return "the body is a JSON-RPC error"
    return _marked(value) or _by_errors(value) or _by_status(value, declared)


def _harmless(status: Any) -> bool:
    """Whether a status alone says nothing of an error, as most records' do."""
    return type(status) is str and status.lower() not in _BAD


def _marked(value: dict[str, Any]) -> str | None:
    """Look for `ok` or `success` that is false."""
    for name in ("ok", "success"):
        if value.get(name) is False and (_is_envelope(value) or value.get("error") or value.get("errors")):
            return f"`{name}` is false"
    return None


def _by_errors(value: dict[str, Any]) -> str | None:
    """Look for a list of errors without data (GraphQL, JSON:API), and for what a failed function or service returns."""
    errors = value.get("errors")
    if errors and isinstance(errors, list | dict):
        data = value.get("data")
        if isinstance(data, dict) and data and not any(part is not None for part in data.values()):
            data = None
        if not data and _is_envelope({name: part for name, part in value.items() if name != "data"}):
            return "the body has `errors` and no data"
    if "errorMessage" in value and _LAMBDA.issuperset(value):
        return "the body has an `errorMessage` and no data"
    if isinstance(value.get("__type"), str) and value["__type"].endswith(("Exception", "Error", "Fault")):
        return "the body's `__type` is an exception"
    return None


def _by_status(value: dict[str, Any], declared: frozenset[str]) -> str | None:
    """Look for a status that says error, without data beside it."""
    for name in ("status", "statusCode", "status_code", "code"):
        status = value.get(name)
        if type(status) is int and 400 <= status <= 599 and name not in declared and len(value) > 1:
            return f"`{name}` is {status}" if _is_envelope(value) else None
    status = value.get("status")
    if not isinstance(status, str) or status.lower() not in _BAD or "status" in declared or not _is_envelope(value):
        return None
    told = any(value.get(name) for name in ("message", "msg", "error", "reason", "detail"))
    return f"`status` is {status!r}" if told or status.lower() == "error" else None


_STATUS = frozenset({"status"})
_BAD = frozenset({"error", "fail", "failed", "failure", "exception"})
"""What a status says of an error. A job may have failed, too: all but "error" need a reason beside them."""


def _is_envelope(value: dict[str, Any]) -> bool:
    """Whether a value holds nothing but what an error envelope holds."""
    return all(name in _ENVELOPE or (name in _EMPTY_OK and not part) for name, part in value.items())


def is_page(text: str) -> bool:
    """Whether a text is an HTML page."""
    head = text[:200].lstrip().lower()
    return head.startswith(("<!doctype html", "<html", "<head", "<body"))
