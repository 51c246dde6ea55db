"""Severity follows from the four fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.ledger.severity import Severity, SeverityTally, rule, severity, tally
from breakfall.vocab import Applied, Effect, Failed, Ok, Step, Uncertainty, Verification, VerificationStatus

DONE = Ok(value="done")
LOST = Failed(message="no answer", applied=Applied.UNKNOWN)
REFUSED = Failed(message="no such order", native=True)


def step(status, signal=Uncertainty.MISSING, outcome=DONE, effect=Effect.WRITE, **more):
    return Step(
        episode="e",
        n=0,
        call="c1",
        tool="refund",
        arguments={},
        at_s=0.0,
        expected_outcome="the refund",
        observed_outcome=outcome,
        verification=Verification(status=VerificationStatus(status), method="re-read"),
        uncertainty_signal=signal,
        effect=effect,
        **more,
    )


STEPS = st.builds(
    step,
    st.sampled_from(VerificationStatus),
    st.sampled_from(Uncertainty),
    st.sampled_from([DONE, LOST, REFUSED]),
    st.sampled_from([None, *Effect]),
)


@pytest.mark.parametrize(
    ("made", "grave", "reason"),
    [
        (step("failed"), Severity.ERROR, "verification failed by re-read"),
        (step("failed", effect=Effect.READ), Severity.ERROR, "verification failed by re-read"),
        (step("passed"), Severity.INFO, ""),
        (step("passed", Uncertainty.NONE), Severity.INFO, ""),
        (step("passed", Uncertainty.LOW), Severity.WARNING, "verified, but the model's uncertainty is low"),
        (step("passed", Uncertainty.HIGH), Severity.WARNING, "verified, but the model's uncertainty is high"),
        (step("not_done"), Severity.WARNING, "write that nobody verified"),
        (step("not_done", outcome=LOST), Severity.WARNING, "write that nobody verified"),
        (step("not_done", effect=Effect.IRREVERSIBLE), Severity.WARNING, "write that nobody verified"),
        (step("not_done", effect=None), Severity.WARNING, "step that nobody verified"),
        (step("not_done", outcome=REFUSED), Severity.INFO, ""),
        (step("not_done", outcome=Ok(value=1, replayed=True)), Severity.INFO, ""),
        (step("not_done", effect=Effect.READ), Severity.INFO, ""),
        (step("not_applicable", effect=Effect.READ), Severity.INFO, ""),
    ],
)
def test_the_table(made, grave, reason):
    """ERROR: verification failed. WARNING: verified but uncertain, or a write nobody verified. INFO otherwise."""
    assert severity(made) is grave
    assert rule(made).reason == reason


@given(STEPS)
def test_only_a_failed_verification_is_an_error(made):
    """No outcome, effect or signal makes or unmakes an error."""
    assert (severity(made) is Severity.ERROR) == (made.verification.status is VerificationStatus.FAILED)


@given(STEPS)
def test_whatever_is_not_info_says_why(made):
    """A person sees the reason of every warning and error."""
    ruling = rule(made)
    assert bool(ruling.reason) == (ruling.severity is not Severity.INFO)


@given(st.lists(STEPS), st.lists(STEPS))
def test_tallies_add_up(some, others):
    """The tally of all steps is the sum of the tallies of its parts."""
    assert tally(some + others) == tally(some) + tally(others)


def test_rates_are_shares_of_all_steps():
    """Of four steps with one warning and one error, each rate is a quarter; without steps there is no rate."""
    counted = tally([step("failed"), step("not_done"), step("passed"), step("passed", incomplete=("verification",))])
    assert counted == SeverityTally(info=2, warning=1, error=1, incomplete=1)
    assert counted.rate(Severity.WARNING) == 0.25
    assert counted.rate(Severity.ERROR) == 0.25
    assert counted.interval(Severity.INFO).low < 0.5 < counted.interval(Severity.INFO).high
    assert tally([]).rate(Severity.ERROR) is None
    assert tally([]).interval(Severity.ERROR) is None
