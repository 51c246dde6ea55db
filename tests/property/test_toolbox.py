"""The toolbox over a service that fails in every way: one operation happens at most once, and what is told is true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.declare import Declared, key, look_up, tool
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Failed, Idempotency, Ok, Outcome, Settlement

WRITE_WAYS = ["ok", "lost", "500 before", "500 after", "429", "401", "refused", "interrupt before", "interrupt after"]
READ_WAYS = ["ok", "ok", "fails", "stale", "401"]
EVENTS = st.lists(st.sampled_from(["call", "call", "restart", "again later"]), min_size=1, max_size=8)


class HTTPError(Exception):
    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers = status, headers or {}


class Refusal(Exception):
    """The service's own refusal."""


class Service:
    """Keeps what was really done; fails as the scripts say, and behaves once they are used up."""

    def __init__(self, clock: VirtualClock, writes: list[str], reads: list[str], honours_key: bool) -> None:
        self.clock, self.honours_key = clock, honours_key
        self.ways: Iterator[str] = iter(writes)
        self.read_ways: Iterator[str] = iter(reads)
        self.done: list[tuple[float, str | None]] = []

    def pay(self, amount: int, note: str, idempotency_key: str | None) -> str:
        way = next(self.ways, "ok")
        if way in ("500 before", "429", "401"):
            raise HTTPError(int(way[:3]), {"Retry-After": "2"} if way == "429" else {})
        if way == "refused":
            raise Refusal("insufficient balance")
        if way == "interrupt before":
            raise KeyboardInterrupt
        known = self.honours_key and any(used == idempotency_key for _, used in self.done)
        if not known:
            self.done.append((self.clock.now(), idempotency_key))
        if way == "lost":
            raise ConnectionResetError("connection reset by peer")
        if way == "500 after":
            raise HTTPError(500)
        if way == "interrupt after":
            raise KeyboardInterrupt
        return "paid"

    def payments(self) -> dict[str, Any]:
        way = next(self.read_ways, "ok")
        if way == "fails":
            raise HTTPError(503)
        if way == "401":
            raise HTTPError(401)
        if way == "stale":
            return {"as_of": -1.0, "times": []}
        return {"as_of": self.clock.now(), "times": [at for at, _ in self.done]}


def judge(value: dict[str, Any], arguments: Any, sent_s: float) -> Settlement:
    if value["as_of"] < sent_s:
        return Settlement(applied=Applied.UNKNOWN, evidence="stale")
    applied = any(at >= sent_s for at in value["times"])
    return Settlement(applied=Applied.YES if applied else Applied.NO, value="paid" if applied else None)


def declared(service: Service, promise: Idempotency | None, reader: bool) -> list[Declared[Any, Any]]:
    @tool("read")
    def payments() -> dict[str, Any]:
        return service.payments()

    found = look_up(payments, judge=judge, arguments=lambda a, c: {}) if reader else None

    @tool("irreversible", reader=found, idempotency=promise)
    def pay(amount: int, note: str, idempotency_key: str | None = None) -> str:
        return service.pay(amount, note, idempotency_key)

    return [payments, pay]


def called(box: Toolbox, nth: int) -> Outcome | None:
    """Make the same logical call, worded in two ways; None if it was interrupted."""
    arguments = {"amount": 5, "note": "hat"} if nth % 2 else {"note": "hat", "amount": 5}
    try:
        with box.task("buy a hat", run="ticket-7"):
            return box.call("pay", arguments)
    except KeyboardInterrupt:
        return None


@pytest.mark.filterwarnings("ignore:tool 'pay' writes, and has neither")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    events=EVENTS,
    writes=st.lists(st.sampled_from(WRITE_WAYS), max_size=10),
    reads=st.lists(st.sampled_from(READ_WAYS), max_size=14),
    promise=st.sampled_from([None, key("idempotency_key")]),
    reader=st.booleans(),
)
def test_at_most_once_and_truly_told(
    events: list[str], writes: list[str], reads: list[str], promise: Idempotency | None, reader: bool
) -> None:
    """Whatever is lost, refused, interrupted, re-planned or restarted: the payment happens at most once, an answer
    means that it happened, a sure "no" means that it did not, and unknown stays unknown until someone looks.
    """
    clock = VirtualClock()
    service = Service(clock, writes, reads, honours_key=promise is not None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "writes.db"
        box = Toolbox(*declared(service, promise, reader), journal=path, clock=clock)
        for nth, event in enumerate(events):
            if event == "restart":
                box.close()
                box = Toolbox(*declared(service, promise, reader), journal=path, clock=clock)
                box.reconcile()
            if event == "again later":
                clock.advance(600.0)
            outcome = called(box, nth)
            assert len(service.done) <= 1
            if isinstance(outcome, Ok):
                assert outcome.value == "paid"
                assert len(service.done) == 1
            if isinstance(outcome, Failed) and outcome.applied is Applied.NO:
                assert not service.done
        box.close()


@settings(deadline=None)
@given(writes=st.lists(st.sampled_from(["lost", "500 after", "500 before", "429"]), max_size=2))
def test_what_can_be_finished_is_finished(writes: list[str]) -> None:
    """With a reader that works, what passes within the tries ends in one payment and an answer."""
    clock = VirtualClock()
    service = Service(clock, writes, [], honours_key=False)
    with tempfile.TemporaryDirectory() as folder:
        with Toolbox(*declared(service, None, True), journal=Path(folder) / "writes.db", clock=clock) as box:
            assert called(box, 0) == Ok(value="paid")
        assert len(service.done) == 1
