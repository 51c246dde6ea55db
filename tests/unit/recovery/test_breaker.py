"""A breaker opens after failures in a row, at once for kinds that a repeat cannot mend, and half-opens later."""

from breakfall.recovery.breaker import Breaker
from breakfall.vocab import Failed, FaultKind


def opened(breaker: Breaker, now_s: float) -> bool:
    return breaker.open(now_s, threshold=3, cooldown_s=60.0)


def test_opens_at_the_threshold_and_half_opens() -> None:
    """Three failures in a row open it; after the cool-down it lets a call through; a success closes it."""
    breaker = Breaker()
    for now_s in (0.0, 1.0):
        breaker.failed(Failed(message="", kind=FaultKind.TIMEOUT), now_s)
    assert not opened(breaker, 2.0)
    breaker.failed(Failed(message="", kind=FaultKind.TIMEOUT), 2.0)
    assert opened(breaker, 3.0)
    assert not opened(breaker, 62.0)
    breaker.succeeded()
    assert not opened(breaker, 3.0)


def test_one_auth_error_opens_it_unless_the_tool_answered_before() -> None:
    """A 401 from a tool that never answered means shut; from one that did, it may be a flapping gateway."""
    fresh = Breaker()
    fresh.failed(Failed(message="", kind=FaultKind.AUTH_ERROR), 0.0)
    assert opened(fresh, 1.0)
    known = Breaker()
    known.succeeded()
    known.failed(Failed(message="", kind=FaultKind.AUTH_ERROR), 0.0)
    assert not opened(known, 1.0)
