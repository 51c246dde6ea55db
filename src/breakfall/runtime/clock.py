"""Clocks: the machine's, and a virtual one, so that waiting costs nothing in a bench."""

from __future__ import annotations

import time
from time import monotonic

import anyio


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

    def wait(self, seconds: float) -> None:
        """Let seconds pass without waiting."""
        self._now_s += seconds


class SystemClock:
    """Seconds since 1970, as other machines see them; it never runs backwards in a process."""

    __slots__ = ("_offset_s",)

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()  # noqa: TID251 - this is the clock that others take time from

    def now(self) -> float:
        """Return the seconds since 1970."""
        return self._offset_s + monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop."""
        await anyio.sleep(seconds)

    def wait(self, seconds: float) -> None:
        """Wait, blocking the thread."""
        time.sleep(seconds)
