"""One call, written once: a generator that yields what must be done and is sent how it went."""

from __future__ import annotations

from collections.abc import Generator
from typing import assert_never

from msgspec.structs import replace

from breakfall.recovery.decide import decide
from breakfall.runtime.case import Case
from breakfall.runtime.state import Operation, TaskState
from breakfall.runtime.wants import Attempt, Done, Flow, Late, Question, Reply, Reread, Running, Sleep, Want
from breakfall.vocab import (
    Applied,
    Ask,
    Call,
    Ok,
    Outcome,
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
    first: Done | None = None,
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
        first: How the first attempt went, where it was made already.

    Yields:
        What must be done; see `breakfall.runtime.wants` for what answers what.

    Returns:
        The call's outcome; for a failure `task.stops` says why it was given up.
    """
    case = Case(call, task.tools.get(call.tool), task, operation, now_s)
    if not repeatable:
        case.repeatable = False
    return _made(case, unsettled_since_s, first)


def _made(case: Case, unsettled_since_s: float | None, first: Done | None) -> Flow:
    """Make the call of a case, from its opening to its end."""
    operation, retries = case.operation, case.task.retries
    if operation is not None and operation.write is not None:
        return Ok(value=operation.value, replayed=True)
    if retries is not None:
        retries.earn()
    try:
        if first is not None:
            case.tries = 1
            outcome = case.seen(first) or (yield from _recover(case))
        elif (operation is not None or unsettled_since_s is not None) and case.inherits(unsettled_since_s):
            outcome = yield from _recover(case)
        else:
            outcome = case.opening()
        while outcome is None:
            case.out = True
            reply = yield case.attempt()
            case.out = False
            if type(reply) is not Done:
                raise TypeError(f"an attempt is answered with Done, not {type(reply).__name__}")
            reader = case.to_confirm() if operation is not None and type(reply.outcome) is Ok else None
            borne_out = reader is None or (yield from _confirm(case, reader, reply))
            outcome = case.seen(reply) if borne_out else None
            if outcome is None:
                outcome = yield from _recover(case)
    except GeneratorExit:  # whoever drives this went away
        case.cut_off()
        raise
    return outcome


def _confirm(case: Case, reader: Reader, reply: Done) -> Generator[Want, Reply, bool]:
    """Look up a write whose answer says done; return False if it surely is not."""
    tool = case.tool
    if tool is None:
        return True
    case.now_s = reply.now_s
    case.first_sent_s = reply.sent_s if case.first_sent_s is None else case.first_sent_s
    case.last_sent_s = reply.sent_s
    settlement = yield from _look_up(case, reader, tool)
    case.lookups = 0
    if settlement.applied is Applied.UNKNOWN:
        return True
    case.task.confirmed[case.call.id, tool.name, case.tries] = settlement.applied is Applied.YES
    if settlement.applied is Applied.NO:
        case.disbelieve(reader)
        return False
    return True


def _recover(case: Case) -> Generator[Want, Reply, Outcome | None]:
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
        if case.drifted() and case.takes_again((yield Reread(tool.name))):
            case.strategy = Response.RETRY
            return None
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


def _look_up(case: Case, reader: Reader, tool: Tool) -> Generator[Want, Reply, Settlement]:
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


def _heard(case: Case) -> Generator[Want, Reply, Ok | None]:
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


def _probe(probe: Call, reader: Reader, case: Case) -> Generator[Want, Reply, Settlement]:
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
