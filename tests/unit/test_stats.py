"""Intervals and tests against values worked out by hand or published."""

import math
from itertools import product

import numpy as np
import pytest

from breakfall import stats


def _bits(seed: int = 1) -> np.random.BitGenerator:
    return np.random.Philox(seed)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 10, 0.0, 0.277533), (5, 10, 0.236593, 0.763407), (10, 10, 0.722467, 1.0), (81, 263, 0.255289, 0.366215)],
)
def test_wilson(successes: int, n: int, low: float, high: float) -> None:
    """The Wilson interval is the solution of |p̂ - p| = z √(p(1-p)/n): both ends satisfy it."""
    interval = stats.wilson(successes, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-5)
    for end in (interval.low, interval.high):
        if 0 < end < 1:
            assert abs(successes / n - end) == pytest.approx(stats.Z_95 * math.sqrt(end * (1 - end) / n))


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_what_is_no_count(successes: int, n: int) -> None:
    """A share of nothing is an error, never NaN."""
    with pytest.raises(ValueError, match="need n >= 1"):
        stats.wilson(successes, n)


def test_pass_at_k_by_counting() -> None:
    """pass@k and pass^k are the shares of the k-subsets of the tries with any and with only passes."""
    tries = [True, True, False, False, False]
    subsets = [(tries[a], tries[b]) for a in range(5) for b in range(5) if a < b]
    assert stats.pass_at_k(5, 2, 2) == pytest.approx(sum(any(one) for one in subsets) / len(subsets))
    assert stats.pass_hat_k(5, 2, 2) == pytest.approx(sum(all(one) for one in subsets) / len(subsets))
    with pytest.raises(ValueError, match="k=6"):
        stats.pass_at_k(5, 2, 6)


def test_exact_permutation_by_enumeration() -> None:
    """The p-value is the share of the sign flips that reach as far; clusters of zero change nothing."""
    sums = [3.0, 1.0, -1.0, 2.0]
    flips = [sum(sign * value for sign, value in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=4)]
    expected = sum(abs(flip) >= 5.0 for flip in flips) / 16
    assert stats.exact_permutation(sums) == expected
    assert stats.exact_permutation([*sums, 0.0, 0.0]) == expected
    assert stats.exact_permutation([]) == 1.0
    assert stats.exact_permutation([1.0] * 10) == 2 / 2**10


def test_exact_permutation_refuses_too_many() -> None:
    """What cannot be enumerated must be drawn."""
    with pytest.raises(ValueError, match="17 clusters"):
        stats.exact_permutation([1.0] * 17)


def test_sampled_permutation_agrees_with_the_exact_one() -> None:
    """Drawn flips come close to the enumerated ones, and are never 0."""
    sums = [1.0, -2.0, 1.5, 3.0, 1.0, 0.5, 2.0, -1.0]
    signs = stats.flip_signs(len(sums), 9999, _bits())
    assert stats.sampled_permutation(sums, signs) == pytest.approx(stats.exact_permutation(sums), abs=0.02)
    assert stats.sampled_permutation([1.0] * 60, stats.flip_signs(60, 99, _bits())) == 1 / 100


def test_signs_are_fair() -> None:
    """Each cluster gets both signs about equally often, past the first 64 too."""
    signs = stats.flip_signs(70, 4000, _bits())
    assert signs.shape == (4000, 70)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert np.abs(signs.mean(axis=0)).max() < 0.07


def test_resamples_hold_as_many_clusters_as_there_are() -> None:
    """Each resample draws as many clusters as there are, all equally likely."""
    counts = stats.resample_counts(7, 3000, _bits())
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean(axis=0) == pytest.approx([1.0] * 7, abs=0.08)


def test_bootstrap_ratio_covers_like_the_normal_approximation() -> None:
    """For many clusters of one unit the interval is the mean ± 1.96 standard errors."""
    values = [float(index % 4 == 0) for index in range(400)]
    interval = stats.bootstrap_ratio(values, [1.0] * 400, stats.resample_counts(400, 4000, _bits()))
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert (interval.low, interval.high) == pytest.approx((0.25 - half, 0.25 + half), abs=0.01)


def test_clusters_widen_the_interval() -> None:
    """Ten equal units in one cluster tell no more than one."""
    sums, sizes = [10.0 * (index % 2) for index in range(20)], [10.0] * 20
    counts = stats.resample_counts(20, 4000, _bits())
    clustered = stats.bootstrap_ratio(sums, sizes, counts)
    single = stats.bootstrap_ratio([value / 10 for value in sums], [1.0] * 20, counts)
    assert clustered == single


def test_bootstrap_refuses_nothing() -> None:
    """A mean of nothing is an error, never NaN."""
    with pytest.raises(ValueError, match="0 sums"):
        stats.bootstrap_ratio([], [], np.zeros((5, 0)))
