"""What is known of a task while its calls are made: breakers, budgets, operations, what was settled."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.recovery.breaker import Breaker
from breakfall.recovery.budget import RetryBudget
from breakfall.recovery.policy import Policy
from breakfall.runtime.journal.entry import canonical
from breakfall.seeds import address, uniforms
from breakfall.vocab import (
    Belief,
    Call,
    Failed,
    IdempotencyKind,
    Path,
    Step,
    Tool,
    Verification,
    VerificationStatus,
)

_SHUT_AFTER = 3
"""Failures in a row after which a path counts as shut for the calls to come."""


class Operation(Struct, kw_only=True):
    """One logical write of a task: how often it was wanted on purpose, and what its last success came to."""

    name: str
    """Run, tool and canonical arguments, or the key that the caller brought."""
    arguments: dict[str, Any]
    """Without the parameter that carries the key."""
    epoch: int = 0
    value: Any = None
    write: int | None = None
    """Which of the task's successful writes its last success was; None before it succeeded."""
    turn: int = 0
    open_since_s: float | None = None
    """When an attempt went out of which nobody knows what became of it; None once that is settled."""
    open_path: Path | None = None
    """The path that it took, if not the original one."""
    open_doubts: int = 0
    """How many attempts nobody knows the outcome of."""
    open_calls: list[str] = msgspec.field(default_factory=list)
    """The calls that ended without knowing."""


class TaskState(Struct, kw_only=True):
    """What the flow knows of the task that its calls belong to; it lives as long as the task."""

    tools: Mapping[str, Tool]
    policy: Policy
    place: bytes
    """Where this task's randomness lives, and the name of its run in keys (`seeds.address`)."""
    calls_left: int
    deadline_s: float
    retries: RetryBudget | None = None
    """The budget of retries that this task shares with others."""
    belief: Belief | None = None
    rereads: bool = False
    """Whether somebody can read a tool's schema again."""
    breakers: dict[str, Breaker] = msgspec.field(default_factory=dict)
    settled: dict[str, bool] = msgspec.field(default_factory=dict)
    """Call id -> whether a look-up said that its write was applied."""
    confirmed: dict[tuple[str, str, int], bool] = msgspec.field(default_factory=dict)
    """(call id, tool, attempt) -> whether a look-up bore out what a write's answer said; whoever records takes it."""
    stops: dict[str, str] = msgspec.field(default_factory=dict)
    """Call id -> why recovery gave it up; whoever reads a reason takes it out."""
    draws: int = 0
    turn: int = 0
    operations: dict[str, Operation] = msgspec.field(default_factory=dict)
    writes: int = 0
    """How many writes have succeeded."""
    storms: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    """(tool, failure class) -> failures since the tool last answered with a value, whatever the arguments."""
    shut: frozenset[str] | None = None
    """For the oracle alone."""

    def breaker(self, tool: str) -> Breaker:
        """Return the breaker of a tool."""
        found = self.breakers.get(tool)
        if found is None:
            found = self.breakers[tool] = Breaker()
        return found

    def healthy(self, tool: str) -> bool:
        """Whether nothing at all has failed that would speak against calling the tool."""
        if self.storms:
            return False
        breaker = self.breakers.get(tool)
        return breaker is None or not breaker.failures

    def passed(self, tool: str) -> None:
        """Note a call of a healthy tool that was answered at once."""
        if self.retries is not None:
            self.retries.earn()
        self.breaker(tool).succeeded()

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

    def answered(self, tool: str) -> None:
        """Note a value: the tool's storm is over."""
        if self.storms:
            self.storms = {key: count for key, count in self.storms.items() if key[0] != tool}

    def refused(self, tool: str, failed: Failed) -> None:
        """Note a failure for the storm guard."""
        key = (tool, failed.failure_class)
        self.storms[key] = self.storms.get(key, 0) + 1

    def storm(self, tool: str) -> str | None:
        """Name the failure class that this tool has met too often, if there is one."""
        limit = self.policy.storm
        if limit is None or not self.storms:
            return None
        return next((kind for (name, kind), count in self.storms.items() if name == tool and count >= limit), None)


def borne_out(steps: list[Step], confirmed: dict[tuple[str, str, int], bool]) -> None:
    """Write into the steps of writes what the look-ups said of them, with the look-up as evidence.

    Args:
        steps: Steps in order; those that were looked up are replaced in place.
        confirmed: `TaskState.confirmed`; what is written is taken out.
    """
    evidence: dict[str, int] = {}
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        if step.purpose:
            evidence[step.call] = max(evidence.get(step.call, 0), step.n)
            continue
        said = confirmed.pop((step.call, step.tool, step.attempt), None)
        if said is not None:
            status = VerificationStatus.PASSED if said else VerificationStatus.FAILED
            looked = Verification(status=status, method="reader", by="runtime", evidence=evidence.get(step.call))
            steps[at] = replace(step, verification=looked)
        evidence.pop(step.call, None)
        if not confirmed:
            return


def operation_of(
    call: Call, tool: Tool, task: TaskState, *, again: bool = False, alone: int | None = None
) -> tuple[Operation, Call]:
    """Find the logical operation that a write is, and give the call its key.

    A repeat is a new operation when the caller means it so, when the user has spoken since, or when another write
    has succeeded since; else it is answered with what the first one came to. A key that the caller brings names the
    operation by itself.

    Args:
        call: The write.
        tool: Its tool.
        task: What is known of its task.
        again: The caller means to write the same again.
        alone: For a call that belongs to no task, its number: it is an operation of its own, and continues another one
            only if that ended without anybody knowing what became of it.

    Raises:
        UsageError: The caller's key was used with other arguments before.
    """
    parameter = tool.idempotency.parameter if tool.idempotency.kind is IdempotencyKind.KEY else None
    own = (call.arguments.get(parameter) or None) if parameter is not None else None  # an empty text is no key
    plain = {k: v for k, v in call.arguments.items() if k != parameter} if parameter is not None else call.arguments
    written = _canonical(plain)
    named = str(own) if own is not None else _digest(address(tool.name) + task.place + written)
    known = task.operations.get(named)
    if alone is not None and own is None:
        known = task.operations.pop(named, None) or Operation(name=named, arguments=plain, epoch=alone, turn=task.turn)
    elif known is None:
        known = task.operations[named] = Operation(name=named, arguments=plain, turn=task.turn)
    elif own is not None and _canonical(known.arguments) != written:
        raise UsageError(
            f"{tool.name}: key {named!r} was used for {known.arguments} and is now given to {plain}; "
            "one key names one operation: give the second a key of its own"
        )
    elif known.write is not None and own is None and _is_new(known, task, again=again):
        known = task.operations[named] = Operation(name=named, arguments=plain, epoch=known.epoch + 1, turn=task.turn)
    if parameter is None:
        return known, call
    if own is not None:
        return known, replace(call, key=named)
    key = named if known.epoch == 0 else _digest(b"%b#%d" % (named.encode(), known.epoch))
    return known, replace(call, key=key, arguments={**call.arguments, parameter: key})


def _is_new(known: Operation, task: TaskState, *, again: bool) -> bool:
    return again or not task.policy.replay or known.turn != task.turn or known.write != task.writes


def _canonical(arguments: Mapping[str, Any]) -> bytes:
    """Encode arguments so that equal ones have equal bytes; what JSON cannot say is named by its text."""
    try:
        return canonical(arguments)
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode(arguments, order="sorted", enc_hook=repr)


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()
