"""Intervals and tests: pure arithmetic.

Everything that draws takes a numpy `BitGenerator` and uses its raw words alone, whose sequence numpy keeps stable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

Z_95 = 1.959963984540054
"""The 0.975 quantile of the standard normal distribution."""

EXACT_UP_TO = 16
"""Clusters whose sign flips are all enumerated: 2^16 of them."""

_TO_UNIT = 2.0**-53
_TOLERANCE = 1e-9


class Interval(Struct, frozen=True):
    """The two ends of a 95 % interval."""

    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z_95) -> Interval:
    """Return the Wilson score interval of a proportion.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    Raises:
        ValueError: `n` is not positive, or `successes` is not within 0 and `n`.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}: need n >= 1 and 0 <= successes <= n")
    p = successes / n
    scale = 1 + z * z / n
    middle = (p + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low, high)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate without bias the chance that at least one of `k` tries passes, from `c` passes in `n` tries.

    Source: M. Chen et al., "Evaluating large language models trained on code", 2021: 1 - C(n-c, k) / C(n, k).

    Raises:
        ValueError: `k` or `c` is not within its range.
    """
    _check_tries(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Estimate without bias the chance that all of `k` tries pass, from `c` passes in `n` tries.

    Source: S. Yao et al., "τ-bench", 2024: C(c, k) / C(n, k).

    Raises:
        ValueError: `k` or `c` is not within its range.
    """
    _check_tries(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _check_tries(n: int, c: int, k: int) -> None:
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"n={n}, c={c}, k={k}: need 1 <= k <= n and 0 <= c <= n")


def resample_counts(clusters: int, resamples: int, bits: np.random.BitGenerator) -> Numbers:
    """Draw how often each cluster stands in each bootstrap resample: `resamples` rows, one column per cluster."""
    words = bits.random_raw(resamples * clusters)
    picks = ((words >> np.uint64(11)) * _TO_UNIT * clusters).astype(np.int64)
    rows = np.repeat(np.arange(resamples, dtype=np.int64), clusters)
    flat = np.bincount(rows * clusters + picks, minlength=resamples * clusters)
    return flat.reshape(resamples, clusters).astype(np.float64)


def bootstrap_ratio(sums: Sequence[float], sizes: Sequence[float], counts: Numbers) -> Interval:
    """Return the percentile interval of Σ sums / Σ sizes when whole clusters are resampled.

    Args:
        sums: What is averaged, summed within each cluster.
        sizes: How many units each cluster holds.
        counts: The resamples, from `resample_counts`.

    Raises:
        ValueError: The shapes do not fit, or no cluster holds anything.
    """
    if not (len(sums) == len(sizes) == counts.shape[1]) or not any(sizes):
        raise ValueError(
            f"{len(sums)} sums, {len(sizes)} sizes, {counts.shape[1]} clusters: need one of each, not empty"
        )
    totals = counts @ np.asarray(sizes, dtype=np.float64)
    held = totals > 0
    values = (counts @ np.asarray(sums, dtype=np.float64))[held] / totals[held]
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(float(low), float(high))


def flip_signs(clusters: int, flips: int, bits: np.random.BitGenerator) -> Numbers:
    """Draw `flips` rows of independent signs (-1 or 1), one column per cluster."""
    words = bits.random_raw(flips * ((clusters + 63) // 64)).reshape(flips, -1)
    raw = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1)[:, :clusters]
    return raw.astype(np.float64) * 2.0 - 1.0


def exact_permutation(sums: Sequence[float]) -> float:
    """Return the two-sided p-value of the sign-flip test, with every flip enumerated.

    Clusters that sum to zero change nothing and are left out, which alters no p-value.

    Raises:
        ValueError: More than `EXACT_UP_TO` clusters are not zero; draw flips instead.
    """
    moving = [value for value in sums if value != 0.0]
    if len(moving) > EXACT_UP_TO:
        raise ValueError(f"{len(moving)} clusters are too many to enumerate; the most is {EXACT_UP_TO}")
    reached = np.zeros(1)
    for value in moving:
        reached = np.concatenate([reached + value, reached - value])
    return float(np.mean(np.abs(reached) >= abs(sum(moving)) - _TOLERANCE))


def sampled_permutation(sums: Sequence[float], signs: Numbers) -> float:
    """Return the two-sided p-value of the sign-flip test over drawn flips: (b + 1) / (m + 1).

    Args:
        sums: The differences, summed within each cluster.
        signs: The flips, from `flip_signs`.
    """
    reached = np.abs(signs @ np.asarray(sums, dtype=np.float64))
    as_far = int(np.count_nonzero(reached >= abs(sum(sums)) - _TOLERANCE))
    return (as_far + 1) / (len(signs) + 1)
