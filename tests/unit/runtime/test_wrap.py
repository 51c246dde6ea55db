"""The toolbox for one's own functions: nothing twice, nothing lost, nothing hidden, in both colours."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.ledger.severity import Severity, severity
from breakfall.recovery.expectations import counts
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.declare import Declared, key, look_up, natural, tool, via
from breakfall.runtime.journal import State, open_journal
from breakfall.runtime.recover import recover
from breakfall.runtime.stopped import CallStopped
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Settlement, Step, Tool, Verification, VerificationStatus


class Shop:
    """A service that does what it is told and can lose its answers."""

    def __init__(self) -> None:
        self.orders: list[tuple[str, float]] = []
        self.keys: dict[str, str] = {}
        self.lost = 0
        """How many of the next answers are lost after the work was done."""
        self.down = 0
        """How many of the next calls fail before anything is done."""
        self.calls = 0
        self.now: Callable[[], float] = time.time

    def order(self, item: str, idempotency_key: str | None = None) -> str:
        self.calls += 1
        if self.down:
            self.down -= 1
            raise HTTPError(503)
        if item == "unicorn":
            raise LookupError("no unicorns here")
        if idempotency_key is not None and idempotency_key in self.keys:
            return self.keys[idempotency_key]
        self.orders.append((item, self.now()))
        order_id = f"O{len(self.orders)}"
        if idempotency_key is not None:
            self.keys[idempotency_key] = order_id
        if self.lost:
            self.lost -= 1
            raise ConnectionResetError("connection reset by peer")
        return order_id

    def listed(self, item: str) -> list[dict[str, Any]]:
        return [{"id": f"O{n + 1}", "at": at} for n, (name, at) in enumerate(self.orders) if name == item]


class HTTPError(Exception):
    """Looks like a client's error for a status."""

    def __init__(self, status: int, headers: dict[str, str] | None = None, body: str | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.headers = headers or {}
        self.body = body


def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
    new = [order for order in value if order["at"] >= sent_s]
    if new:
        return Settlement(applied=Applied.YES, value=new[0]["id"])
    return Settlement(applied=Applied.NO)


def item_of(arguments: Any, context: Any) -> dict[str, Any]:
    return {"item": arguments["item"]}


def declared(shop: Shop, **how: Any) -> tuple[Declared[Any, Any], Declared[Any, Any]]:
    """Declare the shop's read and write, sync."""

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of), **how)
    def place(item: str) -> str:
        return shop.order(item)

    return orders, place


def async_declared(shop: Shop, **how: Any) -> tuple[Declared[Any, Any], Declared[Any, Any]]:
    """Declare the same, async."""

    @tool("read")
    async def orders(item: str) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of), **how)
    async def place(item: str) -> str:
        await asyncio.sleep(0)
        return shop.order(item)

    return orders, place


def patient() -> VirtualClock:
    return VirtualClock()


def test_a_lost_answer_is_looked_up_and_nothing_runs_twice() -> None:
    """One effect and the task finished, sync: the order stands once and its id comes back."""
    shop, clock = Shop(), patient()
    shop.lost, shop.now = 1, clock.now
    orders, place = declared(shop)
    assert Toolbox(orders, place, clock=clock)[place]("hat") == "O1"
    assert [item for item, _ in shop.orders] == ["hat"]


def test_the_same_async() -> None:
    """One effect and the task finished, async."""
    shop, clock = Shop(), patient()
    shop.lost, shop.now = 1, clock.now
    orders, place = async_declared(shop)

    async def main() -> str:
        got: str = await Toolbox(orders, place, clock=clock)[place]("hat")
        return got

    assert anyio.run(main) == "O1"
    assert len(shop.orders) == 1


def test_a_key_is_sent_and_kept() -> None:
    """A keyed write is repeated with its key: the service answers the second with the first's result."""
    shop = Shop()
    shop.lost = 1

    @tool("write", idempotency=key("idempotency_key"))
    def place(item: str, idempotency_key: str | None = None) -> str:
        return shop.order(item, idempotency_key)

    assert Toolbox(place, clock=patient())[place]("hat") == "O1"
    assert (len(shop.orders), shop.calls) == (1, 2)


def test_without_reader_or_key_it_is_handed_over() -> None:
    """A lost answer that nobody can look up is not repeated: the caller learns that nobody knows."""
    shop = Shop()
    shop.lost = 1
    with pytest.warns(UserWarning, match="neither a reader nor a key") as caught:

        @tool("write")
        def place(item: str) -> str:
            return shop.order(item)

    assert caught[0].filename == __file__
    with pytest.raises(CallStopped) as stopped:
        Toolbox(place, clock=patient())[place]("hat")
    assert stopped.value.outcome.applied is Applied.UNKNOWN
    assert [fact.tool for fact in stopped.value.handoff.unknown] == ["place"]
    assert isinstance(stopped.value.__cause__, ConnectionResetError)
    assert shop.calls == 1


def test_own_refusals_pass_through() -> None:
    """What the function raises of itself reaches the caller as it is, and is not tried again."""
    shop = Shop()
    orders, place = declared(shop)
    with pytest.raises(LookupError, match="no unicorns here"):
        Toolbox(orders, place, clock=patient())[place]("unicorn")
    assert shop.calls == 1


def test_an_accident_leaves_a_write_in_doubt() -> None:
    """A write whose own code stumbles after the work was done is looked up: it is not taken for a refusal."""
    shop, clock = Shop(), patient()
    shop.now = clock.now

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of))
    def place(item: str) -> str:
        return {"id": shop.order(item)}["order_id"]

    assert Toolbox(orders, place, clock=clock)[place]("hat") == "O1"
    assert len(shop.orders) == 1


def test_what_passes_is_retried() -> None:
    """A 503 that passes is retried, and the wait takes no wall time on a virtual clock."""
    shop, clock = Shop(), patient()
    shop.down = 2
    orders, place = declared(shop)
    shop.now = clock.now
    assert Toolbox(orders, place, clock=clock)[place]("hat") == "O1"
    assert clock.now() > 0


def test_retry_after_is_kept() -> None:
    """A 429 with Retry-After 7 is waited for, seven seconds on the clock."""
    clock, answers = patient(), iter([HTTPError(429, {"Retry-After": "7"})])

    @tool("read")
    def read() -> str:
        for error in answers:
            raise error
        return "ok"

    assert Toolbox(read, clock=clock)[read]() == "ok"
    assert 7.0 <= clock.now() <= 8.0


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_called_once(status: int) -> None:
    """A 401 or 403 is one call, then stop."""
    calls = []

    @tool("read")
    def read() -> str:
        calls.append(1)
        raise HTTPError(status, {"WWW-Authenticate": 'Bearer error="invalid_token"'})

    with pytest.raises(CallStopped) as stopped:
        Toolbox(read, clock=patient())[read]()
    assert len(calls) == 1
    assert stopped.value.outcome.kind is FaultKind.AUTH_ERROR


def test_switch_to_another_path() -> None:
    """A read that stays down is answered by its other path, in the original's form."""

    @tool("read", fault_domain="archive")
    def archived(order: str) -> dict[str, str]:
        return {"state": f"{order} shipped"}

    @tool(
        "read",
        fault_domain="live",
        paths=[via(archived, arguments=lambda a, c: {"order": a["order_id"]}, value=lambda v, a, c: v["state"])],
    )
    def status(order_id: str) -> str:
        raise HTTPError(500)

    assert Toolbox(archived, status, clock=patient())[status]("O1") == "O1 shipped"


def test_signature_and_colour_stay() -> None:
    """The guarded function has the name, the signature and the colour of the function."""
    shop = Shop()
    orders, place = declared(shop)
    async_orders, async_place = async_declared(shop)
    assert Toolbox(orders, place)[place].__name__ == "place"
    assert asyncio.iscoroutinefunction(Toolbox(async_orders, async_place)[async_place])
    with pytest.raises(TypeError, match="item"):
        Toolbox(orders, place)[place]()


def test_killed_and_restarted(tmp_path: Path) -> None:
    """A write that an earlier process made in the same run is answered with its recorded result."""
    shop = Shop()
    for _ in range(2):
        orders, place = declared(shop)
        with Toolbox(orders, place, journal=tmp_path / "writes.db") as box, box.task("buy a hat", run="ticket-7"):
            assert box[place]("hat") == "O1"
    assert shop.calls == 1


def test_left_unknown_is_looked_up_at_the_next_start(tmp_path: Path) -> None:
    """An outcome that stayed unknown is reconciled by the reader, and then replayed."""
    shop = Shop()
    shop.lost = 1
    reader_down = [True]

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        if reader_down[0]:
            raise HTTPError(500)
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of))
    def place(item: str) -> str:
        return shop.order(item)

    with (
        Toolbox(orders, place, journal=tmp_path / "w.db", clock=patient()) as box,
        box.task("buy", run="t"),
        pytest.raises(CallStopped),
    ):
        box[place]("hat")
    reader_down[0] = False
    with Toolbox(orders, place, journal=tmp_path / "w.db", clock=patient()) as box:
        summary = box.reconcile()
        assert len(summary.succeeded) == 1
        with box.task("buy", run="t"):
            assert box[place]("hat") == "O1"
    assert len(shop.orders) == 1


def test_repeats_in_one_task(tmp_path: Path) -> None:
    """An equal write is answered and not run; a wanted repeat runs; both are told apart."""
    shop = Shop()
    orders, place = declared(shop)
    with Toolbox(orders, place, journal=tmp_path / "w.db") as box, box.task("buy"):
        assert box.call(place, {"item": "hat"}) == Ok(value="O1")
        assert box.call(place, {"item": "hat"}) == Ok(value="O1", replayed=True)
        assert box.call("place", {"item": "hat"}, again=True) == Ok(value="O2")
    assert len(shop.orders) == 2


def test_outside_a_task_each_call_stands_for_itself(tmp_path: Path) -> None:
    """Two customers who order the same, one after the other or at once, each get an order of their own."""
    shop = Shop()
    orders, place = declared(shop)
    got: list[Any] = []
    with Toolbox(orders, place, journal=tmp_path / "w.db") as box:
        threads = [threading.Thread(target=lambda: got.append(box[place]("hat"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        got.append(box[place]("hat"))
    assert sorted(got) == ["O1", "O2", "O3", "O4", "O5"]
    assert len(shop.orders) == 5


def test_outside_a_task_what_is_open_is_continued() -> None:
    """A lost answer that nobody could look up is not forgotten: the next equal call looks before it sends."""
    shop, clock, reader_down = Shop(), patient(), [True]
    shop.lost, shop.now = 1, clock.now

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        if reader_down[0]:
            raise HTTPError(500)
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of))
    def place(item: str) -> str:
        return shop.order(item)

    box = Toolbox(orders, place, clock=clock)
    with pytest.raises(CallStopped):
        box[place]("hat")
    reader_down[0] = False
    clock.advance(600.0)
    assert box[place]("hat") == "O1"
    assert len(shop.orders) == 1
    assert box[place]("hat") == "O2"


def test_numbers_that_are_equal_are_one_operation() -> None:
    """Ten and ten point nought are the same amount: a plan that words it anew does not pay twice."""
    paid = []
    with pytest.warns(UserWarning, match="neither"):

        @tool("write")
        def pay(amount: float) -> int:
            paid.append(amount)
            return len(paid)

    box = Toolbox(pay, clock=patient())
    with box.task("pay"):
        assert box.call(pay, {"amount": 10}) == Ok(value=1)
        assert box.call(pay, {"amount": 10.0}) == Ok(value=1, replayed=True)


def test_one_of_two_threads_runs_it(tmp_path: Path) -> None:
    """The same operation from two threads at once runs once, and both get its result."""
    shop = Shop()
    orders, place = declared(shop)
    got: list[Any] = []

    def work(box: Toolbox) -> None:
        with box.task("buy", run="same"):
            got.append(box[place]("hat"))

    with Toolbox(orders, place, journal=tmp_path / "w.db") as box:
        threads = [threading.Thread(target=work, args=(box,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == ["O1"] * 8
    assert len(shop.orders) == 1


def test_timeout_is_real_and_the_late_result_settles(tmp_path: Path) -> None:
    """An async write that answers after its timeout: the late answer settles the journal, nothing is sent again."""
    shop = Shop()

    async def main() -> None:
        gate = asyncio.Event()

        @tool("irreversible", timeout_s=0.05)
        async def slow(item: str) -> str:
            order_id = shop.order(item)
            await gate.wait()
            return order_id

        with Toolbox(slow, journal=tmp_path / "w.db") as box, box.task("buy", run="t"):
            outcome = await box.acall(slow, {"item": "hat"})
            assert isinstance(outcome, Failed)
            assert outcome.ambiguous
            gate.set()
            await asyncio.sleep(0.05)
            assert await box.acall(slow, {"item": "hat"}) == Ok(value="O1", replayed=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(main())
    assert len(shop.orders) == 1
    with open_journal(tmp_path / "w.db") as journal:
        assert [entry.state for entry in journal.entries()] == [State.SUCCEEDED]


def test_sync_timeout(tmp_path: Path) -> None:
    """A sync write that answers late is looked up meanwhile, and runs once."""
    shop = Shop()
    started = threading.Event()

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        return shop.listed(item)

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of), timeout_s=0.05)
    def slow(item: str) -> str:
        order_id = shop.order(item)
        started.wait(1.0)
        return order_id

    with Toolbox(orders, slow, journal=tmp_path / "w.db") as box:
        assert box[slow]("hat") == "O1"
        started.set()
    assert len(shop.orders) == 1


class Sink:
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def step(self, step: Step) -> None:
        self.steps.append(step)


def test_every_attempt_is_a_step() -> None:
    """The ledger gets a step per attempt and look-up, with what was seen."""
    shop, sink, clock = Shop(), Sink(), patient()
    shop.lost, shop.now = 1, clock.now
    orders, place = declared(shop)
    box = Toolbox(orders, place, ledger=sink, clock=clock)
    with box.task("buy", run="r1"):
        box[place]("hat")
    assert [(s.tool, s.purpose, s.run) for s in sink.steps] == [("place", "", "r1"), ("orders", "probe", "r1")]
    assert len({(s.episode, s.n) for s in sink.steps}) == 2
    assert isinstance(sink.steps[0].observed_outcome, Failed)
    assert sink.steps[0].observed_outcome.exception is not None


def test_deadline_and_budget_stop_the_task() -> None:
    """A wait beyond the task's deadline is not begun, and attempts beyond its budget are not made."""
    calls = []

    @tool("read")
    def read() -> str:
        calls.append(1)
        raise HTTPError(429, {"Retry-After": "60"})

    box = Toolbox(read, clock=patient())
    with box.task("hurry", deadline_s=5.0):
        assert isinstance(box.call(read, {}), Failed)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: tool("reed"), "effect is 'reed', must be one of: read, write, irreversible"),
        (lambda: tool("read", idempotency=natural())(lambda: None), "reads: it needs no idempotency"),
        (lambda: tool("write", idempotency=key("k"))(lambda item: None), "has no parameter 'k' to carry the key"),
    ],
)
def test_bad_declarations_are_named(declare: Callable[[], Any], words: str) -> None:
    """A declaration that cannot work is refused where it stands, with what would be right."""
    with pytest.raises(UsageError, match=words):
        declare()


def test_bad_toolboxes_are_named() -> None:
    """A missing reader, two tools of one name, and mixed colours are refused before the first call."""
    shop = Shop()
    orders, place = declared(shop)
    with pytest.raises(UsageError, match="orders"):
        Toolbox(place)
    with pytest.raises(UsageError, match="two tools are named 'orders'"):
        Toolbox(orders, place, declared(shop)[0])
    with pytest.raises(UsageError, match="no policy 'balancd'; did you mean 'balanced'"):
        Toolbox(orders, place, policy="balancd")


def test_an_error_under_a_200_is_a_failure() -> None:
    """A body that says error is no value, whatever the status said."""

    @tool("read")
    def read() -> dict[str, Any]:
        return {"error": {"code": "not_found", "message": "no such order"}}

    outcome = Toolbox(read, clock=patient()).call(read, {})
    assert isinstance(outcome, Failed)
    assert "no such order" in outcome.message


def test_a_stale_answer_is_read_again() -> None:
    """An answer that breaks a declared expectation is not passed on; a fresh one is."""
    clock = patient()
    ages = iter([100.0, 1.0])

    @tool("read", expect=[counts("/count", "/items")])
    def read() -> dict[str, Any]:
        return {"count": 2, "items": ["a"] if next(ages) > 50 else ["a", "b"]}

    assert Toolbox(read, clock=clock).call(read, {}) == Ok(value={"count": 2, "items": ["a", "b"]})


def test_output_schema_is_held() -> None:
    """An answer that does not fit the declared schema is no value; a schema that is none is refused at once."""

    @tool("read", returns={"type": "object", "required": ["id"]})
    def read() -> dict[str, Any]:
        return {}

    outcome = Toolbox(read, clock=patient()).call(read, {})
    assert isinstance(outcome, Failed)
    with pytest.raises(UsageError, match="`returns` is not a JSON Schema"):
        tool("read", returns={"type": "objekt"})(lambda: None)


def test_a_confirmed_write_says_so_in_the_ledger() -> None:
    """Under the policy `confirming` the step of a write says who looked and which step is the evidence."""
    shop, sink, clock = Shop(), Sink(), patient()
    shop.now = clock.now
    orders, place = declared(shop)
    box = Toolbox(orders, place, ledger=sink, clock=clock, policy="confirming")
    with box.task("buy"):
        assert box[place]("hat") == "O1"
    write, look = sink.steps
    assert (write.tool, look.tool) == ("place", "orders")
    assert write.verification == Verification(
        status=VerificationStatus.PASSED, method="reader", by="runtime", evidence=look.n
    )


def test_a_fabricated_success_is_an_error_in_the_ledger() -> None:
    """A function that says done and did nothing: the step's verification failed, and the caller is stopped."""
    sink, clock = Sink(), patient()

    @tool("read")
    def orders(item: str) -> list[dict[str, Any]]:
        return []

    @tool("write", reader=look_up(orders, judge=judge, arguments=item_of))
    def place(item: str) -> str:
        return "O1"

    box = Toolbox(orders, place, ledger=sink, clock=clock, policy="confirming")
    with box.task("buy"), pytest.raises(CallStopped) as stopped:
        box[place]("hat")
    assert stopped.value.handoff.done == ()
    writes = [step for step in sink.steps if step.tool == "place"]
    assert {severity(step) for step in writes} == {Severity.ERROR}


def test_a_drifted_schema_is_read_again_once() -> None:
    """When a tool says that its arguments changed its schema is read again; a call that it takes goes out once more."""
    calls: list[int] = []

    @tool("read")
    def read(order_id: str) -> str:
        calls.append(1)
        if len(calls) == 1:
            raise HTTPError(422, body='{"error": {"code": "schema_changed", "message": "Argument renamed"}}')
        return "ok"

    asked: list[str] = []

    def refresh(name: str) -> Tool | None:
        asked.append(name)
        return replace(read.spec, parameters={"type": "object", "required": ["order_id"]})

    assert Toolbox(read, clock=patient(), refresh=refresh)[read]("O1") == "ok"
    assert (len(calls), asked) == (2, ["read"])


def test_a_drift_that_the_call_does_not_fit_is_not_repeated() -> None:
    """A call that the new schema refuses, or whose schema has not changed, is not sent again."""
    for parameters in ({"type": "object", "required": ["ref"]}, None):
        calls: list[int] = []

        @tool("read")
        def read(order_id: str, calls: list[int] = calls) -> str:
            calls.append(1)
            raise HTTPError(422, body='{"error": {"code": "schema_changed", "message": "Argument renamed"}}')

        fresh = replace(read.spec, parameters=parameters) if parameters else read.spec
        box = Toolbox(read, clock=patient(), refresh=lambda name, fresh=fresh: fresh)
        with pytest.raises(CallStopped):
            box[read]("O1")
        assert len(calls) == 1


def test_one_callable_without_a_toolbox() -> None:
    """A function is guarded in one line, with its readers beside it."""
    shop = Shop()
    shop.lost = 1
    orders, _ = declared(shop)

    def place(item: str) -> str:
        return shop.order(item)

    guarded = recover(place, "write", orders, reader=look_up(orders, judge=judge, arguments=item_of))
    assert guarded("hat") == "O1"
    assert len(shop.orders) == 1


def test_the_deadline_reaches_into_the_attempt() -> None:
    """A call in a task with a deadline is waited for no longer than that, and none is begun after it."""
    gate, calls = threading.Event(), []

    @tool("read")
    def read() -> str:
        calls.append(1)
        gate.wait(10.0)
        return "late"

    with Toolbox(read) as box, box.task("hurry", deadline_s=0.05):
        outcome = box.call(read, {})
        assert isinstance(outcome, Failed)
        assert outcome.kind is FaultKind.TIMEOUT
        refused = box.call(read, {})
        assert isinstance(refused, Failed)
        assert refused.message == "the task's deadline has passed"
        gate.set()
    assert len(calls) == 1
