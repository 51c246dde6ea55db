"""Weigh the moves after a failure: what each is expected to cost, given what is known of the path."""

from __future__ import annotations

import math

from msgspec import Struct

from breakfall.recovery.policy import Policy
from breakfall.vocab import FaultKind

_ANSWERED_BEFORE = 0.05
"""A path that answered earlier in the task is that much less likely to be shut."""
_NEIGHBOUR_FAILS = 2.0
"""A failing neighbour in the same fault domain makes it that much more likely (as odds)."""


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known of a path that has just failed."""

    kind: FaultKind
    failures: int
    """Failures in a row, this one included."""
    answered_before: bool
    failing_neighbours: int
    """Other tools of its fault domain that are failing now."""
    wait_s: float
    """How long the next try would wait."""
    persistence: float | None = None
    """The learned probability that this kind of failure of this tool is persistent; None: the policy's own."""
    switch_works: float | None = None
    """The learned probability that the other path answers; None: the policy's own."""


class Expected(Struct, frozen=True):
    """Expected costs in tool calls; `switch` is infinite where there is no other path."""

    retry: float
    switch: float
    stop: float
    comes_back: float
    """The probability that the next try on the same path answers."""


def shut_probability(policy: Policy, evidence: Evidence, failures: int) -> float:
    """Return the probability that the path is shut for good.

    Bayes over two causes: a shut path fails always, a passing fault strikes again with `strikes_again`; so each
    failure in a row multiplies the odds of *shut* by its inverse.
    """
    prior = policy.persistence[evidence.kind.value] if evidence.persistence is None else evidence.persistence
    prior = min(max(prior, 1e-6), 1 - 1e-6)
    odds = prior / (1 - prior) * policy.strikes_again ** (1 - failures)
    odds *= _NEIGHBOUR_FAILS**evidence.failing_neighbours
    if evidence.answered_before:
        odds *= _ANSWERED_BEFORE
    return odds / (1 + odds)


def expected(policy: Policy, evidence: Evidence, *, other_path: bool, writes: bool) -> Expected:
    """Weigh retry, switch and stop, looking one try ahead.

    Args:
        policy: Costs and prior beliefs.
        evidence: What is known of the path.
        other_path: Whether there is another path to switch to.
        writes: Whether the call writes: then a switch costs a look-up first.
    """
    costs = policy.costs
    shut = shut_probability(policy, evidence, evidence.failures)
    again = policy.strikes_again * math.exp2(-evidence.wait_s / policy.half_life_s)
    comes_back = (1 - shut) * (1 - again)
    works = policy.switch_works if evidence.switch_works is None else evidence.switch_works

    def leaving(probability_shut: float) -> float:
        """Cost of the best move that leaves the path."""
        return min(switching(probability_shut), costs.person)

    def switching(probability_shut: float) -> float:
        if not other_path:
            return math.inf
        calls = costs.call * (1 + policy.agreeing * writes)
        return calls + (1 - probability_shut) * costs.premature_switch + (1 - works) * costs.person

    later = shut_probability(policy, evidence, evidence.failures + 1)
    retry = costs.call + evidence.wait_s * costs.second + (1 - comes_back) * leaving(later)
    return Expected(retry, switching(shut), costs.person, comes_back)
