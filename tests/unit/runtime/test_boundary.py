"""The boundary turns what a tool raised or returned into an outcome, by attribute and class name alone."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import msgspec
import pytest

from breakfall.recovery.classify import classify, diagnose
from breakfall.recovery.expectations import Expectation, agrees, fresh
from breakfall.runtime.boundary import failed_from, outcome_of
from breakfall.vocab import Applied, Failed, FaultKind, Ok
from breakfall.vocab.schema import ArgumentSchema


def made(name: str, bases: tuple[type, ...] = (Exception,), **attributes: Any) -> type:
    """Make a class as a package would have it: "asyncpg.exceptions.SerializationError"."""
    module, _, last = name.rpartition(".")
    return type(last, bases, {"__module__": module, **attributes})


def caught(act: Callable[[], Any]) -> BaseException:
    """Run a tool as a toolbox does, and return what it raised."""
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


class Response:
    """What an HTTP client's response looks like; it is false like a requests response that failed."""

    def __init__(self, status: int, text: str = "", **headers: str) -> None:
        self.status_code, self.content, self.headers = status, text.encode(), headers

    def __bool__(self) -> bool:
        return self.status_code < 400


def status_error(status: int, text: str = "", **headers: str) -> BaseException:
    error = made("httpx._exceptions.HTTPStatusError")("Client error")
    error.response = Response(status, text, **headers)  # type: ignore[attr-defined]
    return error


POSTGRES = made("asyncpg.exceptions._base.PostgresError")
HTTP_PARSER = made("aiohttp.http_exceptions.HttpProcessingError", code=400)
MYSQL = made("pymysql.err.OperationalError")
UNKNOWN = {"error": "Unknown field 'x'"}
SERVER, DRIFT = FaultKind.SERVER_ERROR, FaultKind.SCHEMA_DRIFT
LIBRARIES = [
    (made("asyncpg.exceptions.SerializationError", (POSTGRES,), sqlstate="40001")("x"), SERVER, False),
    (made("asyncpg.exceptions.DeadlockDetectedError", (POSTGRES,), sqlstate="40P01")("x"), SERVER, False),
    (made("asyncpg.exceptions.QueryCanceledError", (POSTGRES,), sqlstate="57014")("x"), FaultKind.TIMEOUT, False),
    (made("asyncpg.exceptions.ConnectionDoesNotExistError", (POSTGRES,), sqlstate="08003")("x"), SERVER, True),
    (made("asyncpg.exceptions.UniqueViolationError", (POSTGRES,), sqlstate="23505")("x"), None, False),
    (made("asyncpg.exceptions._base.InterfaceError")("connection is closed"), SERVER, False),
    (MYSQL(1213, "Deadlock found when trying to get lock; try restarting transaction"), SERVER, False),
    (MYSQL(2013, "Lost connection to MySQL server during query"), SERVER, True),
    (MYSQL(2003, "Can't connect to MySQL server on 'db'"), SERVER, False),
    (made("pymysql.err.ProgrammingError")(1146, "Table 'shop.orders' doesn't exist"), DRIFT, False),
    (made("pymysql.err.IntegrityError")(1062, "Duplicate entry"), None, False),
    (made("mysql.connector.errors.DatabaseError", sqlstate="HY000")(2013, "Lost"), SERVER, True),
    (made("pyodbc.Error")("40001", "[40001] transaction was deadlocked"), SERVER, False),
    (made("psycopg2.errors.LockNotAvailable", pgcode="55P03")("x"), SERVER, False),
    (made("aiohttp.http_exceptions.InvalidHeader", (HTTP_PARSER,))("x"), FaultKind.MALFORMED_RESPONSE, True),
    (made("redis.exceptions.TimeoutError")("x"), FaultKind.TIMEOUT, True),
    (made("kubernetes.client.ApiException", status=429, headers={})("x"), FaultKind.RATE_LIMIT, False),
    (made("stripe.error.APIError", http_status=500, http_body="{}")("x"), SERVER, True),
    (made("fastapi.exceptions.HTTPException", status_code=422, detail=UNKNOWN)("x"), DRIFT, False),
    (made("google.api_core.exceptions.TooManyRequests", code=429)("x"), FaultKind.RATE_LIMIT, False),
]  # fmt: skip


@pytest.mark.parametrize(("error", "kind", "may_have_happened"), LIBRARIES, ids=lambda value: type(value).__name__)
def test_libraries_that_are_not_installed(
    error: BaseException, kind: FaultKind | None, may_have_happened: bool
) -> None:
    """Drivers and clients are known by class name, attributes and codes; none of them is imported."""
    seen = classify(failed_from(error), writes=True)
    assert seen.kind is kind, diagnose(failed_from(error))
    assert seen.applied is (Applied.UNKNOWN if may_have_happened else Applied.NO)


def test_an_answer_is_kept_whole() -> None:
    """Status, body, headers and the wait come over, but no cookie."""
    body = json.dumps({"error": {"message": "slow " * 5000}})
    failed = failed_from(status_error(429, body, **{"Retry-After": "7", "Set-Cookie": "session=1", "X-Id": "a"}))
    assert failed.status == 429
    assert failed.body == body
    assert failed.headers == {"Retry-After": "7", "X-Id": "a"}
    assert failed.retry_after_s == 7.0
    assert failed.exception == "httpx.HTTPStatusError"
    assert "Client error" in failed.message


def test_a_date_is_measured_from_the_given_now() -> None:
    """A Retry-After date needs the time, unless the server sent its own."""
    error = status_error(503, "", **{"Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT"})
    assert failed_from(error).retry_after_s is None
    assert failed_from(error, now_s=1_796_040_000.0).retry_after_s == 30.0


def test_a_body_that_was_not_read_is_left_alone() -> None:
    """Nothing is read from the network for a failure's body."""
    error = status_error(500)

    class Unread:
        status_code = 500
        headers: dict[str, str] = {}  # noqa: RUF012

        @property
        def content(self) -> bytes:
            raise RuntimeError("the body has not been read")

    error.response = Unread()  # type: ignore[attr-defined]
    assert failed_from(error).body is None
    error.response = Response(500, "later")  # type: ignore[attr-defined]
    error.response._content = False
    assert failed_from(error).body is None


READ_TIMEOUT = made("httpx._exceptions.ReadTimeout")
CONNECT_ERROR = made("httpx._exceptions.ConnectError")


def raise_from(outer: BaseException, inner: BaseException, *, explicitly: bool = True) -> None:
    try:
        raise inner
    except BaseException:
        if explicitly:
            raise outer from inner
        raise outer  # noqa: B904 - the implicit context is what is tested


@pytest.mark.parametrize("explicitly", [True, False])
@pytest.mark.parametrize("outer", [KeyError("id"), RuntimeError("no luck"), made("shop.OrderFailed")("O1")])
def test_what_it_was_raised_from_counts(outer: BaseException, explicitly: bool) -> None:
    """A transport failure that a tool wrapped, or stumbled over, is still a transport failure."""
    failed = failed_from(caught(lambda: raise_from(outer, READ_TIMEOUT("slow"), explicitly=explicitly)))
    assert failed.exception == "httpx.ReadTimeout"
    assert "slow" in failed.message
    assert classify(failed, writes=True).applied is Applied.UNKNOWN


def test_from_none_is_respected() -> None:
    """A tool that says `from None` means its own refusal."""

    def act() -> None:
        try:
            raise READ_TIMEOUT
        except Exception:
            raise made("shop.OrderRefused")("closed") from None

    assert classify(failed_from(caught(act)), writes=True).native


def test_an_earlier_try_that_was_lost_counts() -> None:
    """A try that was never sent, or was refused, does not undo an earlier one that may have arrived."""
    never_sent = failed_from(caught(lambda: raise_from(CONNECT_ERROR("refused"), READ_TIMEOUT(), explicitly=False)))
    assert classify(never_sent, writes=True).applied is Applied.UNKNOWN
    refused = failed_from(caught(lambda: raise_from(status_error(409, "exists"), READ_TIMEOUT(), explicitly=False)))
    assert classify(refused, writes=True).applied is Applied.UNKNOWN
    plain = failed_from(caught(lambda: raise_from(CONNECT_ERROR("refused"), TimeoutError(), explicitly=False)))
    assert classify(plain, writes=True).applied is Applied.NO


def test_an_unreadable_refusal_is_a_refusal() -> None:
    """A 404 whose page the tool tried to parse as JSON is a 404, with its page as the body."""

    def act() -> None:
        try:
            raise status_error(404, "<html>no such order</html>")
        except Exception:
            json.loads("<html>no such order</html>")

    failed = failed_from(caught(act))
    assert (failed.status, failed.exception) == (404, "json.JSONDecodeError")
    assert classify(failed, writes=True).native


def test_unreadable_text_is_kept() -> None:
    """What could not be parsed is the body."""
    failed = failed_from(caught(lambda: json.loads('{"id": "O1", "tot')))
    assert failed.body == '{"id": "O1", "tot'
    assert classify(failed, writes=False).kind is FaultKind.MALFORMED_RESPONSE


def test_groups_are_opened() -> None:
    """A task group's exceptions count one by one."""
    group = ExceptionGroup("unhandled errors in a TaskGroup", [ExceptionGroup("", [ConnectionRefusedError("x")])])
    assert failed_from(group).exception == "ConnectionRefusedError"
    assert not diagnose(failed_from(group)).sent


def test_a_circle_of_causes_ends() -> None:
    """Exceptions that name each other as causes are looked at once."""
    one, two = made("shop.One")("1"), made("shop.Two")("2")
    one.__cause__, two.__cause__ = two, one
    assert failed_from(one).exception == "shop.One"


def refuse(amount: int) -> int:
    if amount < 0:
        raise ValueError("amount must be positive")
    return [1, 2][amount]


def test_a_decision_is_a_refusal_and_an_accident_is_not() -> None:
    """What a tool raises on purpose leaves no doubt; what befalls its code may have come after the write."""
    on_purpose = failed_from(caught(lambda: refuse(-1)))
    assert on_purpose.native
    assert classify(on_purpose, writes=True).applied is Applied.NO
    for act in (lambda: refuse(5), lambda: int("x"), lambda: date.fromisoformat("x"), lambda: {}["id"]):
        accident = failed_from(caught(act))
        assert not accident.native
        seen = classify(accident, writes=True)
        assert seen.native
        assert seen.applied is Applied.UNKNOWN


def test_a_decision_inside_with_and_try() -> None:
    """Leaving a `with` or `finally` block on the way does not turn a decision into an accident."""

    def act() -> None:
        try:
            with memoryview(b"x"):
                raise ValueError("amount must be positive")
        finally:
            str(1)

    assert failed_from(caught(act)).native


def test_a_call_that_never_reached_the_tool() -> None:
    """A call with arguments that the function does not take sent nothing."""
    try:
        refuse(total=3)  # type: ignore[call-arg]
    except TypeError as error:
        failed = failed_from(error)
    assert failed.native
    assert classify(failed, writes=True).applied is Applied.NO


def test_an_operating_system_error_names_its_code() -> None:
    """An OSError without a class of its own is told by its code."""
    assert failed_from(OSError(101, "Network is unreachable")).exception == "OSError[ENETUNREACH]"
    assert classify(failed_from(FileNotFoundError(2, "no such file")), writes=True).native


SCHEMA = ArgumentSchema(
    {
        "type": "object",
        "properties": {"id": {"type": "string"}, "total": {"type": "number"}, "on": {"type": "string"}},
        "required": ["id", "total"],
    }
)


def outcome(value: Any, schema: ArgumentSchema | None = None, *expect: Expectation, writes: bool = False) -> Any:
    return outcome_of(value, schema=schema, expect=expect, arguments={"order_id": "O1"}, now_s=100.0, writes=writes)


@pytest.mark.parametrize("value", [None, 7, "text", [], {"id": "O1", "total": 3}, "<html></html>", object()])
def test_values_come_back_as_they_are(value: Any) -> None:
    """What says nothing wrong is the value, the very object that the tool returned."""
    found = outcome(value)
    assert isinstance(found, Ok)
    assert found.value is value


@pytest.mark.parametrize(
    "value", [{"ok": False, "error": "ratelimited"}, '{"ok": false, "error": "ratelimited"}'], ids=["object", "text"]
)
def test_an_error_that_came_back_is_a_failure(value: Any) -> None:
    """A body that says error is a failure with its text, whole, as JSON or as text of JSON."""
    found = outcome(value, writes=True)
    assert isinstance(found, Failed)
    assert found.message == "ratelimited"
    assert json.loads(found.body or "") == {"ok": False, "error": "ratelimited"}
    assert classify(found, writes=True).kind is FaultKind.RATE_LIMIT


def test_the_output_schema_is_held() -> None:
    """A missing field is partial data, a wrong type or a page malformed; a write is then in doubt."""
    assert isinstance(outcome({"id": "O1", "total": 3}, SCHEMA), Ok)
    missing = outcome({"id": "O1"}, SCHEMA, writes=True)
    assert (missing.kind, missing.applied) == (FaultKind.PARTIAL_DATA, Applied.UNKNOWN)
    assert '"total"' in missing.message
    wrong = outcome({"id": 7}, SCHEMA)
    assert (wrong.kind, wrong.applied) == (FaultKind.MALFORMED_RESPONSE, Applied.NO)
    page = outcome("<!DOCTYPE html><html></html>", SCHEMA)
    assert page.kind is FaultKind.MALFORMED_RESPONSE
    assert "HTML page" in page.message


class Order(msgspec.Struct):
    id: str
    total: float
    on: date


def test_records_are_checked_as_their_json() -> None:
    """A record, and a date in a plain dict, are checked in the form that JSON would give them."""
    order = Order("O1", 3.0, date(2026, 11, 30))
    found = outcome(order, SCHEMA)
    assert isinstance(found, Ok)
    assert found.value is order
    assert isinstance(outcome({"id": "O1", "total": 3, "on": date(2026, 11, 30)}, SCHEMA), Ok)
    assert outcome({"id": object(), "total": 3}, SCHEMA).kind is FaultKind.MALFORMED_RESPONSE


class Result:
    """A tool result of the MCP SDK, as far as it is looked at."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        assert (mode, by_alias) == ("json", True)
        return self.fields


def test_tool_results_of_mcp() -> None:
    """An MCP result that says error is one; of another, the structured content is what the schema describes."""
    failed = outcome(Result(isError=True, content=[{"type": "text", "text": "Request timed out"}]), SCHEMA)
    assert failed.message == "Request timed out"
    assert classify(failed, writes=True).kind is FaultKind.TIMEOUT
    good = Result(isError=False, content=[], structuredContent={"id": "O1", "total": 3})
    assert outcome(good, SCHEMA).value is good
    assert (
        outcome(Result(isError=False, content=[], structuredContent={"id": "O1"}), SCHEMA).kind
        is FaultKind.PARTIAL_DATA
    )


def test_expectations_are_held() -> None:
    """A breach of what was declared is the fault that the declaration names."""
    stale = outcome({"as_of": 10.0}, None, fresh("/as_of", 60), writes=False)
    assert (stale.kind, stale.applied) == (FaultKind.STALE_VALUE, Applied.NO)
    assert stale.message.startswith("expected that /as_of is at most 60 s old")
    other = outcome({"id": "O2"}, None, agrees("/id", "order_id"), writes=True)
    assert (other.kind, other.applied) == (FaultKind.FACTUAL_ERROR, Applied.UNKNOWN)
    assert isinstance(outcome({"id": "O1", "as_of": 90}, None, fresh("/as_of", 60), agrees("/id", "order_id")), Ok)
