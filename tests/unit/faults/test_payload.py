from __future__ import annotations

import json

import pytest
from tests.unit.faults.shop import Shop, strike, tools

from breakfall.faults import payload
from breakfall.seeds import stream
from breakfall.vocab import OBSERVABLE, SILENT, Applied, Failed, FaultKind, Ok

SEEDS = range(40)
LOST = (FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE)
REFUSED = (FaultKind.RATE_LIMIT, FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT)


def struck(kind, tool, **more):
    return [strike(kind, tool, seed=seed, **more) for seed in SEEDS]


@pytest.mark.parametrize("kind", OBSERVABLE)
@pytest.mark.parametrize("tool", ["get_order", "refund", "ping"])
def test_no_kind_is_shown(kind, tool):
    """What the agent sees carries no kind; the true kind is on record."""
    for outcome, injection, _ in struck(kind, tool):
        assert isinstance(outcome, Failed)
        assert outcome.kind is None
        assert not outcome.native
        assert injection.kind is kind


@pytest.mark.parametrize("kind", OBSERVABLE)
def test_read_is_never_ambiguous(kind):
    """A failed read has no effect to be unsure of."""
    for outcome, _, shop in struck(kind, "get_order"):
        assert outcome.applied is Applied.NO
        assert shop.effects == []


@pytest.mark.parametrize("kind", LOST)
def test_lost_write_may_have_run(kind):
    """A lost answer of a write with a reader hides an effect about half the time, and shows no difference."""
    results = struck(kind, "refund")
    for outcome, injection, shop in results:
        assert outcome.applied is Applied.UNKNOWN
        assert injection.executed == (len(shop.effects) == 1) == (shop.refunds == {"O1001": 1.0})
        assert injection.true_value == (
            {"order_id": "O1001", "refunded": 1.0, "status": "partly refunded"} if injection.executed else None
        )
    assert 10 < sum(injection.executed for _, injection, _ in results) < 30
    by_execution = {
        executed: {(o.status, o.exception) for o, i, _ in results if i.executed is executed}
        for executed in (True, False)
    }
    assert by_execution[True] == by_execution[False]


@pytest.mark.parametrize("kind", LOST)
def test_write_without_reader_never_runs_first(kind):
    """A write that nobody could look up is struck before it runs; its caller cannot know that."""
    for outcome, injection, shop in struck(kind, "ping"):
        assert outcome.applied is Applied.UNKNOWN
        assert not injection.executed
        assert shop.effects == []


def test_reader_of_another_condition():
    """A reader that this environment does not have is none: the write is struck before it runs."""
    for seed in SEEDS:
        shop = Shop()
        del shop.tools["get_refund"]
        assert not strike(FaultKind.TIMEOUT, "refund", shop, seed=seed)[1].executed


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_write_never_runs(kind):
    """A refusal before the tool is no effect, and says so."""
    for outcome, injection, shop in struck(kind, "refund"):
        assert outcome.applied is Applied.NO
        assert not injection.executed
        assert shop.calls == []


def test_timeout():
    """A timeout is an exception of the client: no status, no body."""
    outcome, _, shop = strike(FaultKind.TIMEOUT, "get_order")
    assert (outcome.exception, outcome.status, outcome.body) == ("ReadTimeout", None, None)
    assert "10 s" in outcome.message
    assert shop.calls == []


def test_rate_limit():
    """A 429 tells how long to wait, in the header and as a number, and they agree."""
    for outcome, _, _ in struck(FaultKind.RATE_LIMIT, "get_order"):
        assert outcome.status == 429
        assert float(outcome.headers["Retry-After"]) == outcome.retry_after_s > 0
        assert json.loads(outcome.body)["error"]["code"] == "rate_limited"


def test_auth_error():
    """A 401 or 403 carries the reason in WWW-Authenticate; both occur."""
    results = struck(FaultKind.AUTH_ERROR, "get_order")
    assert {outcome.status for outcome, _, _ in results} == {401, 403}
    for outcome, _, _ in results:
        code = json.loads(outcome.body)["error"]["code"]
        assert f'error="{code}"' in outcome.headers["WWW-Authenticate"]


def test_server_error():
    """A server error is a 500, 502 or 503 with an HTML page or a JSON body, each as its header says."""
    results = struck(FaultKind.SERVER_ERROR, "get_order")
    assert {outcome.status for outcome, _, _ in results} == {500, 502, 503}
    types = set()
    for outcome, _, _ in results:
        kind = outcome.headers["Content-Type"]
        types.add(kind)
        if kind == "application/json":
            assert json.loads(outcome.body)["error"]["code"] == outcome.status
        else:
            assert f"<h1>{outcome.status} " in outcome.body
    assert types == {"application/json", "text/html"}


def test_schema_drift():
    """A drift names, for people and for programs, an argument of the real schema or a new one that it lacks."""
    reasons = set()
    for outcome, _, _ in struck(FaultKind.SCHEMA_DRIFT, "get_order"):
        error = json.loads(outcome.body)["error"]
        reasons.add(error["reason"])
        assert outcome.status in (400, 422)
        assert error["code"] == "schema_changed"
        assert error["argument"] in error["message"]
        if error["reason"] == "renamed":
            assert error["argument"] == "order_id"
            assert error["renamed_to"] in outcome.message
        else:
            assert error["argument"] not in tools()["get_order"].parameters["properties"]
            assert error["allowed"]
    assert reasons == {"renamed", "required"}


@pytest.mark.parametrize("tool", ["get_order", "refund", "ping"])
def test_malformed(tool):
    """A malformed response is the beginning of the answer's JSON, under status 200, that no parser takes."""
    for seed in SEEDS:
        shop = Shop()
        true = shop._run(tool, {"order_id": "O1001"} if tool != "ping" else {}).value
        shop.refunds.clear()
        outcome, _, _ = strike(FaultKind.MALFORMED_RESPONSE, tool, shop, seed=seed)
        assert (outcome.status, outcome.exception) == (200, "JSONDecodeError")
        assert json.dumps(true, separators=(",", ":")).startswith(outcome.body)
        with pytest.raises(json.JSONDecodeError):
            json.loads(outcome.body)


@pytest.mark.parametrize("value", [None, 12, "text", [], {}, {"name": "아름다운 가게"}, True, 1.5])
def test_malformed_any_value(value):
    """Whatever a tool answers, what is left of it after the cut is no JSON."""
    for seed in SEEDS:
        draw = stream(seed, "cut")
        outcome = payload.failure(
            FaultKind.MALFORMED_RESPONSE, tools()["ping"], draw, answer=Ok(value=value), change=None
        )
        with pytest.raises(json.JSONDecodeError):
            json.loads(outcome.body)


def test_malformed_refusal():
    """A read that the tool refuses can lose that answer too; the refusal is on record."""
    shop = Shop()
    shop.orders.pop("O1001")
    outcome, injection, _ = strike(FaultKind.MALFORMED_RESPONSE, "get_order", shop)
    assert outcome.exception == "JSONDecodeError"
    assert '{"error":{"message":"no order O1001"}}'.startswith(outcome.body)
    assert injection.true_refusal == "no order O1001"
    assert injection.true_value is None


@pytest.mark.parametrize("kind", [*SILENT, FaultKind.MALFORMED_RESPONSE, FaultKind.SCHEMA_DRIFT])
def test_failure_needs_its_evidence(kind):
    """No failure is built of a silent kind, nor of a kind without what it shows."""
    with pytest.raises(ValueError, match=kind.value):
        payload.failure(kind, tools()["ping"], stream(1), answer=None, change=None)
