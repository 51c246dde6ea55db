"""classify reads the kind of a failure from what a caller can see."""

import json
from typing import Any

import pytest

from breakfall.recovery.classify import classify, diagnose
from breakfall.vocab import Applied, Failed, FaultKind

TIMEOUT, RATE, SERVER, MALFORMED = (
    FaultKind.TIMEOUT,
    FaultKind.RATE_LIMIT,
    FaultKind.SERVER_ERROR,
    FaultKind.MALFORMED_RESPONSE,
)
AUTH, DRIFT = FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT


def http(status: int | None, body: Any = None, exception: str | None = None, **headers: str) -> Failed:
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Failed(message="", status=status, body=text, exception=exception, headers=named)


def raised(exception: str, message: str = "") -> Failed:
    return Failed(message=message, exception=exception)


CASES = [
    (raised("httpx.ReadTimeout"), TIMEOUT, True),
    (raised("ConnectTimeout"), TIMEOUT, False),
    (raised("ConnectError"), SERVER, False),
    (raised("RemoteProtocolError"), SERVER, True),
    (http(200, exception="json.JSONDecodeError"), MALFORMED, True),
    (http(200, '{"id": "O1", "tot', exception="JSONDecodeError"), MALFORMED, True),
    (http(500, "<html>"), SERVER, True),
    (http(502, {"error": {"code": 502, "message": "upstream connect error"}}), SERVER, True),
    (http(503), SERVER, True),
    (http(503, retry_after="120"), SERVER, True),
    (http(503, {"Error": {"Code": "SlowDown", "Message": "Please reduce your request rate."}}), RATE, False),
    (http(504), TIMEOUT, True),
    (http(408), TIMEOUT, True),
    (http(524), TIMEOUT, True),
    (http(521), SERVER, False),
    (http(529), RATE, False),
    (Failed(message="", status=429, retry_after_s=7.0), RATE, False),
    (http(401), AUTH, False),
    (http(407), AUTH, False),
    (http(403), AUTH, False),
    (http(403, "{}"), AUTH, False),
    (http(403, "<html><h1>403 Forbidden</h1></html>"), AUTH, False),
    (http(403, {"message": "Forbidden"}), AUTH, False),
    (http(403, {"error": "refund not possible"}, WWW_Authenticate="Bearer"), AUTH, False),
    (http(403, {"error": {"code": "insufficient_scope", "message": "needs refunds:write"}}), AUTH, False),
    (http(403, "You do not have permission to see this order"), AUTH, False),
    (http(403, {"message": "API rate limit exceeded for user 7"}), RATE, False),
    (http(403, X_RateLimit_Remaining="0"), RATE, False),
    (http(302, location="https://example.com/login?next=/orders"), AUTH, False),
    (http(302, location="https://example.com/orders/7"), MALFORMED, True),
    (http(308, location="https://example.com/v2"), DRIFT, False),
    (http(405), DRIFT, False),
    (http(501), DRIFT, False),
    (http(425), SERVER, False),
    (http(421), SERVER, False),
    (http(409, {"error": "a request with this idempotency key is in progress"}), SERVER, True),
    (http(400, {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"}), RATE, False),
    (http(400, {"__type": "ProvisionedThroughputExceededException"}), RATE, False),
    (http(400, {"Error": {"Code": "ExpiredToken", "Message": "..."}}), AUTH, False),
    (http(400, {"__type": "TransactionConflictException"}), SERVER, False),
    (http(400, {"error": "invalid_grant"}), AUTH, False),
    (http(400, {"error": {"message": "Error validating access token: Session has expired"}}), AUTH, False),
]


@pytest.mark.parametrize(("failed", "kind", "may_have_happened"), CASES)
def test_kind_and_effect(failed: Failed, kind: FaultKind, may_have_happened: bool) -> None:
    """Each evidence names its kind, and a write is of unknown effect exactly if the request may have arrived."""
    seen = classify(failed, writes=True)
    assert seen.kind is kind
    assert not seen.native
    assert seen.applied is (Applied.UNKNOWN if may_have_happened else Applied.NO)
    assert classify(failed, writes=False).applied is Applied.NO
    evidence = diagnose(failed).evidence
    assert evidence
    assert "\n" not in evidence


DRIFTED = [
    (422, {"error": "schema_changed"}),
    (400, {"error": {"message": "Argument 'order_id' of get_order was renamed to 'orderId'."}}),
    (422, {"error": {"message": "Argument 'region' of get_order is now required (one of: eu, us)."}}),
    (422, {"detail": [{"type": "missing", "loc": ["body", "region"], "msg": "Field required"}]}),
    (422, {"detail": [{"type": "extra_forbidden", "msg": "Extra inputs are not permitted"}]}),
    (400, {"error": {"code": "unknown_parameter", "message": "Unrecognized request argument supplied: max_tokens"}}),
    (400, {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model."}}),
    (400, {"error": {"type": "invalid_request_error", "code": "parameter_missing", "message": "currency"}}),
    (400, {"error": {"message": 'Invalid JSON payload received. Unknown name "sku": Cannot find field.'}}),
    (400, {"message": "Missing required parameter: currency"}),
    (400, {"message": "Unknown field 'sku'"}),
    (400, {"message": "The field 'email' is required."}),
    (400, {"message": "The parameter 'sort' is deprecated; use 'order'."}),
    (400, {"message": "API version 2023-01 is not supported"}),
    (400, "This API no longer accepts XML"),
    (404, "Cannot GET /v1/orders/7"),
    (404, {"error": {"code": "UnknownOperationException"}}),
    (404, {"message": "unknown endpoint"}),
    (410, {"message": "This endpoint has been removed"}),
    (400, {"errors": [{"message": "Cannot query field 'sku' on type 'Item'."}]}),
]


@pytest.mark.parametrize(("status", "body"), DRIFTED)
def test_drift_is_told_from_validation(status: int, body: Any) -> None:
    """A refusal of the call's form, its names, version or endpoint, is a drift and names its evidence."""
    seen = diagnose(http(status, body))
    assert seen.kind is DRIFT
    assert f"HTTP {status}, and" in seen.evidence
    assert not seen.in_doubt


def test_retired_interface() -> None:
    """Headers that say that an interface is retired make its refusal a drift."""
    assert diagnose(http(410, {"error": "gone"}, Sunset="Sat, 31 Oct 2026 00:00:00 GMT")).kind is DRIFT
    assert diagnose(http(410, {"error": "gone"}, Deprecation="true")).kind is DRIFT
    assert diagnose(http(410, {"error": "order O1 was deleted"})).kind is None


NATIVE = [
    http(404, {"error": {"code": "order_not_found", "message": "no order 'O1'; look it up again"}}),
    http(404, {"detail": "Not Found"}),
    http(404, "<html>nothing here</html>"),
    http(409, {"error": {"code": "out_of_stock", "message": "2 of P1 available, 3 needed"}}),
    http(409, {"error": {"code": "unavailable", "message": "product P1 is no longer available"}}),
    http(409, {"error": "this idempotency key was used with other arguments"}),
    http(402, {"error": {"code": "card_declined", "message": "the card was declined"}}),
    http(403, {"error": {"code": "approval_required", "message": "refunds above 100.00 need a shift lead"}}),
    http(403, {"error": {"code": "forbidden", "message": "goodwill credit is at most 20.00"}}),
    http(403, "Refunds are closed after 30 days"),
    http(412, {"error": "the order has changed since you read it"}),
    http(422, {"error": {"message": "amount: -3 is less than the minimum of 0"}}),
    http(422, {"error": {"message": 'arguments: "region" is a required property'}}),
    http(422, {"error": {"message": "arguments: Additional properties are not allowed ('x' was unexpected)"}}),
    http(422, {"error": {"code": "coupon_expired", "message": "coupon C7 was valid until 2026-01-01"}}),
    http(400, {"error": {"message": "payment method not found"}}),
    http(400, {"error": {"message": "Unknown customer C9"}}),
    http(400, {"error": {"message": "timeout must be a number"}}),
    Failed(message="Client error '404 Not Found' for url 'http://h/deprecated?api_version=1'", status=404),
    Failed(message="already shipped", status=409),
    Failed(message="no such file"),
    raised("shop.UnknownOrder", "no order O1"),
    raised("FileNotFoundError", "no such file"),
    raised("httpx.UnsupportedProtocol"),
    raised("sqlite3.IntegrityError[SQLITE_CONSTRAINT_UNIQUE]", "UNIQUE constraint failed: t.x"),
    raised("psycopg.UniqueViolation[23505]"),
]


@pytest.mark.parametrize("failed", NATIVE)
def test_own_refusal_is_native(failed: Failed) -> None:
    """A tool's own refusal is no fault, and leaves nothing open."""
    seen = classify(failed, writes=True)
    assert seen.native, diagnose(failed)
    assert seen.kind is None
    assert seen.failure_class == "native"
    assert seen.applied is Applied.NO


def rpc(code: int, message: str) -> Failed:
    return http(None, {"code": code, "message": message, "data": None}, exception="mcp.MCPError")


def tool_error(text: str) -> Failed:
    return http(None, {"isError": True, "content": [{"type": "text", "text": text}]})


SAID = [
    (http(200, {"ok": False, "error": "ratelimited"}), RATE, False),
    (http(200, {"ok": False, "error": "token_expired"}), AUTH, False),
    (http(200, {"ok": False, "error": "channel_not_found"}), None, False),
    (http(200, {"error": {"code": 503, "message": "try later"}}), SERVER, True),
    (http(200, {"error": {"code": 429, "message": "slow down"}}), RATE, False),
    (http(200, {"status": "error", "message": "upstream request timeout"}), TIMEOUT, True),
    (http(200, {"data": None, "errors": [{"message": "no", "extensions": {"code": "UNAUTHENTICATED"}}]}), AUTH, False),
    (http(200, {"data": None, "errors": [{"extensions": {"code": "INTERNAL_SERVER_ERROR"}}]}), SERVER, True),
    (http(200, {"data": None, "errors": [{"message": "insufficient balance"}]}), None, False),
    (http(None, {"errorType": "TimeoutError", "errorMessage": "Task timed out after 3.00 seconds"}), TIMEOUT, True),
    (tool_error("Error: rate limit exceeded, wait a minute"), RATE, False),
    (tool_error("Request timed out"), TIMEOUT, True),
    (tool_error("Unauthorized: invalid API key"), AUTH, False),
    (tool_error("503 Service Unavailable"), SERVER, True),
    (tool_error("connect ECONNREFUSED: connection refused"), SERVER, False),
    (tool_error("order O1 is unknown"), None, False),
    (rpc(-32001, "Timed out while waiting for response"), TIMEOUT, True),
    (rpc(-32000, "Connection closed"), SERVER, True),
    (rpc(-32601, "Method not found"), DRIFT, False),
    (rpc(-32602, "Unknown tool: refund"), DRIFT, False),
    (rpc(-32602, "timeout must be a number"), None, False),
    (rpc(-32603, "Internal error"), SERVER, True),
    (rpc(-32603, "rate limit exceeded"), RATE, False),
    (rpc(-32002, "Resource not found"), None, False),
    (rpc(-32042, "URL elicitation required"), AUTH, False),
    (rpc(-32050, "shard is read-only"), None, False),
    (rpc(429, "too many"), RATE, False),
    (raised("RuntimeError", "API answered with status code 503"), SERVER, True),
    (raised("RuntimeError", "HTTP 404: no such order"), None, False),
    (raised("tools.ToolError", "the request timed out"), TIMEOUT, True),
]


@pytest.mark.parametrize(("failed", "kind", "may_have_happened"), SAID)
def test_bodies_that_say_error(failed: Failed, kind: FaultKind | None, may_have_happened: bool) -> None:
    """A body that says error under a 200, and one of JSON-RPC, is read by its codes, then by its wording."""
    seen = classify(failed, writes=True)
    assert seen.kind is kind, diagnose(failed)
    assert seen.native is (kind is None)
    assert seen.applied is (Applied.UNKNOWN if may_have_happened else Applied.NO)


UNREADABLE = [
    (http(404, "<html>", exception="json.JSONDecodeError"), None),
    (http(502, "<html>", exception="aiohttp.ContentTypeError"), SERVER),
    (http(200, "<html><form>Sign in</form></html>", exception="requests.JSONDecodeError"), AUTH),
    (http(200, "<html>welcome</html>", exception="requests.JSONDecodeError"), MALFORMED),
    (http(200, '{"id": 7}'), MALFORMED),
    (raised("httpx.RemoteProtocolError", "peer closed connection (incomplete chunked read)"), MALFORMED),
    (raised("pydantic.ValidationError", "1 validation error for Order\ntotal\n  Field required"), MALFORMED),
    (raised("pydantic.ValidationError", "1 validation error for refundArguments\namount\n  Field required"), None),
]


@pytest.mark.parametrize(("failed", "kind"), UNREADABLE)
def test_unreadable_answers(failed: Failed, kind: FaultKind | None) -> None:
    """An answer that its reader could not take is malformed, unless status, login page or model tell otherwise."""
    assert diagnose(failed).kind is kind


DATABASES = [
    ("psycopg.SerializationFailure[40001]", "", SERVER, False),
    ("asyncpg.DeadlockDetectedError[40P01]", "", SERVER, False),
    ("psycopg.LockNotAvailable[55P03]", "", SERVER, False),
    ("psycopg.QueryCanceled[57014]", "canceling statement due to statement timeout", TIMEOUT, False),
    ("psycopg.AdminShutdown[57P01]", "", SERVER, True),
    ("asyncpg.ConnectionDoesNotExistError[08003]", "closed in the middle of operation", SERVER, True),
    ("psycopg.StatementCompletionUnknown[40003]", "", SERVER, True),
    ("psycopg.TooManyConnections[53300]", "", SERVER, False),
    ("psycopg.InvalidPassword[28P01]", "", AUTH, False),
    ("psycopg.InsufficientPrivilege[42501]", "", AUTH, False),
    ("psycopg.UndefinedColumn[42703]", "", DRIFT, False),
    ("psycopg.OperationalError", "connection failed: Connection refused", SERVER, False),
    ("psycopg.OperationalError", "the connection is closed", SERVER, False),
    ("psycopg.OperationalError", "consuming input failed: server closed the connection unexpectedly", SERVER, True),
    ("psycopg.ConnectionTimeout", "", TIMEOUT, False),
    ("pymysql.OperationalError[1213]", "Deadlock found when trying to get lock", SERVER, False),
    ("pymysql.OperationalError[1205]", "Lock wait timeout exceeded", SERVER, False),
    ("pymysql.OperationalError[2003]", "Can't connect to MySQL server", SERVER, False),
    ("pymysql.OperationalError[2013]", "Lost connection to MySQL server during query", SERVER, True),
    ("pymysql.OperationalError[1045]", "Access denied", AUTH, False),
    ("pymysql.ProgrammingError[1146]", "Table doesn't exist", DRIFT, False),
    ("pymysql.IntegrityError[1062]", "Duplicate entry", None, False),
    ("sqlite3.OperationalError[SQLITE_BUSY]", "database is locked", SERVER, False),
    ("sqlite3.OperationalError[SQLITE_BUSY_SNAPSHOT]", "database is locked", SERVER, False),
    ("sqlite3.OperationalError", "database is locked", SERVER, False),
    ("sqlite3.OperationalError[SQLITE_IOERR_WRITE]", "disk I/O error", SERVER, True),
    ("sqlite3.OperationalError[SQLITE_ERROR]", "no such column: sku", DRIFT, False),
    ("sqlite3.OperationalError[SQLITE_ERROR]", 'near "selec": syntax error', None, False),
    ("sqlalchemy.TimeoutError", "QueuePool limit of size 5 overflow 10 reached", TIMEOUT, False),
    ("pyodbc.Error[HYT00]", "", TIMEOUT, True),
]


@pytest.mark.parametrize(("name", "message", "kind", "may_have_happened"), DATABASES)
def test_databases(name: str, message: str, kind: FaultKind | None, may_have_happened: bool) -> None:
    """A rolled-back or refused statement is not applied; a connection that was lost leaves a write in doubt."""
    seen = classify(raised(name, message), writes=True)
    assert seen.kind is kind
    assert seen.applied is (Applied.UNKNOWN if may_have_happened else Applied.NO)


@pytest.mark.parametrize("name", ["KeyError", "TypeError", "AttributeError", "ValueError"])
def test_an_accident_in_the_tool_leaves_a_write_in_doubt(name: str) -> None:
    """A tool whose own code fails is at fault itself, and may have sent its write before."""
    seen = classify(raised(name, "'id'"), writes=True)
    assert seen.native
    assert seen.applied is Applied.UNKNOWN
    assert classify(raised(name, "'id'"), writes=False).applied is Applied.NO


def test_a_classified_failure_stays() -> None:
    """What was classified before is not read again."""
    failed = Failed(message="", kind=FaultKind.AUTH_ERROR, status=500)
    assert classify(failed, writes=True) is failed
