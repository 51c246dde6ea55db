"""One call, written once: a generator that yields what must be done and is sent how it went."""

from __future__ import annotations

from collections.abc import Generator
from math import inf
from typing import assert_never

from msgspec.structs import replace

from breakfall.recovery.classify import classify
from breakfall.recovery.decide import Left, Situation, decide
from breakfall.runtime.state import Operation, TaskState
from breakfall.runtime.wants import Attempt, Done, Flow, Late, Question, Reply, Running, Sleep, Want
from breakfall.vocab import (
    Applied,
    Ask,
    Belief,
    Call,
    Failed,
    FaultKind,
    Granularity,
    Ok,
    Outcome,
    Path,
    Reader,
    Response,
    Retry,
    Settlement,
    Stop,
    Switch,
    Tool,
    Verify,
)


def call_flow(
    call: Call,
    task: TaskState,
    now_s: float,
    *,
    operation: Operation | None = None,
    unsettled_since_s: float | None = None,
    repeatable: bool = True,
) -> Flow:
    """Make one call with whatever recovery the task's policy allows.

    Args:
        call: What to call.
        task: What is known of its task.
        now_s: The time.
        operation: For a write, the logical operation that it is (`operation_of`), whose key the call carries.
        unsettled_since_s: An earlier process sent this write then and never learned what became of it: it is looked
            up before anything is sent.
        repeatable: Whether it can be sent a second time at all.

    Yields:
        What must be done; see `breakfall.runtime.wants` for what answers what.

    Returns:
        The call's outcome; for a failure `task.stops` says why it was given up.
    """
    tool = task.tools.get(call.tool)
    if operation is not None and operation.write is not None:
        return Ok(value=operation.value, replayed=True)
    case = _Case(call, tool, task, operation, now_s)
    case.repeatable = repeatable
    if task.retries is not None:
        task.retries.earn()
    try:
        return (yield from _made(case, unsettled_since_s))
    except GeneratorExit:  # whoever drives this went away
        case.cut_off()
        raise


def _made(case: _Case, unsettled_since_s: float | None) -> Flow:
    """Make the call of a case, from its opening to its end."""
    if case.inherits(unsettled_since_s):
        outcome = yield from _recover(case)
    else:
        outcome = case.opening()
    if outcome is not None:
        return outcome
    while True:
        case.out = True
        reply = yield case.attempt()
        case.out = False
        if type(reply) is not Done:
            raise TypeError(f"an attempt is answered with Done, not {type(reply).__name__}")
        outcome = case.seen(reply)
        if outcome is not None:
            return outcome
        outcome = yield from _recover(case)
        if outcome is not None:
            return outcome


class _Case:
    """The state of one call while it is being made."""

    __slots__ = (
        "arguments", "call", "doubts", "first_sent_s", "last", "last_sent_s", "looked_up", "lookups", "now_s",
        "operation", "original", "out", "path", "repeatable", "running", "strategy", "taken", "task",
        "tool", "tries", "unsettled",
    )  # fmt: skip

    def __init__(
        self, call: Call, tool: Tool | None, task: TaskState, operation: Operation | None, now_s: float
    ) -> None:
        self.call = call
        self.operation = operation
        self.now_s = now_s
        self.original = self.tool = tool
        self.task = task
        self.arguments = call.arguments
        self.path: Path | None = None
        self.taken: set[str] = {call.tool}
        self.strategy: Response | None = None
        self.tries = 0
        self.lookups = 0
        self.out = False
        self.repeatable = True
        self.unsettled = False
        self.doubts = 0
        self.running = False
        self.looked_up = False
        self.first_sent_s: float | None = None
        self.last_sent_s = now_s
        self.last: Failed | None = None

    def opening(self) -> Outcome | None:
        """Before the first attempt: leave a path that is known shut, and refuse a call that only feeds a storm."""
        task, tool = self.task, self.original
        if tool is None or not task.policy.switch:
            return None
        kind = task.storm(tool.name)
        if kind is not None:
            reason = task.stops[self.call.id] = f"{tool.name} keeps failing with {kind}, however it is called"
            return Failed(message=reason, kind=_KINDS.get(kind), native=kind not in _KINDS)
        if task.known_shut(tool.name, self.now_s):
            path = next(iter(self.open_paths()), None)
            if path is None:
                reason = task.stops[self.call.id] = f"{tool.name} is known to be shut and no other path is open"
                return Failed(message=reason, kind=FaultKind.SERVER_ERROR)
            self.switch(path)
        return None

    def inherits(self, since_s: float | None) -> bool:
        """Take over a write that an earlier call, or an earlier process, sent without learning what became of it."""
        operation = self.operation
        if since_s is None and operation is not None and self.task.policy.verify:
            since_s = operation.open_since_s
            if since_s is not None and operation.open_path is not None:
                self.switch(operation.open_path)
        if since_s is None:
            return False
        self.first_sent_s = since_s
        self.doubts = operation.open_doubts if operation is not None and operation.open_doubts else _MANY
        self.unsettled = True
        self.last = Failed(
            message="this was sent before, and nobody learned what became of it",
            kind=FaultKind.TIMEOUT,
            applied=Applied.UNKNOWN,
        )
        return True

    def give_up(self, failed: Failed, reason: str) -> Failed:
        """End the call as failed; an operation that nobody knows the outcome of stays open for the next call."""
        self.task.stops[self.call.id] = reason
        if not self.unsettled:
            return replace(failed, applied=Applied.NO) if failed.ambiguous else failed  # it was looked up since
        if self.operation is not None:
            self.operation.open_since_s = self.first_sent_s
            self.operation.open_path = self.path
            self.operation.open_doubts = self.doubts
            self.operation.open_calls.append(self.call.id)
        return replace(failed, applied=Applied.UNKNOWN)

    def cut_off(self) -> None:
        """End without an answer: whatever went out may have taken effect."""
        if self.operation is None or not (self.out or self.unsettled):
            return
        self.unsettled = True
        self.doubts += self.out
        if self.first_sent_s is None:
            self.first_sent_s = self.now_s
        self.give_up(Failed(message=_CUT_OFF), _CUT_OFF)
        self.task.stops.pop(self.call.id, None)

    def settle(self, *, applied: bool) -> None:
        """Note what became of the write, for this call and those that left it open."""
        settled, operation = self.task.settled, self.operation
        settled[self.call.id] = applied
        if operation is not None:
            for call in operation.open_calls:
                settled[call] = applied
            operation.open_since_s, operation.open_path, operation.open_calls = None, None, []
            operation.open_doubts = 0
        if not applied:
            self.unsettled, self.looked_up, self.doubts = False, True, 0

    def attempt(self) -> Attempt:
        """Describe the next attempt."""
        self.tries += 1
        call = self.call
        if self.path is not None:
            call = replace(call, tool=self.path.tool, arguments=self.arguments, attempt=self.tries)
        elif self.tries > 1:
            call = replace(call, attempt=self.tries)
        path_of = self.call.tool if self.path is not None else None
        return Attempt(call=call, tool=self.tool, path_of=path_of, strategy=self.strategy)

    def seen(self, reply: Done) -> Outcome | None:
        """Take in how the attempt went; return the call's outcome if that settles it."""
        outcome = reply.outcome
        tool, task = self.tool, self.task
        if isinstance(outcome, Ok):
            if tool is not None:
                task.breaker(tool.name).succeeded()
                task.answered(tool.name)
            return self.finish(outcome)
        self.now_s = reply.now_s
        failed = classify(outcome, writes=tool is not None and tool.writes)
        if tool is None:
            return failed
        if self.first_sent_s is None:
            self.first_sent_s = reply.sent_s
        task.refused(tool.name, failed)
        self.last = failed
        if failed.ambiguous:  # an accident in the tool's own code leaves a write in doubt, too
            self.unsettled = True
            self.doubts += 1
            self.last_sent_s = reply.sent_s
            task.settled.pop(self.call.id, None)
        if failed.native:
            task.breaker(tool.name).succeeded()
            return None if self.unsettled else failed
        task.breaker(tool.name).failed(failed, reply.now_s)
        self.looked_up = False
        return None

    def finish(self, ok: Ok) -> Outcome | None:
        """Bring the value into the original's form; a path whose answer lacks it counts as failed."""
        if self.path is not None and self.original is not None:
            try:
                ok = Ok(value=self.path.value(ok.value, self.call.arguments, self.call.context))
            except (LookupError, TypeError, ValueError) as error:
                message = f"{self.path.tool} does not give what {self.call.tool} would: {error}"
                self.last = Failed(message=message, kind=FaultKind.MALFORMED_RESPONSE)
                if self.original.writes:
                    self.succeed(None)
                    return Ok(value=None)
                self.tries = max(self.tries, self.task.policy.attempts)
                return None
        self.succeed(ok.value)
        return ok

    def woke(self, reply: Reply) -> None:
        """Take in the time after a wait."""
        if isinstance(reply, float):
            self.now_s = reply

    def succeed(self, value: object) -> None:
        """Count the write, so that an equal one that follows is answered and not run."""
        if self.operation is not None:
            self.task.writes += 1
            self.operation.value = value
            self.operation.write = self.task.writes

    def open_paths(self) -> tuple[Path, ...]:
        """List the paths that can be taken: arguments known, backend another, not tried and not known shut.

        The oracle tries what it was told is shut last: an agent that hands over has looked at every path.
        """
        original, told = self.original, self.task.shut
        if original is None:
            return ()
        found = []
        for path in original.paths:
            tool = self.task.tools.get(path.tool)
            if tool is None or path.tool in self.taken or tool.fault_domain == original.fault_domain:
                continue
            if not self.task.known_shut(path.tool, self.now_s) and self.mapped(path) is not None:
                found.append(path)
        if self.task.belief is not None and found:
            found = self.preferred(found, self.task.belief)
        return tuple(sorted(found, key=lambda path: path.tool in told) if told else found)

    def preferred(self, paths: list[Path], belief: Belief) -> list[Path]:
        """Leave out what memory says is no path, and put first, of equally exact ones, what it says answers most."""
        learned = {path.tool: belief.switch_works(self.call.tool, path.tool) for path in paths}
        prior = self.task.policy.switch_works
        works = {tool: prior if value is None else value for tool, value in learned.items()}
        kept = [path for path in paths if works[path.tool] > 0.0]
        return sorted(kept, key=lambda path: (path.granularity is Granularity.PARTIAL, -works[path.tool]))

    def mapped(self, path: Path) -> dict[str, object] | None:
        """Map the call's arguments to the path's; None where they are not known."""
        try:
            return path.arguments(self.call.arguments, self.call.context)
        except (LookupError, TypeError, ValueError):
            return None

    def switch(self, path: Path) -> None:
        """Take another path."""
        arguments = self.mapped(path) or {}
        self.path, self.arguments, self.tool = path, arguments, self.task.tools[path.tool]
        self.taken.add(path.tool)
        self.strategy = Response.SWITCH
        self.tries = 0

    def believed(self, tool: Tool, failed: Failed, paths: tuple[Path, ...]) -> tuple[float | None, float | None]:
        """Ask memory whether such a failure stays, and whether the first other path works."""
        belief = self.task.belief
        if belief is None:
            return None, None
        stays = belief.persistence(tool.name, failed.kind) if failed.kind is not None else None
        works = belief.switch_works(self.call.tool, paths[0].tool) if paths else None
        return stays, works

    def situation(self, tool: Tool, failed: Failed) -> Situation:
        """Describe the failure to `decide`."""
        task = self.task
        paths = self.open_paths()
        persistence, works = self.believed(tool, failed, paths)
        return Situation(
            tool=tool,
            failed=failed,
            tries=self.tries,
            failures=task.breaker(tool.name).failures,
            failing_neighbours=task.failing_neighbours(tool),
            paths=paths,
            writes=self.original is not None and self.original.writes,
            unsettled=self.unsettled,
            looked_up=self.looked_up,
            lookups_left=task.policy.lookups - self.lookups,
            recovered_before=task.breaker(tool.name).successes > 0,
            left=Left(task.calls_left, task.deadline_s - self.now_s),
            persistence=persistence,
            switch_works=works,
            retry_allowed=self.repeatable and (task.retries is None or task.retries.allows(self.now_s)),
            jitter=task.jitter(),
            shut=task.shut,
            window_left_s=self.window_left_s(tool),
        )

    def window_left_s(self, tool: Tool) -> float:
        """How long the server will still know the key of an unsettled attempt."""
        window_s = tool.idempotency.window_s
        if not self.unsettled or window_s is None or self.first_sent_s is None:
            return inf
        return self.first_sent_s + window_s - self.now_s

    def may_still_land_s(self, reader: Reader) -> float:
        """How long to wait before a reading of "not applied" can be believed; 0 if it can be now."""
        on_its_way_s = self.last_sent_s + reader.in_transit_s - self.now_s
        if not self.running:
            return max(on_its_way_s, 0.0)
        policy = self.task.policy
        return max(on_its_way_s, min(policy.cap_s, policy.base_s * 2.0 ** (self.lookups - 1)))


def _recover(case: _Case) -> Generator[Want, Reply, Outcome | None]:
    """Act on what `decide` says until the next attempt is due (returns None) or the call is over."""
    while True:
        if case.unsettled:
            answer = yield from _heard(case)
            if answer is not None:
                case.settle(applied=True)
                return case.finish(answer)
        tool, failed = case.tool, case.last
        if tool is None or failed is None:
            raise TypeError("recovery needs a failed attempt")
        directive = decide(case.task.policy, case.situation(tool, failed))
        match directive:
            case Retry(after_s=after_s):
                if case.task.retries is not None:
                    case.task.retries.spend(case.now_s)
                if after_s > 0:
                    case.woke((yield Sleep(after_s)))
                case.strategy = Response.RETRY
                return None
            case Switch(path=path):
                case.switch(path)
                return None
            case Verify(reader=reader):
                settlement = yield from _look_up(case, reader, tool)
                if settlement.applied is Applied.YES:
                    case.settle(applied=True)
                    return case.finish(Ok(value=settlement.value))
                if failed.native and not case.unsettled:
                    return failed
            case Ask(question=question):
                said = yield Question(question)
                if not said:
                    return case.give_up(failed, f"nobody answered: {question}")
            case Stop(reason=reason):
                return case.give_up(failed, reason)
            case _:
                assert_never(directive)


def _look_up(case: _Case, reader: Reader, tool: Tool) -> Generator[Want, Reply, Settlement]:
    """Read what the write did. "Not applied" must be read several times in a row before it is believed."""
    task = case.task
    try:
        arguments = reader.arguments(case.arguments, case.call.context)
    except (LookupError, TypeError, ValueError):
        arguments = None
    agreed = 0
    while case.lookups < task.policy.lookups and arguments is not None and task.calls_left > 0:
        case.lookups += 1
        probe = Call(
            id=case.call.id,
            tool=reader.tool,
            arguments=arguments,
            expected=f"whether {tool.name} took effect",
            context=case.call.context,
        )
        settlement = yield from _probe(probe, reader, case)
        if settlement.applied is Applied.YES:
            return settlement
        wait_s = case.may_still_land_s(reader) if settlement.applied is Applied.NO else 0.0
        if wait_s > 0:
            if wait_s > task.deadline_s - case.now_s:
                break
            case.woke((yield Sleep(wait_s)))
            answer = yield from _heard(case)
            if answer is not None:
                return Settlement(applied=Applied.YES, value=answer.value, evidence="the answer came late")
            if not case.unsettled:
                return Settlement(applied=Applied.NO, evidence="the refusal came late")
            continue
        agreed = agreed + 1 if settlement.applied is Applied.NO else 0
        if agreed >= task.policy.agreeing:
            case.settle(applied=False)
            case.lookups = 0
            return settlement
    case.lookups = task.policy.lookups
    return Settlement(applied=Applied.UNKNOWN, evidence="the look-ups do not tell")


def _heard(case: _Case) -> Generator[Want, Reply, Ok | None]:
    """Hear out the attempts that had timed out: their answers tell more than any look-up.

    A late refusal settles the write only if it is the last attempt of unknown outcome.
    """
    case.running = False
    for call in (case.call.id, *(case.operation.open_calls if case.operation is not None else ())):
        late = yield Late(call)
        if type(late) is Running:
            case.running = True
        elif type(late) is Done:
            if isinstance(late.outcome, Ok):
                return late.outcome
            if not late.outcome.ambiguous:
                case.doubts -= 1
                case.last = late.outcome
    if not case.doubts:
        case.settle(applied=False)
    return None


_MANY = 2**31
"""Attempts in doubt of an earlier process: nobody knows how many, so that no refusal is the last."""

_CUT_OFF = "the caller went away before the answer came"
_KINDS = {kind.value: kind for kind in FaultKind}


def _probe(probe: Call, reader: Reader, case: _Case) -> Generator[Want, Reply, Settlement]:
    """Make one look-up, with recovery of its own, and judge what it says."""
    flow = call_flow(probe, case.task, case.now_s)
    reply: Reply | None = None
    try:
        while True:
            want = next(flow) if reply is None else flow.send(reply)
            if type(want) is Attempt:
                want = replace(want, purpose="probe", strategy=want.strategy or Response.VERIFY)
            reply = yield want
            if type(reply) is Done:
                case.now_s = reply.now_s
    except StopIteration as stop:
        outcome: Outcome = stop.value
    if type(outcome) is not Ok:
        return Settlement(applied=Applied.UNKNOWN, evidence=f"{probe.tool} failed")
    try:
        return reader.judge(outcome.value, case.arguments, case.first_sent_s or 0.0)
    except (LookupError, TypeError, ValueError) as error:
        return Settlement(applied=Applied.UNKNOWN, evidence=f"{probe.tool} answered something else: {error}")
