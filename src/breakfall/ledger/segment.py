"""The writer of one segment: what it has acknowledged survives a kill of the process.

An episode goes to the kernel in one `write`. A kill or a full disk can leave a torn tail, never a hole before it:
readers pass over the tail, and the next writer of the segment cuts it off before it appends.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from breakfall.errors import StoreError
from breakfall.ledger.line import (
    ENCODER,
    END_PREFIX,
    FORMAT,
    NOT_APPLICABLE_PREFIX,
    Header,
    check_header,
    encode_episode,
    segment_path,
)
from breakfall.vocab import EpisodeEnd, NotApplicable, Step


class SegmentHeldError(StoreError):
    """Another process writes the segment."""


class SegmentWriter:
    """Appends whole episodes to one segment; implements `breakfall.vocab.Recorder`.

    One process at a time may hold a segment. Attributes:
        path: The segment's file.
        end: How many bytes of it are acknowledged.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        """Open a segment of a run folder for appending, mended if its last writer was killed.

        Raises:
            SegmentHeldError: Another process writes it.
            StoreError: It cannot be opened or written, or is damaged.
        """
        self.path = segment_path(folder, worker)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot open the segment: {error.strerror}") from None
        self.end = 0
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise StoreError(f"{self.path}: is no regular file; remove it")
            self._lock()
            self.end = _mend(self._file, self.path)
            if self.end == 0:
                self._append(ENCODER.encode_lines([Header(format=FORMAT)]))
        except BaseException:
            self.close()
            raise

    def episode(self, steps: Sequence[Step], end: EpisodeEnd) -> None:
        """Store one finished episode whole; when this returns, it survives a kill of the process.

        Raises:
            StoreError: It could not be written; what was acknowledged before is untouched.
            RunError: The episode holds something that is no JSON value; nothing was written.
        """
        self._append(encode_episode(steps, end))

    def not_applicable(self, line: NotApplicable) -> None:
        """Store that an episode does not exist.

        Raises:
            StoreError: It could not be written; what was acknowledged before is untouched.
        """
        self._append(ENCODER.encode_lines([line]))

    def close(self) -> None:
        """Let go of the segment; closing twice is allowed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SegmentHeldError(
                f"{self.path}: another process writes this segment; wait for it, or choose another folder"
            ) from None

    def _append(self, lines: bytes) -> None:
        """Write `lines` at the end, all of them or none."""
        try:
            written = os.write(self._file, lines)
            while written < len(lines):  # a nearly full disk takes a part first and refuses the rest
                written += os.write(self._file, lines[written:])
        except OSError as error:
            self._cut_back()
            raise StoreError(
                f"{self.path}: cannot write {len(lines)} bytes: {error.strerror}; the {self.end} bytes before them are "
                "kept. Make room, then run the same command again to go on"
            ) from None
        self.end += written

    def _cut_back(self) -> None:
        """Take back a part of a write, where the file allows it; if not, the next writer does."""
        try:
            os.ftruncate(self._file, self.end)
        except OSError:
            return


def _mend(file: int, path: Path) -> int:
    """Cut off what follows the last complete episode; return the length that is left."""
    with open(file, "rb", closefd=False) as stream:
        good = 0
        here = 0
        for raw in stream:
            here += len(raw)
            if not raw.endswith(b"\n"):
                break
            if good == 0:
                check_header(path, raw)
                good = here
            elif raw.startswith((END_PREFIX, NOT_APPLICABLE_PREFIX)):
                good = here
        size = os.fstat(file).st_size
    if size > good:
        try:
            os.ftruncate(file, good)
        except OSError as error:
            raise StoreError(f"{path}: cannot cut off the torn tail: {error.strerror}") from None
    return good
