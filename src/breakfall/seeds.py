"""Randomness addressed by place: the same seed and place give the same numbers on any machine.

A place is a tuple of strings and integers such as ``("noise", "store", "task-7", "get_order", 3)``. Numbers come
straight from BLAKE2b, because building a generator per call costs more than the fault it would draw.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Place: TypeAlias = str | int

_DIGEST_BYTES = 32
_UNPACK = struct.Struct("<4Q").unpack
_TO_UNIT = 2.0**-53  # the top 53 bits of a word, so that 1.0 is never reached


def address(*place: Place) -> bytes:
    """Encode a place so that no two places share an encoding."""
    parts = []
    for part in place:
        raw = part.encode() if isinstance(part, str) else b"%d" % part
        parts.append(b"%c%d:%b" % (115 if isinstance(part, str) else 105, len(raw), raw))
    return b"".join(parts)


def uniforms(prefix: bytes, nth: int) -> tuple[float, float, float, float]:
    """Draw the four uniforms in [0, 1) that belong to the `nth` use of a place.

    Args:
        prefix: The place as `address` encodes it; callers on a hot path keep it.
        nth: Which use, from 0.
    """
    a, b, c, d = _UNPACK(blake2b(b"%b#%d" % (prefix, nth), digest_size=_DIGEST_BYTES).digest())
    return (a >> 11) * _TO_UNIT, (b >> 11) * _TO_UNIT, (c >> 11) * _TO_UNIT, (d >> 11) * _TO_UNIT


class Stream:
    """A private sequence of uniforms that starts at one place; the draws of one stream move no other."""

    __slots__ = ("_drawn", "_left", "_prefix")

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._drawn = 0
        self._left: tuple[float, ...] = ()

    def uniform(self) -> float:
        """Draw one number in [0, 1)."""
        if not self._left:
            self._left = uniforms(self._prefix, self._drawn)
            self._drawn += 1
        value, self._left = self._left[0], self._left[1:]
        return value

    def between(self, low: float, high: float) -> float:
        """Draw one number in [low, high)."""
        return low + (high - low) * self.uniform()

    def below(self, stop: int) -> int:
        """Draw one integer in [0, stop); `stop` must be at least 1."""
        return int(self.uniform() * stop)

    def integer(self, low: int, high: int) -> int:
        """Draw one integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of `options`, which must not be empty."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of `options` with probability in proportion to `weights`."""
        mark = self.uniform() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            mark -= weight
            if mark < 0:
                return option
        return options[-1]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Draw `count` different places of `options`, in random order."""
        pool = list(options)
        for i in range(min(count, len(pool))):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return all of `options` in random order."""
        return self.sample(options, len(options))


def stream(seed: int, *place: Place) -> Stream:
    """Open the stream of uniforms that belongs to `seed` and `place`."""
    return Stream(address(seed, *place))
