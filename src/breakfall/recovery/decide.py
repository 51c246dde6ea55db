"""Decide after a failure: retry, switch, verify or stop. Pure; it knows what the agent knows."""

from __future__ import annotations

from msgspec import Struct

from breakfall.recovery.backoff import wait_s
from breakfall.recovery.breaker import PERSISTENT
from breakfall.recovery.policy import Policy
from breakfall.vocab import Directive, Failed, IdempotencyKind, Path, Retry, Stop, Switch, Tool, Verify


class Left(Struct, frozen=True):
    """What is left of the task's budget."""

    calls: int
    seconds: float


class Situation(Struct, frozen=True, kw_only=True):
    """A failed call as its caller sees it."""

    tool: Tool
    """The tool that failed last: the original or another path."""
    failed: Failed
    """How it failed, classified."""
    tries: int
    """Attempts on this tool for this call, the failed one included."""
    paths: tuple[Path, ...]
    """Other paths that could be taken now."""
    writes: bool
    """Whether the original call is a write."""
    unsettled: bool
    """Whether an attempt of this call, on any path, may have been applied and nobody looked yet."""
    looked_up: bool
    """Whether a reader said "not applied" after the last attempt."""
    lookups_left: int
    recovered_before: bool
    """Whether this tool answered earlier in the task, so that it is known to come back."""
    left: Left
    jitter: float
    """A uniform number in [0, 1) that belongs to this attempt."""
    shut: frozenset[str] | None = None
    """For the oracle alone: the tools that the scenario really shuts."""


def decide(policy: Policy, case: Situation) -> Directive:
    """Choose what to do after a failure.

    Invariants: a write of unknown outcome is never sent again before its reader says "not applied" or its key is
    honoured; a write is looked up before another path is taken; AUTH_ERROR and SCHEMA_DRIFT are repeated once at
    most, and only for a tool that is known to come back; a wait is never shorter than the server asked for; the
    budget is never exceeded.
    """
    if case.left.calls < 1:
        return Stop(reason="the task's call budget is used up")
    if policy.blind:
        return _again(policy, case, "blind retry") if case.tries < policy.attempts else _stop(case)
    if case.unsettled and not _key_honoured(case):
        return _settle(policy, case)
    if _may_come_back(policy, case):
        return _again(policy, case, f"{case.failed.failure_class} may pass")
    if case.unsettled:
        return _settle(policy, case)
    if not (policy.switch and case.paths):
        return _stop(case)
    if case.writes and not case.looked_up:
        return _settle(policy, case)
    return Switch(path=case.paths[0], why=f"{case.tool.name} is shut ({case.failed.failure_class})")


def _key_honoured(case: Situation) -> bool:
    """Whether the server itself keeps a repeat of this write from happening twice."""
    kind = case.tool.idempotency.kind
    return kind is IdempotencyKind.KEY or (kind is IdempotencyKind.NATURAL and case.tool.reader is None)


def _may_come_back(policy: Policy, case: Situation) -> bool:
    if case.shut is not None:
        return case.tool.name not in case.shut and case.tries < _ORACLE_ATTEMPTS
    if case.failed.kind in PERSISTENT:
        return case.recovered_before and case.tries < 2 <= policy.attempts
    return case.tries < policy.attempts


_ORACLE_ATTEMPTS = 6
"""The oracle knows that the path comes back; this only bounds a run against a profile without caps."""


def _settle(policy: Policy, case: Situation) -> Directive:
    reader = case.tool.reader
    if not policy.verify or reader is None:
        if not case.unsettled:
            return _stop(case)
        return Stop(reason=f"nobody knows whether {case.tool.name} took effect, and it cannot be looked up")
    if case.lookups_left < 1:
        return Stop(reason=f"the look-ups do not tell whether {case.tool.name} took effect")
    return Verify(reader=reader, why=f"{case.tool.name} may have taken effect although its answer was lost")


def _again(policy: Policy, case: Situation, why: str) -> Directive:
    after_s = wait_s(case.failed, case.tries - 1, case.jitter, base_s=policy.base_s, cap_s=policy.cap_s)
    if after_s > case.left.seconds:
        return Stop(reason=f"the next try of {case.tool.name} would come after the task's deadline")
    return Retry(after_s=after_s, why=why)


def _stop(case: Situation) -> Stop:
    return Stop(reason=f"{case.tool.name} failed {case.tries} time(s), last with {case.failed.failure_class}")
