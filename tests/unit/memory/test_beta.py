"""The Beta distribution against values that are known otherwise."""

from __future__ import annotations

import math

import pytest

from breakfall.memory.beta import Beta, distribution


@pytest.mark.parametrize("a", [1, 2, 5, 40])
@pytest.mark.parametrize("b", [1, 3, 17])
@pytest.mark.parametrize("x", [0.01, 0.2, 0.5, 0.77, 0.99])
def test_distribution_of_whole_parameters(a: int, b: int, x: float) -> None:
    """I_x(a, b) is the chance of at least `a` successes in a + b - 1 tries of chance x."""
    n = a + b - 1
    tail = math.fsum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert distribution(x, a, b) == pytest.approx(tail, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("x", [0.001, 0.1, 0.5, 0.9])
def test_distribution_of_halves(x: float) -> None:
    """Beta(1/2, 1/2) is the arcsine law."""
    assert distribution(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), rel=1e-12)


@pytest.mark.parametrize(
    ("successes", "tries", "low", "high"),
    [(10, 11, 0.5872, 0.9977), (5, 10, 0.1871, 0.8129), (1, 20, 0.0013, 0.2487), (40, 100, 0.3033, 0.5028)],
)
def test_quantiles_give_the_exact_interval(successes: int, tries: int, low: float, high: float) -> None:
    """The quantiles give the Clopper-Pearson intervals that tables print."""
    failures = tries - successes
    assert Beta(successes, failures + 1).quantile(0.025) == pytest.approx(low, abs=5e-5)
    assert Beta(successes + 1, failures).quantile(0.975) == pytest.approx(high, abs=5e-5)


def test_quantile_undoes_distribution() -> None:
    """`quantile` is the inverse of `below`, at the ends too."""
    beta = Beta(3.5, 900.25)
    for p in (1e-6, 0.025, 0.5, 0.975, 1 - 1e-9):
        assert beta.below(beta.quantile(p)) == pytest.approx(p, rel=1e-6)
    assert Beta().quantile(0.0) == pytest.approx(0.0, abs=1e-12)
    assert Beta().quantile(1.0) == pytest.approx(1.0, abs=1e-12)
    assert Beta().interval.low == pytest.approx(0.025, abs=1e-12)


def test_large_counts_converge() -> None:
    """A million observations still give an interval, as narrow as the normal law says."""
    beta = Beta(600_001, 400_001)
    half = 1.959964 * math.sqrt(0.24 / 1e6)
    assert beta.interval.low == pytest.approx(0.6 - half, abs=1e-5)
    assert beta.interval.high == pytest.approx(0.6 + half, abs=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_no_beta(alpha: float, beta: float) -> None:
    """Parameters that are not positive are refused."""
    with pytest.raises(ValueError, match="both must be positive"):
        Beta(alpha, beta)


def test_no_probability() -> None:
    """A quantile of something that is no probability is refused."""
    with pytest.raises(ValueError, match=r"p is 1\.5"):
        Beta().quantile(1.5)
