"""What the network between client and service does to a request, by its place: pure and seeded."""

from __future__ import annotations

from enum import StrEnum

from breakfall.seeds import stream


class Fault(StrEnum):
    """What happens to one request."""

    NONE = "none"
    LOST = "lost"
    """Forwarded; the connection closes without the answer."""
    RESET_BEFORE = "reset before"
    """The connection is reset, and nothing was forwarded."""
    RESET_AFTER = "reset after"
    """Forwarded; the connection is reset instead of the answer."""
    ERROR_BEFORE = "error before"
    """HTTP 503, and nothing was forwarded."""
    ERROR_AFTER = "error after"
    """Forwarded; HTTP 500 instead of the answer."""
    LATE = "late"
    """Forwarded only when the client has already given up waiting."""
    SLOW = "slow"
    """Forwarded at once; answered when the client has already given up waiting."""
    LIMITED = "limited"
    """HTTP 429 with Retry-After, and nothing was forwarded."""


DELAY_S = 0.4
"""How long `LATE` and `SLOW` hold a request or its answer; clients wait less."""
IN_TRANSIT_S = 1.0
"""The network forgets a request that it has held for nearly so long: what has not arrived by then never will."""
RETRY_AFTER_S = 1
_WRITES = {
    Fault.LOST: 0.04,
    Fault.RESET_BEFORE: 0.03,
    Fault.RESET_AFTER: 0.02,
    Fault.ERROR_BEFORE: 0.02,
    Fault.ERROR_AFTER: 0.03,
    Fault.LATE: 0.01,
    Fault.SLOW: 0.01,
    Fault.LIMITED: 0.01,
}
_READS = {Fault.RESET_BEFORE: 0.02, Fault.ERROR_BEFORE: 0.02, Fault.LOST: 0.02}


def fault_of(seed: int, reference: str, method: str, nth: int) -> Fault:
    """Return what the `nth` request with this method for an order meets: the same whichever client sends it."""
    shares = _READS if method == "GET" else _WRITES
    kinds = [*shares, Fault.NONE]
    weights = [*shares.values(), 1.0 - sum(shares.values())]
    return stream(seed, "network", reference, "read" if method == "GET" else "write", nth).weighted(kinds, weights)
