"""One call, written once: a generator that yields what must be done and is sent how it went."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from hashlib import blake2b
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.recovery.breaker import Breaker
from breakfall.recovery.classify import classify
from breakfall.recovery.decide import Left, Situation, decide
from breakfall.recovery.policy import Policy
from breakfall.seeds import address, uniforms
from breakfall.vocab import (
    Applied,
    Ask,
    Call,
    Failed,
    FaultKind,
    IdempotencyKind,
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


class Attempt(Struct, frozen=True, kw_only=True):
    """Send this call, and answer with `Done`."""

    call: Call
    tool: Tool | None
    path_of: str | None = None
    strategy: Response | None = None
    purpose: str = ""


class Sleep(Struct, frozen=True):
    """Let the seconds pass, and answer with the time."""

    seconds: float


class Question(Struct, frozen=True):
    """Ask a person, and answer with what they said, or with an empty text if nobody is there."""

    text: str


class Done(Struct, frozen=True):
    """How an attempt ended, and when it was sent and answered, in seconds of the task's clock."""

    outcome: Outcome
    sent_s: float
    now_s: float


Want: TypeAlias = Attempt | Sleep | Question
Reply: TypeAlias = Done | float | str
Flow: TypeAlias = Generator[Want, Reply, Outcome]


_SHUT_AFTER = 3
"""Failures in a row after which a path counts as shut for the calls to come."""


class Task(Struct, kw_only=True):
    """What the flow knows of the task that its calls belong to; it lives as long as the task."""

    tools: Mapping[str, Tool]
    policy: Policy
    place: bytes
    """Where this task's randomness lives (`seeds.address`)."""
    calls_left: int
    deadline_s: float
    breakers: dict[str, Breaker] = msgspec.field(default_factory=dict)
    settled: dict[str, bool] = msgspec.field(default_factory=dict)
    """Call id -> whether a look-up said that its write was applied."""
    stopped: str | None = None
    """The reason of the last `Stop`."""
    draws: int = 0
    operations: dict[str, int] = msgspec.field(default_factory=dict)
    """Operation -> how often it succeeded: its epoch."""
    shut: frozenset[str] | None = None
    """For the oracle alone."""

    def breaker(self, tool: str) -> Breaker:
        """Return the breaker of a tool."""
        found = self.breakers.get(tool)
        if found is None:
            found = self.breakers[tool] = Breaker()
        return found

    def known_shut(self, tool: str, now_s: float) -> bool:
        """Whether the tool is known to be shut now."""
        breaker = self.breakers.get(tool)
        if breaker is None or not breaker.failures:
            return False
        return breaker.open(now_s, threshold=_SHUT_AFTER, cooldown_s=self.policy.cooldown_s)

    def failing_neighbours(self, tool: Tool) -> int:
        """Count the other tools of its fault domain that are failing now."""
        failing = [name for name, breaker in self.breakers.items() if breaker.failures and name != tool.name]
        return sum(self.tools[name].fault_domain == tool.fault_domain for name in failing)

    def jitter(self) -> float:
        """Draw the next uniform number of this task."""
        self.draws += 1
        return uniforms(self.place, self.draws)[0]


def operation_key(place: bytes, tool: str, arguments: Mapping[str, object], epoch: int) -> str:
    """Name the logical operation, so that the key survives a new plan: run, tool, canonical arguments, epoch."""
    canonical = msgspec.json.encode(arguments, order="sorted")
    return blake2b(address(tool, epoch) + place + canonical, digest_size=16).hexdigest()


def call_flow(call: Call, task: Task, now_s: float) -> Flow:
    """Make one call with whatever recovery the task's policy allows.

    Yields:
        What must be done; a `Done` answers an `Attempt`, the time answers a `Sleep`, a text answers a `Question`.

    Returns:
        The call's outcome; for a failure `task.stopped` says why it was given up.
    """
    tool = task.tools.get(call.tool)
    if tool is not None and tool.idempotency.kind is IdempotencyKind.KEY:
        call = _keyed(call, tool, task)
    case = _Case(call, tool, task, now_s)
    if tool is not None and task.policy.switch and task.known_shut(tool.name, now_s):
        path = next(iter(case.open_paths()), None)
        if path is None:
            task.stopped = f"{tool.name} is known to be shut and no other path is open"
            return Failed(message=task.stopped, kind=FaultKind.SERVER_ERROR)
        case.switch(path)
    while True:
        reply = yield case.attempt()
        if type(reply) is not Done:
            raise TypeError(f"an attempt is answered with Done, not {type(reply).__name__}")
        outcome = case.seen(reply)
        if outcome is not None:
            return outcome
        outcome = yield from _recover(case)
        if outcome is not None:
            return outcome


def _keyed(call: Call, tool: Tool, task: Task) -> Call:
    """Give a write the key of its operation, unless the caller brought one."""
    parameter = tool.idempotency.parameter or ""
    if call.arguments.get(parameter) is not None:
        return replace(call, key=str(call.arguments[parameter]))
    operation = operation_key(task.place, tool.name, call.arguments, 0)
    key = operation_key(task.place, tool.name, call.arguments, task.operations.get(operation, 0))
    return replace(call, key=key, arguments={**call.arguments, parameter: key})


class _Case:
    """The state of one call while it is being made."""

    __slots__ = (
        "arguments", "call", "first_sent_s", "last", "looked_up", "lookups", "now_s", "original", "path", "strategy",
        "taken", "task", "tool", "tries", "unsettled",
    )  # fmt: skip

    def __init__(self, call: Call, tool: Tool | None, task: Task, now_s: float) -> None:
        self.call = call
        self.now_s = now_s
        self.original = self.tool = tool
        self.task = task
        self.arguments = call.arguments
        self.path: Path | None = None
        self.taken: set[str] = {call.tool}
        self.strategy: Response | None = None
        self.tries = 0
        self.lookups = 0
        self.unsettled = False
        self.looked_up = False
        self.first_sent_s: float | None = None
        self.last: Failed | None = None

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
        tool = self.tool
        if isinstance(outcome, Ok):
            if tool is not None:
                self.task.breaker(tool.name).succeeded()
            return self.finish(outcome)
        self.now_s = reply.now_s
        if self.first_sent_s is None:
            self.first_sent_s = reply.sent_s
        failed = classify(outcome, writes=tool is not None and tool.writes)
        if failed.native or tool is None:
            if tool is not None:
                self.task.breaker(tool.name).succeeded()
            return failed
        self.task.breaker(tool.name).failed(failed, reply.now_s)
        self.last = failed
        self.looked_up = False
        if failed.ambiguous:
            self.unsettled = True
            self.task.settled.pop(self.call.id, None)
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
                    return Ok(value=None)
                self.tries = max(self.tries, self.task.policy.attempts)
                return None
        self.succeed()
        return ok

    def woke(self, reply: Reply) -> None:
        """Take in the time after a wait."""
        if isinstance(reply, float):
            self.now_s = reply

    def succeed(self) -> None:
        """Count the operation, so that a wanted repeat gets a key of its own."""
        if self.call.key is not None and self.original is not None:
            plain = {k: v for k, v in self.call.arguments.items() if k != self.original.idempotency.parameter}
            operation = operation_key(self.task.place, self.call.tool, plain, 0)
            self.task.operations[operation] = self.task.operations.get(operation, 0) + 1

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
        return tuple(sorted(found, key=lambda path: path.tool in told) if told else found)

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

    def situation(self, tool: Tool, failed: Failed) -> Situation:
        """Describe the failure to `decide`."""
        task = self.task
        return Situation(
            tool=tool,
            failed=failed,
            tries=self.tries,
            failures=task.breaker(tool.name).failures,
            failing_neighbours=task.failing_neighbours(tool),
            paths=self.open_paths(),
            writes=self.original is not None and self.original.writes,
            unsettled=self.unsettled,
            looked_up=self.looked_up,
            lookups_left=task.policy.lookups - self.lookups,
            recovered_before=task.breaker(tool.name).successes > 0,
            left=Left(task.calls_left, task.deadline_s - self.now_s),
            jitter=task.jitter(),
            shut=task.shut,
        )


def _recover(case: _Case) -> Generator[Want, Reply, Outcome | None]:
    """Act on what `decide` says until the next attempt is due (returns None) or the call is over."""
    while True:
        tool, failed = case.tool, case.last
        if tool is None or failed is None:
            raise TypeError("recovery needs a failed attempt")
        directive = decide(case.task.policy, case.situation(tool, failed))
        match directive:
            case Retry(after_s=after_s):
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
                    case.task.settled[case.call.id] = True
                    return case.finish(Ok(value=settlement.value))
            case Ask(question=question):
                said = yield Question(question)
                if not said:
                    case.task.stopped = f"nobody answered: {question}"
                    return failed
            case Stop(reason=reason):
                case.task.stopped = reason
                return replace(failed, applied=Applied.UNKNOWN) if case.unsettled else failed
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
    while case.lookups < task.policy.lookups and arguments is not None:
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
        agreed = agreed + 1 if settlement.applied is Applied.NO else 0
        if agreed >= task.policy.agreeing:
            task.settled[case.call.id] = False
            case.unsettled, case.looked_up, case.lookups = False, True, 0
            return settlement
    case.lookups = task.policy.lookups
    return Settlement(applied=Applied.UNKNOWN, evidence="the look-ups do not tell")


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
