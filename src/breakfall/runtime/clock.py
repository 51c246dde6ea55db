"""Clocks: a virtual one, so that waiting costs nothing in a bench."""

from __future__ import annotations


class VirtualClock:
    """Seconds since the episode began; sleeping only moves the hand."""

    __slots__ = ("_now_s",)

    def __init__(self) -> None:
        self._now_s = 0.0

    def now(self) -> float:
        """Return the seconds since the start."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        self._now_s += seconds

    async def sleep(self, seconds: float) -> None:
        """Let seconds pass without waiting."""
        self._now_s += seconds
