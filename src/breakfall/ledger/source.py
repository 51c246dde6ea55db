"""Where the lines of a ledger are read from: its segments, in whatever keeps them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger import blobs
from breakfall.ledger.chain import ENVELOPE
from breakfall.ledger.line import (
    DECODER,
    PACKED_SUFFIX,
    Header,
    Line,
    check_header,
    segment_name,
    segment_path,
    segment_paths,
)
from breakfall.ledger.pack import open_segment, size
from breakfall.vocab import Step


class Raw(Struct, frozen=True):
    """One whole line as it is stored."""

    at: int
    """Where it begins in its segment."""
    next: int
    """Where the next one begins."""
    line: bytes


class Source(Protocol):
    """The record of truth: segments of lines, which only grow."""

    @property
    def name(self) -> str:
        """Where it is, for messages; no password."""
        ...

    def segments(self) -> dict[str, int]:
        """Return the segments by name, in order, each with how far it reaches."""
        ...

    def place(self, segment: str) -> str:
        """Return where a segment is, for messages."""
        ...

    def lines(self, segment: str, start: int = 0) -> Iterator[Raw]:
        """Yield the whole lines of a segment from a place on, its header included.

        Raises:
            StoreError: It cannot be read, or is no segment that this breakfall knows.
        """
        ...

    def pick(self, segment: str, places: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (place, line) for the lines that begin at these places, which ascend.

        Raises:
            StoreError: The segment cannot be read.
        """
        ...

    def torn(self, segment: str) -> bytes:
        """Return what stands behind the last whole line."""
        ...

    def value(self, segment: str, at: int, digest: str) -> bytes:
        """Read the JSON of a large value from its place beside a segment.

        Raises:
            StoreError: It is not there, or is another one.
        """
        ...


class FolderSource:
    """Segments in a ledger's folder, plain or packed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder)

    def segments(self) -> dict[str, int]:
        """Return the segments by name; see `Source`."""
        return {segment_name(path): size(path) for path in segment_paths(self.folder)}

    def place(self, segment: str) -> str:
        """Return the file of a segment, for messages."""
        return str(self.path(segment))

    def path(self, segment: str) -> Path:
        """Return the file of a segment.

        Raises:
            StoreError: It is gone.
        """
        plain = segment_path(self.folder, segment)
        for path in (plain, plain.with_name(segment + PACKED_SUFFIX)):
            if path.exists():
                return path
        raise StoreError(f"{self.folder}: segment {segment} is gone; delete the index, or restore the segment")

    def lines(self, segment: str, start: int = 0) -> Iterator[Raw]:
        """Yield whole lines; see `Source`."""
        path = self.path(segment)
        try:
            with open_segment(path) as stream:
                at = stream.seek(start)
                for line in stream:
                    if not line.endswith(b"\n"):
                        return  # torn by a kill or a full disk, or being written: not acknowledged
                    if at == 0:
                        check_header(path, line)
                    yield Raw(at, at + len(line), line)
                    at += len(line)
        except OSError as error:
            raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None

    def pick(self, segment: str, places: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the lines at these places; see `Source`."""
        path = self.path(segment)
        try:
            with open_segment(path) as stream:
                for at in places:
                    stream.seek(at)
                    yield at, stream.readline()
        except OSError as error:
            raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None

    def torn(self, segment: str) -> bytes:
        """Return what stands behind the last whole line; see `Source`."""
        with open_segment(self.path(segment)) as stream:
            last: deque[bytes] = deque(stream, maxlen=1)
        return b"" if not last or last[0].endswith(b"\n") else last[0]

    def value(self, segment: str, at: int, digest: str) -> bytes:
        """Read a large value; see `Source`."""
        path = blobs.blob_path(self.path(segment), segment)
        try:
            with path.open("rb") as stream:
                return blobs.read(stream, str(path), at, digest)
        except OSError as error:
            raise StoreError(f"{path}: cannot read a large value: {error.strerror}") from None


def header(source: Source, segment: str) -> Header | None:
    """Return a segment's header; None where it is not written whole yet.

    Raises:
        StoreError: It is none.
    """
    for raw in source.lines(segment):
        line = DECODER.decode(raw.line)
        assert isinstance(line, Header)
        return line
    return None


def decode(source: Source, segment: str, raw: bytes) -> Line:
    """Decode a line, with its large values where they belong.

    Raises:
        StoreError: It is damaged, or a large value is.
    """
    try:
        line = DECODER.decode(raw)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{source.place(segment)}: a line is damaged: {error}; restore the file") from None
    return whole(source, segment, raw, line) if isinstance(line, Step) and line.blobs else line


def whole(source: Source, segment: str, raw: bytes, step: Step) -> Step:
    """Put a step's large values back.

    Raises:
        StoreError: A value is damaged or gone.
    """
    places = ENVELOPE.decode(raw).blob_at
    if len(places) != len(step.blobs):
        return step  # its values are kept by someone else
    read = [source.value(segment, at, blob.digest) for at, blob in zip(places, step.blobs, strict=True)]
    return blobs.put_back(step, read)


def read_steps(source: Source) -> Iterator[Step]:
    """Yield every step of a ledger, whole, segment by segment.

    Raises:
        StoreError: A line or a large value is damaged.
    """
    for segment in source.segments():
        for raw in source.lines(segment):
            line = decode(source, segment, raw.line)
            if isinstance(line, Step):
                yield line
