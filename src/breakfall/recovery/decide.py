"""Decide after a failure: retry, switch, verify or stop. Pure; it knows what the agent knows."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from breakfall.recovery.backoff import wait_s
from breakfall.recovery.breaker import PERSISTENT
from breakfall.recovery.expect import Evidence, Expected, expected
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
    failures: int
    """Its failures in a row in the task, over all calls, this one included."""
    failing_neighbours: int
    """Other tools of its fault domain that are failing now."""
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
    persistence: float | None = None
    """What memory says: the probability that this kind of failure of this tool is persistent."""
    switch_works: float | None = None
    """What memory says: the probability that the first of `paths` answers."""
    retry_allowed: bool = True
    """Whether the budget of retries that tasks share has one left."""
    window_left_s: float = inf
    """How long the server will still know the key that an unsettled attempt carried."""
    jitter: float
    """A uniform number in [0, 1) that belongs to this attempt."""
    shut: frozenset[str] | None = None
    """For the oracle alone: the tools that the scenario really shuts."""


def decide(policy: Policy, case: Situation) -> Directive:
    """Choose what to do after a failure: what is allowed and expected to cost least.

    Invariants: a write of unknown outcome is never sent again before its reader says "not applied" or its key is
    honoured; a write is looked up before another path is taken; AUTH_ERROR and SCHEMA_DRIFT are repeated once at
    most, and only for a tool that is known to come back; a wait is never shorter than the server asked for; the
    budget is never exceeded.
    """
    if case.left.calls < 1:
        return Stop(reason="the task's call budget is used up")
    if policy.blind:
        return _wait(policy, case, "blind retry") if case.tries < policy.attempts else _stop(case)
    if case.unsettled and not _key_honoured(policy, case):
        return _settle(policy, case)
    again = _again(policy, case)
    if again is not None:
        return again
    if case.unsettled:
        return _settle(policy, case)
    if not (policy.switch and case.paths):
        return _stop(case)
    if case.writes and not case.looked_up and case.lookups_left > 0 and case.tool.reader is not None:
        return _settle(policy, case)  # though every refusal says "not applied": whoever looks finds out
    return Switch(path=case.paths[0], why=f"{case.tool.name} is shut ({case.failed.failure_class})")


def _key_honoured(policy: Policy, case: Situation) -> bool:
    """Whether the server itself keeps a repeat of this write from happening twice."""
    kind = case.tool.idempotency.kind
    if kind is IdempotencyKind.KEY:
        return _wait_s(policy, case) < case.window_left_s
    return kind is IdempotencyKind.NATURAL and case.tool.reader is None


_ORACLE_ATTEMPTS = 6
"""The oracle knows that the path comes back; this only bounds a run against a profile without caps."""


def _again(policy: Policy, case: Situation) -> Directive | None:
    """Try the same path again if that is allowed and expected to cost less than leaving it; else None."""
    if case.shut is not None:
        open_ = case.tool.name not in case.shut and case.tries < _ORACLE_ATTEMPTS
        return _wait(policy, case, "the scenario leaves this path open") if open_ else None
    if case.tries >= policy.attempts or not case.retry_allowed:
        return None
    if beyond_repeating(case):
        return None
    cost = weigh(policy, case)
    if cost is None or cost.retry > min(cost.switch, cost.stop):
        return None
    return _wait(policy, case, f"{case.failed.failure_class} passes with probability {cost.comes_back:.2f}")


_STAYS = 2 / 3
"""Memory is evidence that a failure passes if it says that more than every third one does.

From Beta(1, 1) that takes at least one recovery that was seen; whether a repeat is worth its cost is weighed after.
"""


def beyond_repeating(case: Situation) -> bool:
    """Whether a repeat of the same call mends nothing; a tool that is known to come back gets one chance.

    What is known comes from the task, where the tool answered before, or from memory.
    """
    learned = case.persistence is not None and case.persistence < _STAYS
    return case.failed.kind in PERSISTENT and not ((case.recovered_before or learned) and case.tries < 2)


def weigh(policy: Policy, case: Situation) -> Expected | None:
    """Return what each move is expected to cost; None for the tool's own refusal, which repeats for sure."""
    if case.failed.kind is None:
        return None
    evidence = Evidence(
        kind=case.failed.kind,
        failures=case.failures,
        answered_before=case.recovered_before,
        failing_neighbours=case.failing_neighbours,
        wait_s=_wait_s(policy, case),
        persistence=case.persistence,
        switch_works=case.switch_works,
    )
    return expected(policy, evidence, other_path=policy.switch and bool(case.paths), writes=case.writes)


def _settle(policy: Policy, case: Situation) -> Directive:
    reader = case.tool.reader
    if not policy.verify or reader is None:
        if not case.unsettled:
            return _stop(case)
        return Stop(reason=f"nobody knows whether {case.tool.name} took effect, and it cannot be looked up")
    if case.lookups_left < 1:
        return Stop(reason=f"the look-ups do not tell whether {case.tool.name} took effect")
    return Verify(reader=reader, why=f"{case.tool.name} may have taken effect although its answer was lost")


def _wait_s(policy: Policy, case: Situation) -> float:
    return wait_s(case.failed, case.tries - 1, case.jitter, base_s=policy.base_s, cap_s=policy.cap_s)


def _wait(policy: Policy, case: Situation, why: str) -> Directive:
    after_s = _wait_s(policy, case)
    if after_s > case.left.seconds:
        return Stop(reason=f"the next try of {case.tool.name} would come after the task's deadline")
    return Retry(after_s=after_s, why=why)


def _stop(case: Situation) -> Stop:
    return Stop(reason=f"{case.tool.name} failed {case.tries} time(s), last with {case.failed.failure_class}")
