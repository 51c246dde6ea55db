"""Expected costs follow the evidence."""

from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.expect import Evidence, expected, shut_probability
from breakfall.recovery.policy import BALANCED
from breakfall.vocab import OBSERVABLE, FaultKind


def evidence(kind: FaultKind = FaultKind.TIMEOUT, failures: int = 1, **more: object) -> Evidence:
    base = {"answered_before": False, "failing_neighbours": 0, "wait_s": 0.0}
    return Evidence(kind=kind, failures=failures, **{**base, **more})


@given(st.sampled_from(OBSERVABLE), st.integers(1, 12))
def test_more_failures_more_shut(kind: FaultKind, failures: int) -> None:
    """Each failure in a row makes it more likely that the path is shut; an earlier answer less."""
    seen = evidence(kind, failures)
    now = shut_probability(BALANCED, seen, failures)
    assert 0 < now < shut_probability(BALANCED, seen, failures + 1) <= 1
    assert shut_probability(BALANCED, evidence(kind, failures, answered_before=True), failures) < now
    assert shut_probability(BALANCED, evidence(kind, failures, failing_neighbours=1), failures) > now


def test_first_failure_is_the_prior() -> None:
    """Before other evidence the first failure means shut with the policy's own probability; learned ones replace it."""
    assert abs(shut_probability(BALANCED, evidence(), 1) - 0.3) < 1e-12
    assert abs(shut_probability(BALANCED, evidence(persistence=0.7), 1) - 0.7) < 1e-12


@given(st.floats(0, 600), st.floats(0, 600))
def test_waiting_helps(a: float, b: float) -> None:
    """The longer the wait, the more likely a passing fault is over."""
    short, long = sorted((a, b))
    costs = [
        expected(BALANCED, evidence(wait_s=wait), other_path=True, writes=False).comes_back for wait in (short, long)
    ]
    assert costs[0] <= costs[1]


def test_a_working_path_is_cheaper_to_switch_to() -> None:
    """What memory says of a path moves the cost of the switch."""
    good = expected(BALANCED, evidence(switch_works=0.99), other_path=True, writes=False)
    bad = expected(BALANCED, evidence(switch_works=0.1), other_path=True, writes=False)
    assert good.switch < bad.switch
    assert good.retry < bad.retry
