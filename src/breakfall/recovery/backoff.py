"""How long to wait before a retry."""

from __future__ import annotations

from breakfall.vocab import Failed


def full_jitter(nth: int, jitter: float, *, base_s: float, cap_s: float) -> float:
    """Wait a uniform share of an exponentially growing span.

    Source: M. Brooker, "Exponential Backoff And Jitter" (2015): sleep = uniform(0, min(cap, base·2^n)).

    Args:
        nth: Which retry it is, from 0.
        jitter: A uniform number in [0, 1).
        base_s: The first span in seconds.
        cap_s: The longest span in seconds.
    """
    return jitter * min(cap_s, base_s * 2.0**nth)


def wait_s(failed: Failed, nth: int, jitter: float, *, base_s: float, cap_s: float) -> float:
    """Wait as the server told, else with full jitter; never less than what was told."""
    backoff = full_jitter(nth, jitter, base_s=base_s, cap_s=cap_s)
    return backoff if failed.retry_after_s is None else failed.retry_after_s + backoff
