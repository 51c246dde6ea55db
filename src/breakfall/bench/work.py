"""One worker: plays the episodes of work units and stores each before it begins the next."""

from __future__ import annotations

from collections.abc import Callable, Set
from pathlib import Path
from types import TracebackType
from typing import Self

from breakfall.bench.matrix import Unit
from breakfall.bench.stage import Played, Stage, Watch, watch_nothing, without_name
from breakfall.errors import RunError
from breakfall.faults.profile import Profile
from breakfall.ledger.segment import SegmentWriter
from breakfall.memory.beliefs import Memory
from breakfall.runtime.episode import broken
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import Ending, NotApplicable


class Worker:
    """Writes one segment of a run folder.

    Args:
        folder: The run folder.
        name: The segment's name.
        profile: The noise of all scenarios but CLEAN.
        limits: What one episode may use.
        memory: What agents with a mode know.
        go_on: Called after each stored episode; False stops the worker.
        watch: Told when code of someone else's is overdue.

    Attributes:
        absent: How many of the stored episodes do not exist, because their scenario does not apply.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        profile: Profile,
        limits: Limits,
        go_on: Callable[[], bool],
        memory: Memory | None = None,
        watch: Watch = watch_nothing,
    ) -> None:
        self.absent = 0
        self._stage = Stage(profile, limits, memory, watch)
        self._go_on = go_on
        self._writer = SegmentWriter(folder, name)

    async def run(self, unit: Unit, done: Set[str]) -> None:
        """Play and store the episodes of a unit, without those that are done.

        Raises:
            UsageError: The world or an agent cannot be loaded.
            StoreError: The segment cannot be written.
        """
        for key in unit.episodes():
            if key.id not in done:
                self._store(await self._stage.play(unit, key))
                if not self._go_on():
                    return

    def close(self) -> None:
        """Let go of the segment."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _store(self, played: Played) -> None:
        if isinstance(played, NotApplicable):
            self._writer.not_applicable(played)
            self.absent += 1
            return
        steps, end = played
        try:
            self._writer.episode(steps, end)
        except RunError as error:
            self._writer.episode([], broken(end.key, Ending.WORLD_ERROR, without_name(error, end.key)))
