"""Closed segments, compressed: gzip in members of about a megabyte, so that any line can be read without the rest.

``zcat`` reads such a file. Each member's header says, in an extra field, how long the member is packed and unpacked;
from these a reader knows where every byte of the segment stands.
"""

from __future__ import annotations

import os
import struct
import zlib
from bisect import bisect_right
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO

from breakfall.errors import StoreError
from breakfall.ledger.line import PACKED_SUFFIX, segment_name

_MEMBER = 1024 * 1024
_LEVEL = 6
_HEAD = struct.Struct("<4sIBBH2sHII")
"""Magic, flags, time, more flags, system, length of the extra field; its id, its length, packed and unpacked bytes."""
_TAIL = struct.Struct("<II")
_MAGIC = b"\x1f\x8b\x08\x04"
_ID = b"bf"


def pack(path: Path) -> Path:
    """Compress a segment that nobody writes; the plain file goes once the packed one is on disk.

    Raises:
        StoreError: It cannot be read or written.
    """
    packed = path.with_name(segment_name(path) + PACKED_SUFFIX)
    part = packed.with_name(packed.name + ".part")
    try:
        with path.open("rb") as source, part.open("wb") as target:
            while lines := source.readlines(_MEMBER):
                target.write(_member(b"".join(lines)))
            target.flush()
            os.fsync(target.fileno())
        part.rename(packed)
        path.unlink()
    except OSError as error:
        raise StoreError(f"{path}: cannot be packed: {error.strerror}; it is left as it was") from None
    return packed


def _member(raw: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = deflate.compress(raw) + deflate.flush()
    length = _HEAD.size + len(data) + _TAIL.size
    head = _HEAD.pack(_MAGIC, 0, 0, 255, _HEAD.size - 12, _ID, 8, length, len(raw))
    return head + data + _TAIL.pack(zlib.crc32(raw), len(raw))


def open_segment(path: Path) -> BinaryIO:
    """Open a segment for reading, plain or packed; positions are those of the plain one.

    Raises:
        StoreError: It cannot be read, or is no packed segment.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None
    if not path.name.endswith(PACKED_SUFFIX):
        return stream
    try:
        return BufferedReader(_Packed(stream, path), 65536)
    except BaseException:
        stream.close()
        raise


def size(path: Path) -> int:
    """Return the length of a segment, unpacked.

    Raises:
        StoreError: It cannot be read.
    """
    if not path.name.endswith(PACKED_SUFFIX):
        return path.stat().st_size
    with open_segment(path) as stream:
        return stream.seek(0, os.SEEK_END)


class _Packed(RawIOBase):
    """A packed segment, read as if it were plain."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._starts: list[int] = []
        self._places: list[tuple[int, int]] = []
        self._length = 0
        self._here = 0
        self._member = (-1, b"")
        at = 0
        while head := stream.read(_HEAD.size):
            packed, unpacked = self._checked(head)
            self._starts.append(self._length)
            self._places.append((at, packed))
            self._length += unpacked
            at = stream.seek(at + packed)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place of the plain segment."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._here, os.SEEK_END: self._length}[whence]
        self._here = base + offset
        return self._here

    def tell(self) -> int:
        """Return the place in the plain segment."""
        return self._here

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read up to the end of the member that holds the place."""
        if self._here >= self._length:
            return 0
        nth = bisect_right(self._starts, self._here) - 1
        if self._member[0] != nth:
            self._member = (nth, self._unpacked(*self._places[nth]))
        raw = self._member[1]
        start = self._here - self._starts[nth]
        part = raw[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._here += len(part)
        return len(part)

    def close(self) -> None:
        """Close the file beneath."""
        self._stream.close()
        super().close()

    def _checked(self, head: bytes) -> tuple[int, int]:
        if len(head) == _HEAD.size:
            magic, _, _, _, _, name, _, packed, unpacked = _HEAD.unpack(head)
            if magic == _MAGIC and name == _ID and packed > _HEAD.size:
                return packed, unpacked
        raise StoreError(f"{self._path}: is no packed segment, or is cut off; restore the file")

    def _unpacked(self, at: int, length: int) -> bytes:
        self._stream.seek(at)
        member = self._stream.read(length)
        try:
            raw = zlib.decompress(member[_HEAD.size : -_TAIL.size], -zlib.MAX_WBITS)
        except zlib.error as error:
            raise StoreError(f"{self._path}: the member at byte {at} is damaged ({error}); restore the file") from None
        if zlib.crc32(raw) != _TAIL.unpack(member[-_TAIL.size :])[0]:
            raise StoreError(f"{self._path}: the member at byte {at} is damaged; restore the file")
        return raw
