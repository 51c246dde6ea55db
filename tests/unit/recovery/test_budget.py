"""The rolling budget caps retries at its share, however many tasks ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.budget import RetryBudget


def test_a_storm_is_capped_at_the_share() -> None:
    """Ten thousand tasks against a dead backend: retries stay within the share, the burst and the floor."""
    budget = RetryBudget(share=0.2, burst=20.0, floor_per_s=0.5)
    retries = 0
    for task in range(10_000):
        now_s = task * 0.01
        budget.earn()
        for _ in range(3):
            if budget.allows(now_s):
                budget.spend(now_s)
                retries += 1
    assert retries <= 0.2 * 10_000 + 20 + 0.5 * 100 + 1
    assert retries >= 0.2 * 10_000


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=60))
def test_never_beyond_what_was_earned(events: list[tuple[bool, float]]) -> None:
    """Over any course of calls and times the retries never exceed burst + share per call + floor per second."""
    budget = RetryBudget(share=0.5, burst=3.0, floor_per_s=1.0)
    now_s, calls, retries = 0.0, 0, 0
    for is_call, pause_s in events:
        now_s += pause_s
        if is_call:
            budget.earn()
            calls += 1
        elif budget.allows(now_s):
            budget.spend(now_s)
            retries += 1
        assert retries <= 3.0 + 0.5 * calls + now_s + 1e-9


def test_a_quiet_client_may_retry() -> None:
    """After the burst is spent the floor lets a retry through again."""
    budget = RetryBudget(share=0.0, burst=1.0, floor_per_s=0.5)
    assert budget.allows(0.0)
    budget.spend(0.0)
    assert not budget.allows(1.0)
    assert budget.allows(2.0)


def test_bad_values_are_named() -> None:
    """A share beyond one is refused with the values that were given."""
    with pytest.raises(ValueError, match=r"share is 1\.4"):
        RetryBudget(share=1.4)
