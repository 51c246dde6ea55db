"""The Beta distribution: its mean, its distribution function and its intervals, in plain arithmetic."""

from __future__ import annotations

import math

from msgspec import Struct

from breakfall.stats import Interval

_TAIL = 0.025
_TINY = 1e-300
_SMALL = 1e-15
_TERMS = 10_000
_HALVINGS = 60


class Beta(Struct, frozen=True):
    """What is believed of a probability; Beta(1, 1) before data."""

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no Beta distribution."""
        if not (self.alpha > 0 and self.beta > 0):
            raise ValueError(f"Beta({self.alpha}, {self.beta}): both must be positive")

    @property
    def mean(self) -> float:
        """The expected probability."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def interval(self) -> Interval:
        """The central 95 % interval."""
        return Interval(self.quantile(_TAIL), self.quantile(1 - _TAIL))

    def below(self, x: float) -> float:
        """Return the chance that the probability is at most `x`."""
        return distribution(x, self.alpha, self.beta)

    def quantile(self, p: float) -> float:
        """Return the x at which `below(x)` is `p`, found by halving."""
        if not 0 <= p <= 1:
            raise ValueError(f"p is {p}, must be between 0 and 1")
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.below(middle) < p:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def distribution(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    Source: the continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated from the
    front (Lentz), on the side of the mean where it converges fast.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - distribution(1.0 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) - math.log(a) - _log_beta(a, b)
    return math.exp(log_front) / _fraction(x, a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + ...)) with the d of I_x(a, b)."""
    value = upper = 1.0
    lower = 0.0
    for n in range(1, _TERMS):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1.0 / _not_zero(1.0 + term * lower)
        upper = _not_zero(1.0 + term / upper)
        value *= upper * lower
        if abs(upper * lower - 1.0) < _SMALL:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
