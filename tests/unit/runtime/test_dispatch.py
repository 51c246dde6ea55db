"""Attempts that run on after their timeout, requests that are still on their way, windows and budgets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.recovery.policy import BALANCED
from breakfall.runtime import dispatch
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.declare import Declared, key, look_up, tool
from breakfall.runtime.stopped import CallStopped
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Settlement

QUICK = replace(BALANCED, base_s=0.02, cap_s=0.1)


def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
    return Settlement(applied=Applied.YES, value=value) if value else Settlement(applied=Applied.NO)


def slow_write(
    effects: list[str], gate: threading.Event, error: Exception | None = None
) -> tuple[Declared[Any, Any], Declared[Any, Any]]:
    """Declare a write that times out and then does (or refuses) its work only when the gate opens, and its reader."""

    @tool("read")
    def made(item: str) -> list[str]:
        if not effects:
            gate.set()
        return list(effects)

    @tool("write", reader=look_up(made, judge=judge), timeout_s=0.05)
    def make(item: str) -> list[str]:
        gate.wait(5.0)
        time.sleep(0.1)
        if error is not None and not effects:
            effects.append("refused")
            raise error
        effects.append(item)
        return [item]

    return made, make


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_what_still_runs_is_not_believed_undone(colour: str) -> None:
    """A reader that sees nothing yet does not let a write out again whose first attempt still runs here."""
    effects: list[str] = []
    made, make = slow_write(effects, threading.Event())
    with Toolbox(made, make, policy=QUICK) as box:
        arguments = {"item": "hat"}
        outcome = box.call(make, arguments) if colour == "sync" else asyncio.run(box.acall(make, arguments))
    assert outcome == Ok(value=["hat"])
    assert effects == ["hat"]


def test_what_runs_too_long_is_handed_over_and_settles_the_next_call() -> None:
    """A write that outlives the look-ups stays unknown, and its late answer is what the next equal call gets."""
    gate, calls = threading.Event(), []

    @tool("read")
    def made(item: str) -> list[str]:
        return []

    @tool("write", reader=look_up(made, judge=judge), timeout_s=0.02)
    def make(item: str) -> str:
        calls.append(item)
        gate.wait(5.0)
        return "O1"

    box = Toolbox(made, make, policy=QUICK)
    with pytest.raises(CallStopped, match="look-ups do not tell"):
        box[make]("hat")
    gate.set()
    box.close()
    assert box.call(make, {"item": "hat"}) == Ok(value="O1")
    assert calls == ["hat"]


def lost_once(clock: VirtualClock, lands_after_s: float) -> tuple[Declared[Any, Any], Declared[Any, Any], list[float]]:
    """Declare a write whose first answer is lost and whose request lands only after a while, and its reader."""
    landing: list[float] = []

    @tool("read")
    def made(item: str) -> list[float]:
        return [at for at in landing if at <= clock.now()]

    @tool("write", reader=look_up(made, judge=judge, in_transit_s=lands_after_s))
    def make(item: str) -> list[float]:
        landing.append(clock.now() + lands_after_s)
        raise ConnectionResetError("connection reset by peer")

    return made, make, landing


def test_what_may_still_arrive_is_waited_for() -> None:
    """While a request may still be on its way, "not applied" is not believed: one effect, read once it has landed."""
    clock = VirtualClock()
    made, make, landing = lost_once(clock, 5.0)
    outcome = Toolbox(made, make, clock=clock).call(make, {"item": "hat"})
    assert outcome == Ok(value=landing)
    assert len(landing) == 1
    assert clock.now() >= 5.0


def test_no_waiting_beyond_the_deadline() -> None:
    """A request that may land after the task's deadline is handed over as unknown, without waiting."""
    clock = VirtualClock()
    made, make, landing = lost_once(clock, 5.0)
    box = Toolbox(made, make, clock=clock)
    with box.task("hurry", deadline_s=1.0):
        outcome = box.call(make, {"item": "hat"})
    assert isinstance(outcome, Failed)
    assert outcome.applied is Applied.UNKNOWN
    assert (clock.now(), len(landing)) == (0.0, 1)


@pytest.mark.parametrize(("window_s", "sent"), [(3600.0, 2), (1e-6, 1)])
def test_a_key_counts_within_its_window(window_s: float, sent: int) -> None:
    """An unsettled write goes out again with its key only while the server still knows the key."""
    keys = []

    @tool("write", idempotency=key("k", window_s=window_s))
    def make(item: str, k: str | None = None) -> str:
        keys.append(k)
        if len(keys) == 1:
            raise ConnectionResetError("connection reset by peer")
        return "O1"

    box = Toolbox(make, clock=VirtualClock(), policy=replace(BALANCED, base_s=30.0, cap_s=60.0))
    outcome = box.call(make, {"item": "hat"})
    assert len(keys) == sent
    assert len(set(keys)) == 1
    assert isinstance(outcome, Ok) is (sent == 2)


def failing(error: Callable[[], Exception]) -> tuple[Declared[Any, Any], list[int]]:
    calls: list[int] = []

    @tool("read")
    def read() -> str:
        calls.append(1)
        raise error()

    return read, calls


def test_the_call_budget_counts_attempts_of_all_calls() -> None:
    """A task with two attempts makes two, the look-ups and retries among them, and refuses what comes after."""
    read, calls = failing(lambda: ConnectionResetError("connection reset by peer"))
    box = Toolbox(read, clock=VirtualClock())
    with box.task("cheap", calls=2):
        for _ in range(3):
            with pytest.raises(CallStopped, match="call budget is used up"):
                box[read]()
    assert len(calls) == 2


def test_a_late_refusal_settles_the_last_doubt() -> None:
    """A refusal that comes after the timeout says that nothing was applied, so the write goes out again."""

    class Busy(Exception):
        status = 429

    effects: list[str] = []
    gate = threading.Event()
    made, make = slow_write(effects, gate, error=Busy("later"))

    def says_no(value: Any, arguments: Any, sent_s: float) -> Settlement:
        return Settlement(applied=Applied.YES if "hat" in value else Applied.NO)

    again = replace(make.spec, reader=replace(make.spec.reader, judge=says_no))
    make.spec = again
    with Toolbox(made, make, policy=QUICK) as box:
        outcome = box.call(make, {"item": "hat"})
    assert isinstance(outcome, Ok)
    assert effects == ["refused", "hat"]


def test_what_never_began_is_known_not_to_have() -> None:
    """When all threads are busy, an attempt that times out in the queue is known not to have been sent."""
    gate, effects = threading.Event(), []

    @tool("read", timeout_s=0.01)
    def stuck() -> None:
        gate.wait(5.0)

    @tool("irreversible", idempotency=key("k"), timeout_s=0.01)
    def make(k: str | None = None) -> str:
        effects.append(k)
        return "O1"

    box = Toolbox(stuck, make, policy="give-up", clock=VirtualClock())
    box._dispatch = dispatch.Dispatch(VirtualClock(), threads=1)
    box.call(stuck, {})
    outcome = box.call(make, {})
    gate.set()
    box.close()
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.applied) == (FaultKind.TIMEOUT, Applied.NO)
    assert effects == []


def test_own_error_not_the_readers() -> None:
    """The exception that the caller sees as the cause is the write's own, not what its reader raised."""

    @tool("read")
    def made(item: str) -> list[str]:
        raise PermissionError("reader is not allowed")

    @tool("write", reader=look_up(made, judge=judge))
    def make(item: str) -> str:
        raise ConnectionResetError("connection reset by peer")

    with pytest.raises(CallStopped) as stopped:
        Toolbox(made, make, clock=VirtualClock())[make]("hat")
    assert isinstance(stopped.value.__cause__, ConnectionResetError)


def test_a_cancelled_write_is_not_sent_again() -> None:
    """A write whose caller was cancelled while it was out is of unknown outcome: the next equal call looks it up."""
    effects: list[str] = []

    async def main() -> Any:
        @tool("read")
        async def made(item: str) -> list[str]:
            return list(effects)

        @tool("write", reader=look_up(made, judge=judge))
        async def make(item: str) -> list[str]:
            effects.append(item)
            await asyncio.sleep(0.2)
            return [item]

        box = Toolbox(made, make)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(box[make]("hat"), 0.02)
        return await box[make]("hat")

    assert asyncio.run(main()) == ["hat"]
    assert effects == ["hat"]


def test_what_cannot_be_repeated_is_sent_once() -> None:
    """A call that says so is never sent a second time, whatever failed."""
    read, calls = failing(lambda: ConnectionResetError("connection reset by peer"))
    outcome = Toolbox(read, clock=VirtualClock()).call(read, {}, repeatable=False)
    assert isinstance(outcome, Failed)
    assert len(calls) == 1


def test_tools_can_be_added() -> None:
    """A tool that was added is guarded like the others, and a name that is taken is refused."""
    read, calls = failing(lambda: ConnectionResetError("connection reset by peer"))
    other, _ = failing(lambda: ValueError("other"))
    box = Toolbox(clock=VirtualClock())
    box.add(read)
    with pytest.raises(CallStopped):
        box[read]()
    assert len(calls) == 3
    with pytest.raises(UsageError, match="two tools are named 'read'"):
        box.add(other)


def test_a_write_that_was_looked_up_in_vain_is_known_not_to_have_happened() -> None:
    """A lost write that its reader does not find, and that may not be repeated, ends as "not applied"."""

    @tool("read")
    def made(item: str) -> list[str]:
        return []

    @tool("write", reader=look_up(made, judge=judge))
    def make(item: str) -> str:
        raise ConnectionResetError("connection reset by peer")

    box = Toolbox(made, make, clock=VirtualClock())
    with pytest.raises(CallStopped) as stopped:
        box.value_of(make, {"item": "hat"}, repeatable=False)
    assert stopped.value.outcome.applied is Applied.NO
    assert stopped.value.handoff.unknown == ()


def test_the_hand_over_names_what_an_earlier_process_sent(tmp_path: Path) -> None:
    """A write of unknown outcome is in the packet for a person also where this process made no attempt of it."""
    with pytest.warns(UserWarning, match="neither a reader nor a key"):

        @tool("write")
        def make(item: str) -> str:
            raise ConnectionResetError("connection reset by peer")

    for start in range(3):
        with Toolbox(make, journal=tmp_path / "w.db", clock=VirtualClock()) as box, box.task("buy", run="t"):
            if start == 2:
                assert len(box.reconcile().needs_person) == 1
            with pytest.raises(CallStopped) as stopped:
                box[make]("hat")
            assert [fact.arguments["item"] for fact in stopped.value.handoff.unknown] == ["hat"]


class HTTPError(Exception):
    """Looks like a client's error for a status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


@pytest.mark.parametrize(
    "script", [[], [503], [404], [401], [429, 503], [500] * 5, [{"error": "gone"}], ["reset", 500]]
)
def test_the_short_way_of_a_read_comes_to_the_same(script: list[Any]) -> None:
    """A guarded read makes its first attempt without a flow: calls, waits, outcome and what was learned stay."""

    def told(how: str) -> tuple[Any, ...]:
        left, calls, clock = list(script), [], VirtualClock()

        @tool("read")
        def read(item: str) -> Any:
            calls.append(item)
            reply = left.pop(0) if left else "ok"
            if isinstance(reply, int):
                raise HTTPError(reply)
            if reply == "reset":
                raise ConnectionResetError("connection reset by peer")
            return reply

        box = Toolbox(read, clock=clock)
        with box.task("read", run="r", calls=9) as run:
            try:
                came: Any = box[read]("hat") if how == "short" else box.value_of(read, {"item": "hat"})
            except Exception as error:
                came = repr(error)
        breaker, state = run.state.breaker("read"), run.state
        learned = (breaker.failures, breaker.successes, state.storms, state.calls_left, state.draws, state.stops)
        return came, calls, clock.now(), learned, run.errors

    assert told("short") == told("whole")
