"""Write docs/classify.md from the rules of `breakfall.recovery.classify`.

Run it after a change of a rule, and read the difference: ``python docs/classify_page.py``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from breakfall.recovery import database, signs
from breakfall.recovery.classify import diagnose
from breakfall.recovery.diagnosis import Diagnosis
from breakfall.recovery.exceptions import GROUPS
from breakfall.recovery.statuses import PLAIN
from breakfall.vocab import Failed, FaultKind

PAGE = Path(__file__).parents[1] / "docs" / "classify.md"

_HEAD = """# How a failure is classified

<!-- Written by docs/classify_page.py; change the rules in src/breakfall/recovery/ and run it. -->

`runtime.boundary.failed_from(error)` notes what a call raised, `outcome_of(value, ...)` what it returned;
`recovery.classify.diagnose(failed)` says what that means: the fault kind (or `native`, the tool's own refusal), whether
the request left, whether a write is in doubt, and the evidence in one sentence. Clients are known by the names of their
exceptions, so none of them is a dependency.

What is trusted, in this order: the exception's class with the code that it carries, the HTTP status, the error codes in
the body, headers, the wording of the body, the wording of the message.

- A wrapper (`requests.ConnectionError`, `openai.APIConnectionError`, `sqlalchemy.OperationalError`) is followed to what
  it was raised from. Where one try of a call was lost on its way and a later one was never sent or was refused, the
  lost one counts.
- A write is **in doubt** where the request may have arrived and no answer says what came of it. A database that rolled
  the statement back leaves no doubt; a connection lost during a commit does.
- What the tool's own code raises on purpose (`raise ValueError(...)`, or a class of its own) is native and leaves no
  doubt. An accident in it (`KeyError`, `int("x")`, `None.id`) is native, too, but may have come after a write was sent:
  in doubt.
- In doubt between a fault and a refusal, it is a refusal: whoever called gets to read it.
- An exception that nobody knows is read by its bare name (`ReadTimeout` of any package), then by its wording.
"""


def _kind(kind: FaultKind | None) -> str:
    return f"`{kind.value}`" if kind else "native"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return _row(head) + _row("---" for _ in head) + "".join(_row(row) for row in rows)


def _write(diagnosis: Diagnosis) -> str:
    return "in doubt" if diagnosis.in_doubt else "not applied" if diagnosis.sent else "never sent"


def exceptions() -> str:
    """Show what each exception says."""
    rows = []
    for group in GROUPS:
        write = _write(Diagnosis(group.kind, "", group.sent, group.in_doubt))
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(group.names))
        rows.append((_kind(group.kind), write, group.says, names))
    return _table(("kind", "a write is", "what it says", "exceptions"), rows)


def _by_meaning(codes: Mapping[str | int, tuple[FaultKind | None, str, bool, bool]]) -> list[tuple[str, ...]]:
    found: dict[tuple[FaultKind | None, str, bool, bool], list[str]] = {}
    for code, meaning in codes.items():
        found.setdefault(meaning, []).append(f"`{code}`")
    return [
        (_kind(kind), _write(Diagnosis(kind, "", sent, in_doubt)), says, ", ".join(names))
        for (kind, says, sent, in_doubt), names in found.items()
    ]


def statuses() -> str:
    """Show what the number of an HTTP status says."""
    return _table(
        ("status", "kind", "a write is"),
        [(f"{status}", _kind(found.kind), _write(found)) for status, found in sorted(PLAIN.items())],
    )


def databases() -> str:
    """Show what the codes of databases say."""
    head = ("kind", "a write is", "what it says", "codes")
    codes = {**database.SQLSTATES, **database.SQLITE, **database.MYSQL}
    return _table(head, _by_meaning(codes))


def codes() -> str:
    """Show the error codes of bodies."""
    rpc = {code: (kind, says, True, in_doubt) for code, (kind, says, in_doubt) in signs.RPC.items()}
    words: dict[tuple[FaultKind, bool], list[str]] = {}
    for code, meaning in signs.CODES.items():
        words.setdefault(meaning, []).append(f"`{code}`")
    rows = [
        (_kind(kind), _write(Diagnosis(kind, "", True, in_doubt)), ", ".join(names))
        for (kind, in_doubt), names in words.items()
    ]
    return (
        _table(("kind", "a write is", "codes, by their letters and digits alone"), rows)
        + "\nJSON-RPC and MCP:\n\n"
        + _table(("kind", "a write is", "what it says", "codes"), _by_meaning(rpc))
    )


_JSON = {"content-type": "application/json"}
_BEARER = {"www-authenticate": 'Bearer error="insufficient_scope"'}
EXAMPLES: tuple[Failed, ...] = (
    Failed(message="", status=500, body="<html><h1>500</h1></html>"),
    Failed(message="", status=503, headers={"retry-after": "120"}),
    Failed(message="", status=503, body='{"Error": {"Code": "SlowDown"}}'),
    Failed(message="", status=429, headers={"retry-after": "7"}),
    Failed(message="", status=403, headers=_BEARER),
    Failed(message="", status=403),
    Failed(message="", status=403, body='{"error": {"message": "You do not have permission to refund."}}'),
    Failed(message="", status=403, body='{"error": {"message": "Refunds above 100 need an approval."}}'),
    Failed(message="", status=403, headers={"x-ratelimit-remaining": "0"}),
    Failed(message="", status=400, body='{"__type": "ThrottlingException"}'),
    Failed(message="", status=400, body='{"__type": "com.amazon#ExpiredTokenException"}'),
    Failed(message="", status=400, body='{"__type": "TransactionConflictException"}'),
    Failed(message="", status=400, body='{"error": "invalid_grant"}'),
    Failed(message="", status=400, body='{"error": {"code": "unknown_parameter", "message": "max_tokens"}}'),
    Failed(message="", status=422, body='{"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required"}]}'),
    Failed(message="", status=422, body='{"error": "Argument order_id was renamed to orderId."}'),
    Failed(message="", status=422, body='{"error": "amount: -3 is less than the minimum of 0"}'),
    Failed(message="", status=400, body='{"error": "Version 2023-01 is no longer supported."}'),
    Failed(message="", status=404, body="Cannot POST /v1/orders"),
    Failed(message="", status=404, body='{"error": "order O1 is unknown"}'),
    Failed(message="", status=410, headers={"sunset": "Sat, 31 Oct 2026 00:00:00 GMT"}),
    Failed(message="", status=410, body='{"error": "order O1 was deleted"}'),
    Failed(message="", status=409, body='{"error": "order O1 is already shipped"}'),
    Failed(message="", status=409, body='{"error": "A request with this Idempotency-Key is in progress."}'),
    Failed(message="", status=422, body='{"error": "This Idempotency-Key was used with another body."}'),
    Failed(message="", status=425),
    Failed(message="", status=302, headers={"location": "https://sso.example.com/login"}),
    Failed(message="", status=200, exception="json.JSONDecodeError", body='{"id": "O1", "tot'),
    Failed(message="", status=502, exception="aiohttp.ContentTypeError", body="<html>"),
    Failed(message="", status=200, exception="json.JSONDecodeError", body="<html><input type='password'></html>"),
    Failed(message="", status=200, body='{"ok": false, "error": "ratelimited"}'),
    Failed(message="", status=200, body='{"error": {"code": 503, "message": "try later"}}'),
    Failed(message="", status=200, body='{"data": null, "errors": [{"extensions": {"code": "UNAUTHENTICATED"}}]}'),
    Failed(message="", status=200, body='{"data": null, "errors": [{"message": "Cannot query field sku on Item"}]}'),
    Failed(message="", body='{"isError": true, "content": [{"type": "text", "text": "Request timed out"}]}'),
    Failed(message="", body='{"isError": true, "content": [{"type": "text", "text": "order O1 is unknown"}]}'),
    Failed(message="", exception="mcp.MCPError", body='{"code": -32001, "message": "Timed out"}'),
    Failed(message="", exception="mcp.MCPError", body='{"code": -32602, "message": "Unknown tool: refund"}'),
    Failed(message="", exception="mcp.MCPError", body='{"code": -32602, "message": "amount must be positive"}'),
    Failed(message="", exception="mcp.MCPError", body='{"code": -32603, "message": "rate limit exceeded"}'),
    Failed(message="", exception="psycopg.SerializationFailure[40001]"),
    Failed(message="", exception="psycopg.AdminShutdown[57P01]"),
    Failed(message="server closed the connection unexpectedly", exception="psycopg.OperationalError"),
    Failed(message="connection failed: Connection refused", exception="psycopg.OperationalError"),
    Failed(message="", exception="sqlite3.OperationalError[SQLITE_BUSY]"),
    Failed(message="no such column: sku", exception="sqlite3.OperationalError[SQLITE_ERROR]"),
    Failed(message="", exception="pymysql.OperationalError[1213]"),
    Failed(message="API answered with status code 503", exception="RuntimeError"),
    Failed(message="order O1 is unknown", exception="shop.UnknownOrder"),
)


def _seen(failed: Failed) -> tuple[str, ...]:
    """Show a failure as its caller sees it."""
    headers = ", ".join(f"{name}: {value}" for name, value in failed.headers.items())
    parts = (failed.exception, f"HTTP {failed.status}" if failed.status else None, headers, failed.body, failed.message)
    return (" · ".join(f"`{part}`" for part in parts if part),)


def examples() -> str:
    """Show whole failures."""
    rows = [
        (*_seen(failed), _kind(found.kind), _write(found), found.evidence.replace("|", "\\|"))
        for failed in EXAMPLES
        for found in [diagnose(failed)]
    ]
    return _table(("what came", "kind", "a write is", "evidence"), rows)


def page() -> str:
    """Write the page."""
    return "".join(
        (
            _HEAD,
            f"\n## Whole failures\n\n{examples()}",
            f"\n## Exceptions\n\nA code that an exception carries stands behind it in brackets.\n\n{exceptions()}",
            "\n## HTTP statuses\n\nOther 5xx are server errors with a write in doubt. Other 4xx are read by body and "
            "headers, and are native without a sign. A 2xx that cannot be read is malformed, a write in doubt.\n\n"
            f"{statuses()}",
            f"\n## Error codes in bodies\n\n{codes()}",
            f"\n## Databases\n\nAny other code is a refusal: native, not applied.\n\n{databases()}",
        )
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
