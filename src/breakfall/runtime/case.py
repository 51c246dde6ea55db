"""The state of one call while it is being made: what was tried, what is known of it, and which ways are left."""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from breakfall.recovery.classify import classify
from breakfall.recovery.decide import Left, Situation
from breakfall.runtime.state import Operation, TaskState
from breakfall.runtime.wants import Attempt, Done, Reply
from breakfall.vocab import (
    Applied,
    Belief,
    Call,
    Effect,
    Failed,
    FaultKind,
    Granularity,
    Ok,
    Outcome,
    Path,
    Reader,
    Response,
    Tool,
)
from breakfall.vocab.schema import ArgumentSchema


class Case:
    """The state of one call while it is being made."""

    # Defaults stand on the class: most calls succeed at once, and need none of their own.
    path: Path | None = None
    taken: tuple[str, ...] = ()
    """The paths that were taken."""
    strategy: Response | None = None
    tries = 0
    lookups = 0
    out = False
    """Whether an attempt is on its way."""
    repeatable = True
    reread = False
    """Whether the schema was read again in this call."""
    unsettled = False
    doubts = 0
    """How many attempts nobody knows the outcome of."""
    running = False
    """Whether an attempt that timed out still runs here."""
    looked_up = False
    first_sent_s: float | None = None
    last_sent_s = -inf
    last: Failed | None = None

    def __init__(
        self, call: Call, tool: Tool | None, task: TaskState, operation: Operation | None, now_s: float
    ) -> None:
        self.call = call
        self.operation = operation
        self.now_s = now_s
        self.original = self.tool = tool
        self.task = task
        self.arguments = call.arguments

    def opening(self) -> Outcome | None:
        """Before the first attempt: leave a path that is known shut, and refuse a call that only feeds a storm."""
        task, tool = self.task, self.original
        if tool is None or not task.policy.switch or task.healthy(tool.name):
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
        self.first_sent_s, self.last_sent_s = since_s, self.now_s
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
        if self.path is None:
            if self.tries > 1:
                call = replace(call, attempt=self.tries)
            return Attempt(call=call, tool=self.tool, strategy=self.strategy)
        call = replace(call, tool=self.path.tool, arguments=self.arguments, attempt=self.tries)
        return Attempt(call=call, tool=self.tool, path_of=self.call.tool, strategy=self.strategy)

    def seen(self, reply: Done) -> Outcome | None:
        """Take in how the attempt went; return the call's outcome if that settles it."""
        outcome = reply.outcome
        tool, task = self.tool, self.task
        if isinstance(outcome, Ok):
            if tool is not None:
                task.breaker(tool.name).succeeded()
                if task.storms:
                    task.answered(tool.name)
            return outcome if self.path is None and self.operation is None else self.finish(outcome)
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

    def drifted(self) -> bool:
        """Whether the tool's schema is to be read again now: once a call, when the tool says that it changed."""
        last = self.last
        if self.reread or not self.task.rereads or last is None or last.kind is not FaultKind.SCHEMA_DRIFT:
            return False
        self.reread = True
        return True

    def takes_again(self, fresh: Reply) -> bool:
        """Whether the schema that was read again is another one, and takes the call as it is."""
        if not isinstance(fresh, Tool) or self.tool is None or fresh.parameters == self.tool.parameters:
            return False
        self.tool = fresh
        return ArgumentSchema(fresh.parameters).is_valid(self.arguments)

    def to_confirm(self) -> Reader | None:
        """Return the reader that must bear out the write's answer before it is believed, if the policy wants that."""
        tool, policy = self.tool, self.task.policy
        if policy.confirm == "never" or self.operation is None or tool is None or tool.reader is None:
            return None
        if policy.confirm == "irreversible" and tool.effect is not Effect.IRREVERSIBLE:
            return None
        return tool.reader if policy.confirm_share >= 1.0 or self.task.jitter() < policy.confirm_share else None

    def disbelieve(self, reader: Reader) -> None:
        """Take a write for failed whose answer said done and whose reader says that it is not."""
        name = self.tool.name if self.tool is not None else self.call.tool
        self.last = Failed(
            message=f"{name} answered that it is done, and {reader.tool} says that it is not",
            kind=FaultKind.FACTUAL_ERROR,
        )
        self.task.breaker(name).failed(self.last, self.now_s)

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
        self.taken = (*self.taken, path.tool)
        self.strategy = Response.SWITCH
        self.tries = self.lookups = 0

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


_MANY = 2**31
"""Attempts in doubt of an earlier process: nobody knows how many, so that no refusal is the last."""

_CUT_OFF = "the caller went away before the answer came"
_KINDS = {kind.value: kind for kind in FaultKind}
