"""The rolling budget of retries that many tasks share, so that a dead backend cannot start a retry storm."""

from __future__ import annotations


class RetryBudget:
    """A bucket that each call fills by a share and each retry empties by one.

    Over any long stretch the retries are at most `share` of the calls, plus `floor_per_s` a second so that a quiet
    client may still retry. Not safe to share between processes; in one process calls of it do not wait.

    Args:
        share: Retries per call in the long run.
        burst: How many retries may be saved up.
        floor_per_s: Retries a second that are always allowed.
    """

    __slots__ = ("_burst", "_filled_s", "_floor_per_s", "_saved", "_share")

    def __init__(self, *, share: float = 0.2, burst: float = 20.0, floor_per_s: float = 0.5) -> None:
        if not (0 <= share <= 1 and burst >= 0 and floor_per_s >= 0):
            raise ValueError(
                f"share is {share}, burst {burst}, floor_per_s {floor_per_s}; must be within 0 and 1, and at least 0"
            )
        self._share = share
        self._burst = burst
        self._floor_per_s = floor_per_s
        self._saved = burst
        self._filled_s: float | None = None

    def earn(self) -> None:
        """Note one first attempt."""
        saved = self._saved + self._share
        self._saved = saved if saved < self._burst else self._burst

    def allows(self, now_s: float) -> bool:
        """Whether one more retry may be made now."""
        self._fill(now_s)
        return self._saved >= 1.0

    def spend(self, now_s: float) -> None:
        """Note one retry."""
        self._fill(now_s)
        self._saved -= 1.0

    def _fill(self, now_s: float) -> None:
        if self._filled_s is not None and now_s > self._filled_s:
            self._saved = min(self._burst, self._saved + (now_s - self._filled_s) * self._floor_per_s)
        self._filled_s = now_s if self._filled_s is None else max(now_s, self._filled_s)
