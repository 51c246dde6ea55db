"""Observable faults: failures that look like what real servers and clients send.

They carry no `kind`: whoever receives one reads it from exception, status, headers and body. On a write the caller
cannot know whether a lost answer hid an effect, so `applied` is unknown whatever really happened.
"""

from __future__ import annotations

from typing import Any

import msgspec

from breakfall.faults.drift import Drift
from breakfall.seeds import Stream
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Outcome, Tool

_HTTP = "HTTPStatusError"
_JSON = {"Content-Type": "application/json"}
_HTML = {"Content-Type": "text/html"}
_STATUSES = ((500, "Internal Server Error"), (502, "Bad Gateway"), (503, "Service Unavailable"))
_AUTH_REASONS = (
    (401, "invalid_token", "The access token expired"),
    (401, "invalid_token", "The access token was revoked"),
    (401, "invalid_request", "The access token is missing"),
    (403, "insufficient_scope", "The access token does not cover this operation"),
)
_RETRY_AFTER_S = (1, 2, 3, 5, 8)
_CAUSES = ("upstream connect error", "database connection lost", "unhandled exception", "worker restarted")


def failure(kind: FaultKind, tool: Tool, draw: Stream, *, answer: Outcome | None, change: Drift | None) -> Failed:
    """Build the failure of an observable kind.

    Args:
        kind: One of the six observable kinds.
        tool: The tool that was called.
        draw: Where to draw its details from.
        answer: What the tool answered, or would have; a malformed response is cut from it.
        change: How the tool's arguments changed; a schema drift tells it.
    """
    match kind:
        case FaultKind.TIMEOUT:
            return _timeout(tool)
        case FaultKind.SERVER_ERROR:
            return _server_error(tool, draw)
        case FaultKind.RATE_LIMIT:
            return _rate_limit(tool, draw)
        case FaultKind.AUTH_ERROR:
            return _auth_error(tool, draw)
        case FaultKind.MALFORMED_RESPONSE if answer is not None:
            return _malformed_response(tool, answer, draw)
        case FaultKind.SCHEMA_DRIFT if change is not None:
            return _schema_drift(tool, change, draw)
    raise ValueError(f"{kind.value} is not observable, or lacks the answer or change that it shows")


def _lost(tool: Tool) -> Applied:
    """Return what a caller knows of an effect when the answer is lost."""
    return Applied.UNKNOWN if tool.writes else Applied.NO


def _timeout(tool: Tool) -> Failed:
    """Say nothing until the client gives up."""
    return Failed(
        message=f"{tool.name}: no answer within {tool.timeout_s:g} s", exception="ReadTimeout", applied=_lost(tool)
    )


def _server_error(tool: Tool, draw: Stream) -> Failed:
    """Break on the server's side, with an HTML page from a proxy or a JSON body from the service."""
    status, reason = draw.choice(_STATUSES)
    if draw.uniform() < 0.5:
        headers = _HTML
        body = (
            f"<html>\r\n<head><title>{status} {reason}</title></head>\r\n"
            f"<body>\r\n<center><h1>{status} {reason}</h1></center>\r\n</body>\r\n</html>\r\n"
        )
    else:
        headers = _JSON
        request = f"req_{draw.below(16**8):08x}"
        body = _json({"error": {"code": status, "message": draw.choice(_CAUSES), "request_id": request}})
    message = f"{tool.name}: server error {status} {reason}"
    return Failed(message=message, status=status, exception=_HTTP, headers=headers, body=body, applied=_lost(tool))


def _rate_limit(tool: Tool, draw: Stream) -> Failed:
    """Refuse for now, and say how long to wait."""
    wait_s = draw.choice(_RETRY_AFTER_S)
    return Failed(
        message=f"{tool.name}: 429 Too Many Requests, retry after {wait_s} s",
        status=429,
        exception=_HTTP,
        headers={**_JSON, "Retry-After": str(wait_s), "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0"},
        body=_json({"error": {"code": "rate_limited", "message": f"Rate limit reached. Try again in {wait_s} s."}}),
        retry_after_s=float(wait_s),
    )


def _auth_error(tool: Tool, draw: Stream) -> Failed:
    """Refuse the credentials, and say why."""
    status, code, reason = draw.choice(_AUTH_REASONS)
    challenge = f'Bearer realm="{tool.fault_domain}", error="{code}", error_description="{reason}"'
    return Failed(
        message=f"{tool.name}: {status} {'Unauthorized' if status == 401 else 'Forbidden'}: {reason}",
        status=status,
        exception=_HTTP,
        headers={**_JSON, "WWW-Authenticate": challenge},
        body=_json({"error": {"code": code, "message": f"{reason}."}}),
    )


def _schema_drift(tool: Tool, change: Drift, draw: Stream) -> Failed:
    """Refuse arguments that were right until now, and name the argument that changed."""
    detail: dict[str, Any]
    if change.old is not None:
        text = f"Argument '{change.old}' of {tool.name} was renamed to '{change.new}'."
        detail = {"code": "schema_changed", "reason": "renamed", "argument": change.old, "renamed_to": change.new}
    else:
        text = f"Argument '{change.new}' of {tool.name} is now required (one of: {', '.join(change.values)})."
        detail = {"code": "schema_changed", "reason": "required", "argument": change.new, "allowed": change.values}
    status, phrase = draw.choice(((400, "Bad Request"), (422, "Unprocessable Content")))
    return Failed(
        message=f"{tool.name}: {status} {phrase}: {text}",
        status=status,
        exception=_HTTP,
        headers=_JSON,
        body=_json({"error": {**detail, "message": text}}),
    )


def _malformed_response(tool: Tool, answer: Outcome, draw: Stream) -> Failed:
    """Cut the answer's JSON at a byte, so that no parser takes it."""
    if isinstance(answer, Ok):
        whole = answer.value if isinstance(answer.value, dict | list) else {"result": answer.value}
    else:
        whole = {"error": {"message": answer.message}}
    raw = msgspec.json.encode(whole)
    cut = draw.integer(1, len(raw) - 1)
    return Failed(
        message=f"{tool.name}: the answer is not JSON: it breaks off at byte {cut}",
        status=200,
        exception="JSONDecodeError",
        headers=_JSON,
        body=raw[:cut].decode("utf-8", "replace"),
        applied=_lost(tool),
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
