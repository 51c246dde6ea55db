"""Backoff is full jitter over an exponential span, on top of what the server asked for."""

from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.backoff import full_jitter, wait_s
from breakfall.vocab import Failed


@given(nth=st.integers(0, 60), jitter=st.floats(0, 1, exclude_max=True))
def test_within_the_span(nth: int, jitter: float) -> None:
    """The wait lies in [0, min(cap, base·2^n)]."""
    assert 0 <= full_jitter(nth, jitter, base_s=0.5, cap_s=20.0) <= min(20.0, 0.5 * 2.0**nth)


@given(told=st.floats(0, 1e6), jitter=st.floats(0, 1, exclude_max=True))
def test_never_earlier_than_told(told: float, jitter: float) -> None:
    """Retry-After is a lower bound."""
    assert wait_s(Failed(message="", retry_after_s=told), 0, jitter, base_s=0.5, cap_s=20.0) >= told
