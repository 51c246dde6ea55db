"""The writer of a bench's segment: one finished episode at a time, in one write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from breakfall.ledger.file import SegmentFile, SegmentHeldError
from breakfall.ledger.line import FORMAT, Header, encode, encode_episode, segment_path
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

__all__ = ["SegmentHeldError", "SegmentWriter"]


class SegmentWriter:
    """Appends whole episodes to one segment; implements `breakfall.vocab.Recorder`.

    One process at a time may hold a segment. Attributes:
        path: The segment's file.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        """Open a segment of a run folder for appending, mended if its last writer was killed.

        Raises:
            SegmentHeldError: Another process writes it.
            StoreError: It cannot be opened or written, or is damaged.
        """
        self.path = segment_path(folder, worker)
        self._file = SegmentFile(self.path, Header(format=FORMAT))

    @property
    def end(self) -> int:
        """How many bytes are acknowledged."""
        return self._file.end

    def episode(self, steps: Sequence[Step], end: EpisodeEnd) -> None:
        """Store one finished episode whole; when this returns, it survives a kill of the process.

        Raises:
            StoreError: It could not be written; what was acknowledged before is untouched.
            RunError: The episode holds something that is no JSON value; nothing was written.
        """
        self._file.append_together(encode_episode(steps, end), len(steps) + 1)

    def not_applicable(self, line: NotApplicable) -> None:
        """Store that an episode does not exist.

        Raises:
            StoreError: It could not be written; what was acknowledged before is untouched.
        """
        self._file.append([encode(line)])

    def close(self) -> None:
        """Let go of the segment; closing twice is allowed."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
