"""One task of a toolbox: its budget, its calls on their way, and the Steps that a hand-over is built from."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Mapping
from math import inf
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.recovery.classify import classify
from breakfall.recovery.handoff import build
from breakfall.runtime.clock import SystemClock, VirtualClock
from breakfall.runtime.declare import Declared
from breakfall.runtime.journal import Claim, Journal, Operation
from breakfall.runtime.state import Operation as KnownOperation
from breakfall.runtime.state import TaskState, borne_out, operation_of
from breakfall.runtime.wants import Attempt, Done, Running
from breakfall.runtime.writes import JournalledWrite
from breakfall.vocab import (
    Call,
    Effect,
    Failed,
    Handoff,
    Ok,
    Outcome,
    Step,
    StepSink,
    Syncing,
    Tool,
    Uncertainty,
    Verification,
    VerificationStatus,
)

_KEPT_STEPS = 10_000
"""Steps that a task remembers for its hand-over; the ledger keeps all."""
_KEPT_CALLS = 1_000
"""Calls outside any task of which it is remembered how they ended, for whoever asks right after."""


class Opening(Struct, frozen=True):
    """A call that is about to be made."""

    call: Call
    tool: Tool
    operation: KnownOperation | None
    write: JournalledWrite | None


class Run:
    """What lives as long as one task: shared by its calls, which may be made from several threads.

    Args:
        name: The run that operations and Steps belong to; the same name finds the same operations after a restart.
        goal: What the task is for, for a hand-over.
        state: What the flow knows of it.
        journal: Where writes are stored before they go out.
        ledger: Where Steps go.
        clock: The time.
        alone: It is no task: each of its calls stands for itself.
    """

    def __init__(
        self,
        *,
        name: str,
        goal: str,
        state: TaskState,
        journal: Journal | None,
        ledger: StepSink | None,
        clock: SystemClock | VirtualClock,
        alone: bool = False,
    ) -> None:
        self.name = name
        self._alone = alone
        self._began_s = clock.now()
        self.goal = goal
        self.state = state
        self.clock = clock
        self.errors: dict[str, BaseException] = {}
        """Call id -> what its function, not its reader, raised last."""
        self.late: dict[str, Done] = {}
        """Call id -> how an attempt ended that had timed out."""
        self._journal = journal
        self._ledger = ledger
        self._writes: dict[str, JournalledWrite] = {}
        self._steps: deque[Step] = deque(maxlen=_KEPT_STEPS)
        self._step_numbers = itertools.count()
        self._call_numbers = itertools.count(1)  # one operation, so that no two threads get the same
        self._held: dict[str, list[Step]] = {}
        """Call id -> steps of a write that is looked up before its call returns; then they go to the ledger."""
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    def unburdened(self, tool: str) -> bool:
        """Whether a simple call of the tool may be made at once: nothing speaks against it and nobody records it."""
        state = self.state
        return self._ledger is None and state.calls_left > 0 and state.deadline_s == inf and state.healthy(tool)

    def timeout_s(self, declared: Declared[Any, Any]) -> float | None:
        """Return how long an attempt may take: no longer than the tool's timeout, nor than the task's deadline."""
        if self.state.deadline_s == inf:
            return declared.timeout_s
        left_s = max(self.state.deadline_s - self.clock.now(), 0.0)
        return left_s if declared.timeout_s is None else min(declared.timeout_s, left_s)

    def over(self) -> str | None:
        """Say why the task may make no further attempt; None if it may."""
        if self.state.calls_left < 1:
            return "the task's call budget is used up"
        return "the task's deadline has passed" if self.clock.now() >= self.state.deadline_s else None

    def open(self, declared: Declared[Any, Any], arguments: dict[str, Any], more: Mapping[str, Any]) -> Opening:
        """Name a call, and for a write its operation and key.

        Args:
            declared: The tool.
            arguments: Its arguments by name.
            more: `expected`, `context` and `again`, as far as the caller gave them.
        """
        tool = declared.spec
        name = tool.name
        call = Call(id=f"c{next(self._call_numbers)}", tool=name, arguments=arguments, expected=name)
        if more:
            call = replace(call, expected=more.get("expected") or name, context=more.get("context") or {})
        if not declared.writes:
            return Opening(call, tool, None, None)
        alone = int(call.id[1:]) if self._alone else None
        known, call = operation_of(call, tool, self.state, again=bool(more.get("again")), alone=alone)
        if self._journal is None or known.write is not None:
            return Opening(call, tool, known, None)
        key = known.name if known.epoch == 0 else f"{known.name}#{known.epoch}"
        operation = Operation(
            key=key, run=self.name, tool=tool.name, arguments=plain(known.arguments), epoch=known.epoch
        )
        write = JournalledWrite(self._journal, operation, call, tool)
        return Opening(call, tool, known, write)

    def enter(self, opening: Opening) -> None:
        """Note that a journalled write is on its way."""
        if opening.write is not None:
            self._writes[opening.call.id] = opening.write
        if self.state.policy.confirm != "never":
            self._held[opening.call.id] = []

    def replayed(self, opening: Opening, outcome: Outcome, declared: Declared[Any, Any]) -> Outcome:
        """Take what the journal answered instead of letting the write out."""
        if isinstance(outcome, Failed):
            self.state.stops[opening.call.id] = outcome.message
            self._note_unknown(opening, outcome)
            return outcome
        value = declared.restored(outcome.value)
        if opening.operation is not None:
            self.state.writes += 1
            opening.operation.value = value
            opening.operation.write = self.state.writes
        return Ok(value=value, replayed=True)

    def leave(self, opening: Opening, outcome: Outcome) -> None:
        """Store how a journalled write ended, and forget what only a failure needs."""
        if self._held:
            self._let_go(opening.call.id)
        if self._alone and opening.operation is not None:
            self._leave_alone(opening, opening.operation)
        if type(outcome) is Ok:
            if self.errors:
                self.errors.pop(opening.call.id, None)
            if opening.write is None:
                return
        elif isinstance(outcome, Failed):
            self._note_unknown(opening, outcome)
        write = self._writes.pop(opening.call.id, None)
        if write is not None:
            looked_up = opening.call.id in self.state.settled
            write.ended(Ok(value=plain(outcome.value)) if isinstance(outcome, Ok) else outcome, looked_up=looked_up)

    def _leave_alone(self, opening: Opening, operation: KnownOperation) -> None:
        """Remember of a call that belongs to no task only what nobody knows the outcome of."""
        operations = self.state.operations
        if operation.open_since_s is not None:
            operations[operation.name] = operation
        while len(operations) > _KEPT_CALLS and (oldest := next(iter(operations.values()))).open_since_s is None:
            del operations[oldest.name]  # its key is known to the server, and to the journal
        for kept in (self.state.settled, self.state.stops, self.late):
            while len(kept) > _KEPT_CALLS:
                kept.pop(next(iter(kept)))

    def going_out(self, want: Attempt) -> Claim | None:
        """Let an attempt out: a write only once the journal holds its intent.

        What nothing undoes waits until every step before it is on disk.
        """
        self.state.calls_left -= 1
        tool = want.tool
        if tool is not None and tool.effect is Effect.IRREVERSIBLE and isinstance(self._ledger, Syncing):
            self._ledger.sync()
        write = self._writes.get(want.call.id) if self._writes and not want.purpose else None
        if write is None or tool is None:
            return None
        return write.going_out(want.call, tool, settled_no=self.state.settled.get(want.call.id) is False)

    def came_back(self, want: Attempt, outcome: Outcome, error: BaseException | None, sent_s: float) -> Done:
        """Take in how an attempt ended."""
        now_s = self.clock.now()
        tool = want.tool
        if type(outcome) is Ok and self._ledger is None and tool is not None and not tool.writes:
            return Done(outcome, sent_s, now_s)
        if isinstance(outcome, Failed):
            outcome = classify(outcome, writes=tool is not None and tool.writes)
        if error is not None and not want.purpose:
            self.errors[want.call.id] = error
        write = self._writes.get(want.call.id) if self._writes and not want.purpose else None
        if write is not None:
            write.came_back(outcome)
        self._record(want, outcome, sent_s, now_s)
        return Done(outcome, sent_s, now_s)

    def timed_out(self, want: Attempt) -> None:
        """Note that an attempt runs on although its call no longer waits for it."""
        with self._lock:
            self._running[want.call.id] += 1

    def ended(self, want: Attempt) -> None:
        """Note that such an attempt has ended."""
        with self._lock:
            self._running[want.call.id] -= 1
            if not self._running[want.call.id]:
                del self._running[want.call.id]

    def heard(self, call: str) -> Done | Running | None:
        """Return the result of an attempt that had timed out, or that it still runs."""
        late = self.late.pop(call, None)
        return late if late is not None or call not in self._running else Running()

    def came_late(self, want: Attempt, claim: Claim | None, outcome: Outcome, sent_s: float) -> None:
        """Keep the result of an attempt that had timed out: it settles what was unknown, even after the call ended."""
        now_s = self.clock.now()
        if isinstance(outcome, Failed):
            outcome = classify(outcome, writes=want.tool is not None and want.tool.writes)
        self.late[want.call.id] = Done(outcome, sent_s, now_s)
        if claim is not None and self._journal is not None and want.call.id not in self._writes:
            told = Ok(value=plain(outcome.value)) if isinstance(outcome, Ok) else outcome
            self._journal.finish(claim, told)
        self._record(want, outcome, sent_s, now_s)

    def spent(self, opening: Opening, reason: str) -> Failed:
        """Refuse a call, because the task may make no further attempt."""
        self.state.stops[opening.call.id] = reason
        return Failed(message=reason, native=True)

    def handoff(self, reason: str) -> Handoff:
        """Build the packet for a person."""
        return build(self.goal, reason, list(self._steps), self.state.tools, self.state.settled)

    def _note_unknown(self, opening: Opening, failed: Failed) -> None:
        """Let the hand-over name a write that an earlier call or process sent, although no attempt was made here."""
        call = opening.call
        if failed.ambiguous and not any(step.call == call.id and not step.purpose for step in self._steps):
            now_s = self.clock.now()
            self._steps.append(self._step(Attempt(call=call, tool=opening.tool), failed, now_s, now_s))

    def _record(self, want: Attempt, outcome: Outcome, sent_s: float, now_s: float) -> None:
        step = self._step(want, outcome, sent_s, now_s)
        held = self._held.get(want.call.id) if self._held else None
        if held is not None:
            held.append(step)
        else:
            self._store(step)

    def _let_go(self, call: str) -> None:
        """Store the steps of a write, with what the look-ups said of it."""
        held = self._held.pop(call, [])
        borne_out(held, self.state.confirmed)
        for step in held:
            self._store(step)

    def _store(self, step: Step) -> None:
        self._steps.append(step)
        if self._ledger is not None:
            self._ledger.step(step)

    def _step(self, want: Attempt, outcome: Outcome, sent_s: float, now_s: float) -> Step:
        writes = want.tool is not None and want.tool.writes
        status = VerificationStatus.NOT_DONE if writes else VerificationStatus.NOT_APPLICABLE
        return Step(
            episode=f"{self.name}@{self._began_s:.3f}",
            run=self.name,
            n=next(self._step_numbers),
            call=want.call.id,
            tool=want.call.tool,
            arguments=plain(want.call.arguments),
            attempt=want.call.attempt,
            purpose=want.purpose,
            strategy=want.strategy,
            path_of=want.path_of,
            at_s=round(sent_s - self._began_s, 6),
            unix_s=sent_s,
            effect=want.tool.effect if want.tool is not None else None,
            took_s=round(now_s - sent_s, 6),
            key=want.call.key,
            expected_outcome=want.call.expected,
            observed_outcome=Ok(value=plain(outcome.value)) if isinstance(outcome, Ok) else outcome,
            verification=Verification(status=status),
            uncertainty_signal=Uncertainty.MISSING,
        )


def plain(value: Any) -> Any:
    """Bring a Python value into JSON form; what JSON cannot say becomes its text."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_told)


def _told(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else repr(value)
