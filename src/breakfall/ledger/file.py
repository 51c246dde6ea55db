"""One segment as a file that is appended to: all of a write or nothing of it, sealed, and on disk when asked.

What an append has returned from survives a kill of the process. A kill or a full disk can leave a torn tail, never a
hole before it: readers pass over the tail, and whoever opens the segment next cuts it off.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger import blobs
from breakfall.ledger.chain import ENVELOPE, START, carried, seal
from breakfall.ledger.line import (
    CHAINED,
    CLOSED_PREFIX,
    ENCODER,
    END_PREFIX,
    NOT_APPLICABLE_PREFIX,
    Header,
    Holds,
    check_header,
)

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class SegmentHeldError(StoreError):
    """Another process writes the segment."""


class Tail(Struct, frozen=True, kw_only=True):
    """Where the good part of a segment ends."""

    length: int
    seq: int
    link: bytes
    header: Header
    ended: bool
    """Whether its last line closes it."""
    cut_bytes: int = 0
    """What stood behind the good part."""


class SegmentFile:
    """A segment that this process holds; not for several threads at once, but for `sync`.

    Attributes:
        path: The segment's file.
        name: Its name.
        end: How many bytes of it are acknowledged.
        seq: The number of its last line; -1 where it has none.
        link: The hash of its last line.
        found: What was there when it was opened; None for a new segment.
    """

    def __init__(self, path: Path, header: Header, mark: Path | None = None) -> None:
        """Open a segment for appending: a new one with this header, or the one that is there, mended.

        Args:
            path: The segment's file; it is made if it is not there.
            header: What a new one begins with.
            mark: A file that is made first, and says that the segment is open.

        Raises:
            SegmentHeldError: Another process writes it.
            StoreError: It cannot be opened or written, or is damaged.
        """
        self.path = path
        self.name = path.stem
        self.end, self.seq, self.link = 0, -1, START
        self._blobs = -1
        self._blob_end = 0
        self._synced = 0
        self._syncing = threading.Lock()
        self._broken = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if mark is not None:
                mark.touch()
            self._file = os.open(path, _FLAGS, 0o644)
        except OSError as error:
            raise StoreError(f"{path}: cannot open the segment: {error.strerror}") from None
        try:
            self._begin(header)
        except BaseException:
            self.close()
            raise

    def _begin(self, header: Header) -> None:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise StoreError(f"{self.path}: is no regular file; remove it")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SegmentHeldError(
                f"{self.path}: another process writes this segment; wait for it, or choose another folder"
            ) from None
        tail = self.found = mend(self._file, self.path)
        if tail is None:
            self._sealed = True
            self.append([ENCODER.encode(header)])
            return
        self.end, self.seq, self.link = tail.length, tail.seq, tail.link
        self._sealed = tail.header.format >= CHAINED

    def append(self, bodies: Sequence[bytes]) -> None:
        """Append lines at once, all of them or none, each sealed.

        Args:
            bodies: One JSON object each, without a line feed.

        Raises:
            StoreError: They could not be written; what was acknowledged before is untouched.
        """
        if not self._sealed:
            self._write(b"\n".join([*bodies, b""]), self.seq + len(bodies), self.link)
            return
        seq, link, lines = self.seq, self.link, []
        for body in bodies:
            seq += 1
            line, link = seal(body, seq, link)
            lines.append(line)
        self._write(b"".join(lines), seq, link)

    def append_together(self, text: bytes, lines: int) -> None:
        """Append lines that are nothing without each other, sealed in the last of them.

        Args:
            text: The lines, each with its line feed.
            lines: How many.

        Raises:
            StoreError: They could not be written; what was acknowledged before is untouched.
        """
        data, link = seal(text[:-1], self.seq + lines, self.link) if self._sealed else (text, self.link)
        self._write(data, self.seq + lines, link)

    def append_large(self, body: bytes, values: Sequence[bytes]) -> None:
        """Append one line whose large values stand beside it, those first.

        Args:
            body: The line's JSON object.
            values: The JSON of each of its blobs, in their order.

        Raises:
            StoreError: They could not be written; what was acknowledged before is untouched.
        """
        at, records = [], [blobs.pack(value) for value in values]
        here = self._open_blobs()
        for record in records:
            at.append(here)
            here += len(record)
        self._put(self._blobs, b"".join(records), self._blob_end)
        self._blob_end = here
        line, link = seal(body, self.seq + 1, self.link, at)
        self._write(line, self.seq + 1, link)

    def sync(self, end: int) -> None:
        """Return once the first `end` bytes, and the blobs of their lines, are on disk; one sync serves all who wait.

        Raises:
            StoreError: The disk refused. Nobody can tell then what is on it, so the segment takes nothing more.
        """
        if self._synced >= end:
            return
        with self._syncing:
            if self._synced >= end:
                return
            self._check()
            reached = self.end
            try:
                if self._blobs >= 0:
                    _sync(self._blobs)
                _sync(self._file)
            except OSError as error:
                self._broken = f"the disk refused to store what was written: {error.strerror}"
                self._check()
            self._synced = reached

    @property
    def closed(self) -> bool:
        """Whether the segment was let go of."""
        return self._file < 0

    def close(self) -> None:
        """Let go of the segment; closing twice is allowed."""
        with self._syncing:
            self.forget()

    def forget(self) -> None:
        """Let go without waiting for a sync: in a forked child, whose copy of the lock nobody gives back."""
        for file in (self._file, self._blobs):
            if file >= 0:
                os.close(file)
        self._file = self._blobs = -1

    def _write(self, data: bytes, seq: int, link: bytes) -> None:
        """Write whole lines at the end and move the end behind them."""
        before = self.end, self.seq, self.link
        try:
            self._put(self._file, data, self.end)
            self.end, self.seq, self.link = self.end + len(data), seq, link
        except StoreError:
            raise
        except BaseException:  # Ctrl-C between the write and the note of it
            self.end, self.seq, self.link = before
            self._cut_back(self._file, self.end)
            raise

    def _put(self, file: int, data: bytes, end: int) -> None:
        """Write all of `data` behind `end`, or leave the file as it was."""
        if self._broken:
            self._check()
        try:
            written = os.write(file, data)
            while written < len(data):  # a nearly full disk takes a part first and refuses the rest
                written += os.write(file, data[written:])
        except OSError as error:
            self._cut_back(file, end)
            raise StoreError(
                f"{self.path}: cannot write {len(data)} bytes: {error.strerror}; the {self.end} bytes before them are "
                "kept. Make room, then run the same command again to go on"
            ) from None

    def _cut_back(self, file: int, end: int) -> None:
        """Take back a part of a write; where the file refuses, nothing may follow it."""
        try:
            os.ftruncate(file, end)
        except OSError as error:
            self._broken = f"a part of a line could not be taken back: {error.strerror}"

    def _check(self) -> None:
        if self._broken:
            raise StoreError(
                f"{self.path}: {self._broken}; the segment takes nothing more. Check the disk, then open the ledger "
                "again: what was acknowledged before is kept"
            )

    def _open_blobs(self) -> int:
        """Return where the next blob will stand."""
        if self._blobs < 0:
            path = blobs.blob_path(self.path, self.name)
            try:
                self._blobs = os.open(path, _FLAGS, 0o644)
                self._blob_end = os.fstat(self._blobs).st_size
            except OSError as error:
                raise StoreError(f"{path}: cannot open the file of large values: {error.strerror}") from None
        return self._blob_end


def mend(file: int, path: Path) -> Tail | None:
    """Cut off what follows the last whole line, or the last whole episode; return what is left, None if nothing.

    Raises:
        StoreError: The segment is damaged, or cannot be cut.
    """
    tail = find_tail(file, path)
    good = 0 if tail is None else tail.length
    if os.fstat(file).st_size > good:
        try:
            os.ftruncate(file, good)
        except OSError as error:
            raise StoreError(f"{path}: cannot cut off the torn tail: {error.strerror}") from None
    return tail


def find_tail(file: int, path: Path) -> Tail | None:
    """Find the end of the last whole line, or of the last whole episode; None where not even a header is there.

    Raises:
        StoreError: The header is of another kind, or the last line is damaged.
    """
    header: Header | None = None
    good, here, last = 0, 0, b""
    with open(file, "rb", closefd=False) as stream:
        for raw in stream:
            here += len(raw)
            if not raw.endswith(b"\n"):
                break
            if header is None:
                header = check_header(path, raw)
            elif header.holds is Holds.EPISODES and not raw.startswith((END_PREFIX, NOT_APPLICABLE_PREFIX)):
                continue
            good, last = here, raw
    if header is None:
        return None
    seq, link = _end_of_chain(path, header, last)
    ended = last.startswith(CLOSED_PREFIX)
    return Tail(length=good, seq=seq, link=link, header=header, ended=ended, cut_bytes=here - good)


def _end_of_chain(path: Path, header: Header, last: bytes) -> tuple[int, bytes]:
    if header.format < CHAINED:
        return -1, START
    link = carried(last)
    if link is None:
        raise StoreError(f"{path}: its last line is damaged; `breakfall ledger verify` says what is left")
    return ENVELOPE.decode(last).seq, link
