"""What holds for any counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from breakfall import stats

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
TRIES = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
SUMS = st.lists(st.integers(-5, 5).map(float), max_size=9)


@given(COUNTS)
def test_wilson_holds_the_share(count: tuple[int, int]) -> None:
    """The interval lies within 0 and 1 and holds the observed share."""
    interval = stats.wilson(*count)
    assert 0.0 <= interval.low <= count[0] / count[1] <= interval.high <= 1.0


@given(COUNTS)
def test_wilson_is_symmetric(count: tuple[int, int]) -> None:
    """Failures have the mirrored interval of successes."""
    successes, n = count
    one, other = stats.wilson(successes, n), stats.wilson(n - successes, n)
    assert abs(one.low + other.high - 1.0) < 1e-9


@given(TRIES)
def test_all_is_harder_than_any(tried: tuple[int, int, int]) -> None:
    """pass^k ≤ pass@1 ≤ pass@k, with equality at k = 1."""
    n, c, k = tried
    one = stats.pass_at_k(n, c, 1)
    assert stats.pass_hat_k(n, c, k) <= one + 1e-12
    assert one <= stats.pass_at_k(n, c, k) + 1e-12
    assert abs(stats.pass_hat_k(n, c, 1) - one) < 1e-12


@given(SUMS)
def test_permutation_is_two_sided(sums: list[float]) -> None:
    """The p-value is a probability above 0 and does not change when the agents change places."""
    p = stats.exact_permutation(sums)
    assert 0.0 < p <= 1.0
    assert p == stats.exact_permutation([-value for value in sums])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=12), st.integers(0, 2**31))
def test_bootstrap_stays_within_the_clusters(parts: list[tuple[int, int]], seed: int) -> None:
    """No resample can be more extreme than the most extreme cluster, and the same bits give the same interval."""
    sums, sizes = [float(a) for a, _ in parts], [float(b) for _, b in parts]
    found = [
        stats.bootstrap_ratio(sums, sizes, stats.resample_counts(len(parts), 200, np.random.Philox(seed)))
        for _ in range(2)
    ]
    ratios = [a / b for a, b in parts]
    assert found[0] == found[1]
    assert min(ratios) - 1e-9 <= found[0].low <= found[0].high <= max(ratios) + 1e-9
