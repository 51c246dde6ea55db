from __future__ import annotations

from copy import deepcopy

import pytest
from tests.unit.faults.shop import ORDER, Shop, order, strike

from breakfall.faults.corrupt import differences, factual_error, false_success, partial_data, stale_value
from breakfall.faults.shape import UNKNOWN, shape_of
from breakfall.seeds import stream
from breakfall.vocab import Corruption, FaultKind, Ok
from breakfall.vocab.pointer import get, parse

SEEDS = range(60)


def no_ids(kind):
    return ()


def holds(true, shown, corruptions):
    """Whether the record tells exactly where `shown` differs from `true`."""
    for change in corruptions:
        if change.removed:
            assert get(true, parse(change.pointer)) == change.true
        else:
            assert get(shown, parse(change.pointer)) == change.shown != change.true
    return len(differences(true, shown)) > 0


def test_partial_data():
    """Fields or items are missing, nothing else has changed, and what is missing is on record."""
    removed = set()
    for seed in SEEDS:
        true = order()
        false = partial_data(Ok(value=true), shape_of(ORDER), stream(seed))
        assert true == order()
        assert holds(true, false.outcome.value, false.corruptions)
        assert all(change.removed and change.shown is None for change in false.corruptions)
        removed |= {change.pointer for change in false.corruptions}
    assert {"/status", "/total"} & removed
    assert {"/items/0", "/items/1"} <= removed
    assert not {"/note", "/as_of"} & removed, "what misleads nobody is not what is missing"


def test_partial_list():
    """Of a long list at most half is missing, and the rest keeps its order."""
    true = list(range(20))
    for seed in SEEDS:
        false = partial_data(Ok(value=true, replayed=True), UNKNOWN, stream(seed))
        shown = false.outcome.value
        assert 10 <= len(shown) < 20
        assert shown == sorted(shown)
        assert len(false.corruptions) == 20 - len(shown)
        assert false.outcome.replayed


def test_partial_record_of_prose():
    """A record of nothing but prose can still lose a field."""
    assert partial_data(Ok(value={"note": "hello"}), UNKNOWN, stream(1)).outcome.value == {}


@pytest.mark.parametrize("value", [None, {}, [], 3, "text", {"a": {}}])
def test_partial_without_loss(value):
    """An answer that holds nothing to lose loses nothing, or the empty part that it has."""
    false = partial_data(Ok(value=value), UNKNOWN, stream(1))
    assert false is None or false.outcome.value == {}


def test_stale_from_the_world():
    """The world's earlier answer is shown as it is, with every difference on record."""
    earlier = {**order(), "status": "paid", "as_of": "2025-03-19T12:00:00Z"}
    false = stale_value(Ok(value=order()), shape_of(ORDER), stream(1), earlier)
    assert false.outcome.value == earlier
    assert [(change.pointer, change.true, change.shown) for change in false.corruptions] == [
        ("/status", "shipped", "paid"),
        ("/as_of", "2025-03-20T12:00:00Z", "2025-03-19T12:00:00Z"),
    ]


@pytest.mark.parametrize("earlier", [None, order(), {**order(), "as_of": "2025-03-01T00:00:00Z"}])
def test_stale_aged(earlier):
    """Where the world knows nothing that was really different, what lives in the answer goes back, with its times."""
    seen = set()
    for seed in SEEDS:
        false = stale_value(Ok(value=order()), shape_of(ORDER), stream(seed), earlier)
        assert holds(order(), false.outcome.value, false.corruptions)
        seen.add(tuple(change.pointer for change in false.corruptions))
        assert all(change.shown < change.true for change in false.corruptions if change.pointer != "/status")
    assert seen == {("/status", "/changed_at", "/as_of"), ("/changed_at", "/as_of")}


def test_what_a_write_answers_does_not_age():
    """It tells of what is new: only the world can say what its answer would have shown before."""
    assert stale_value(Ok(value=order()), shape_of(ORDER), stream(1), None, ages=False) is None
    earlier = {**order(), "status": "paid"}
    assert stale_value(Ok(value=order()), shape_of(ORDER), stream(1), earlier, ages=False).outcome.value == earlier


@pytest.mark.parametrize("value", [None, {}, [], "prose", {"note": "prose"}, ["red", "blue"], {"since": "2025-03-14"}])
def test_stale_cannot_strike(value):
    """What cannot have been other does not age."""
    assert stale_value(Ok(value=value), UNKNOWN, stream(1), None) is None


def test_factual_error():
    """Exactly one load-bearing value is another; over seeds many places are struck, prose and times never."""
    struck = set()
    for seed in range(300):
        true = order()
        false = factual_error(Ok(value=true), shape_of(ORDER), stream(seed), Shop().ids, {"order_id": "O1001"})
        assert true == order()
        (change,) = false.corruptions
        assert differences(true, false.outcome.value) == [change]
        struck.add(change.pointer)
    assert {"/status", "/total", "/tax", "/shipping_cents", "/placed_on", "/customer_id", "/items/1/sku"} <= struck
    assert not {"/note", "/as_of", "/order_id"} & struck


def test_factual_echo():
    """What the caller asked with is replaced only where nothing else can be."""
    value = {"order_id": "O1001", "note": "prose"}
    false = factual_error(Ok(value=value), shape_of(ORDER), stream(1), Shop().ids, {"order_id": "O1001"})
    assert false.corruptions[0].pointer == "/order_id"
    assert false.outcome.value["order_id"] in ("O1002", "O1003")


def test_factual_scalar():
    """An answer that is one value is replaced whole."""
    false = factual_error(Ok(value=12, replayed=True), UNKNOWN, stream(1), no_ids, {})
    assert false.outcome.replayed
    assert false.corruptions == (Corruption(pointer="", true=12, shown=false.outcome.value),)


@pytest.mark.parametrize("value", [None, {}, [], {"note": "prose"}])
def test_factual_cannot_strike(value):
    """An answer without a value that matters cannot be false."""
    assert factual_error(Ok(value=value), UNKNOWN, stream(1), no_ids, {}) is None


def test_false_success():
    """Nothing of a success that did not happen is true; an answer without a value has no place to name."""
    assert false_success(Ok(value={"done": 1})).corruptions == (Corruption(pointer="", true=None, shown={"done": 1}),)
    assert false_success(Ok(value=None)).corruptions == ()


@pytest.mark.parametrize(
    ("true", "shown", "pointers"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"a": 1}, ["/b"]),
        ({"a": 1}, {"a": 1, "b/c": 2}, ["/b~1c"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["/a/b/1"]),
        ([1, 2, 3], [1, 3], ["/1"]),
        ([1, 3], [1, 2, 3], ["/1"]),
        ([1, 2, 3], [9, 2], ["/0", "/2"]),
        ([1, 2], [9, 2, 3], ["/0", "/2"]),
        ({"a": 1}, {"a": True}, ["/a"]),
        ({"a": [1]}, {"a": {"b": 1}}, ["/a"]),
        (1, 1.0, []),
        (None, {}, [""]),
    ],
)
def test_differences(true, shown, pointers):
    """Differences are named as deep as both sides go, and a missing list item at its own place."""
    assert [change.pointer for change in differences(true, shown)] == pointers


def test_silent_reads_through_the_injector():
    """A silent fault on a read runs the tool, shows another answer, and records the true one."""
    for kind in (FaultKind.PARTIAL_DATA, FaultKind.STALE_VALUE, FaultKind.FACTUAL_ERROR):
        outcome, injection, shop = strike(kind, "get_order")
        assert isinstance(outcome, Ok)
        assert outcome.value != order() == injection.true_value
        assert injection.executed
        assert injection.corruptions
        assert shop.calls == [("get_order", {"order_id": "O1001"})]


def test_stale_read_shows_the_state_before():
    """A stale read shows what the record was before the episode's last change."""
    shop = Shop()
    strike(FaultKind.PARTIAL_DATA, "refund", shop)
    outcome, injection, _ = strike(FaultKind.STALE_VALUE, "get_refund", shop)
    assert outcome.value == {"order_id": "O1001", "refunded": 0.0, "status": "none"}
    assert injection.true_value["refunded"] == 1.0


def test_stale_write():
    """A stale write is applied, and its answer shows the state before; where the world knows none, it cannot strike."""
    outcome, injection, shop = strike(FaultKind.STALE_VALUE, "refund")
    assert shop.refunds == {"O1001": 1.0}
    assert injection.executed
    assert injection.true_value == {"order_id": "O1001", "refunded": 1.0, "status": "partly refunded"}
    assert outcome.value == {"order_id": "O1001", "refunded": 0.0, "status": "none"}
    outcome, injection, shop = strike(FaultKind.STALE_VALUE, "refund", Shop(remembers=False))
    assert shop.refunds == {"O1001": 1.0}
    assert injection.suppressed
    assert outcome.value == {"order_id": "O1001", "refunded": 1.0, "status": "partly refunded"}


def test_partial_write():
    """A write whose answer misses fields was applied."""
    outcome, injection, shop = strike(FaultKind.PARTIAL_DATA, "refund")
    assert shop.refunds == {"O1001": 1.0}
    assert injection.executed
    assert len(outcome.value) == 2


def test_false_write():
    """A false success changes nothing, although its answer is just the one that the write would have had."""
    outcome, injection, shop = strike(FaultKind.FACTUAL_ERROR, "refund", amount=5.0)
    assert outcome == Ok(value={"order_id": "O1001", "refunded": 5.0, "status": "partly refunded"})
    assert not injection.executed
    assert shop.refunds == {}
    assert shop.effects == []
    assert injection.corruptions[0].pointer == ""


@pytest.mark.parametrize("kind", [FaultKind.PARTIAL_DATA, FaultKind.STALE_VALUE, FaultKind.FACTUAL_ERROR])
@pytest.mark.parametrize("tool", ["get_order", "refund"])
def test_refusals_pass(kind, tool):
    """A tool's own refusal passes through a silent fault, which is on record as one that did not strike."""
    shop = Shop()
    shop.orders.clear()
    before = deepcopy(shop.orders)
    outcome, injection, _ = strike(kind, tool, shop)
    assert outcome.message == "no order O1001"
    assert injection.suppressed
    assert injection.executed
    assert shop.orders == before
