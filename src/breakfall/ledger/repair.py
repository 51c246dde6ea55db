"""Segments that a killed process left: their torn tail is cut off and a last line written.

While a segment is written an empty file ``<name>.open`` stands beside it, so that a writer that starts need not look
into every segment that ever was.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger.file import SegmentFile, SegmentHeldError
from breakfall.ledger.line import (
    CLOSED_PREFIX,
    ENCODER,
    FORMAT,
    SEGMENTS,
    SUFFIX,
    Closed,
    Header,
    Holds,
    check_header,
    segment_name,
    segment_paths,
)

_LOOKED_AT = 4096
_OPEN = ".open"


class Repaired(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A segment that was mended, or could not be."""

    segment: str
    cut_bytes: int = 0
    """Of a line that was not written whole, and so never acknowledged."""
    problem: str = ""


def marker(path: Path) -> Path:
    """Return the file that stands beside a segment while it is written."""
    return path.with_name(f"{segment_name(path)}{_OPEN}")


def repair(folder: Path, *, every: bool = False) -> list[Repaired]:
    """Mend and close the segments of steps that nobody writes any more.

    One that is damaged otherwise is left as it is and named: it must keep nobody from writing.

    Args:
        folder: The ledger's folder.
        every: Look into every segment, not only where a mark says that it is open.
    """
    if every:
        paths = [path for path in segment_paths(folder) if path.suffix == SUFFIX]
    else:
        marks = sorted((folder / SEGMENTS).glob(f"*{_OPEN}"))
        paths = [path for mark in marks if (path := mark.with_suffix(SUFFIX)).exists()]
    found = []
    for path in paths:
        name = segment_name(path)
        try:
            if _is_open(path):
                mended = _close(path, name)
                if mended is not None:
                    found.append(mended)
            marker(path).unlink(missing_ok=True)
        except SegmentHeldError:
            continue
        except StoreError as error:
            found.append(Repaired(segment=name, problem=str(error)))
    return found


def _close(path: Path, name: str) -> Repaired | None:
    """Hold a segment and close it; None if another process was faster."""
    file = SegmentFile(path, Header(format=FORMAT, holds=Holds.STEPS, segment=name))
    try:
        if file.found is None or file.found.ended:
            return None
        file.append([ENCODER.encode(Closed(repaired=True))])
        file.sync(file.end)
        return Repaired(segment=name, cut_bytes=file.found.cut_bytes)
    finally:
        file.close()


def _is_open(path: Path) -> bool:
    """Whether a segment holds steps and does not end with a closing line; only its two ends are read."""
    try:
        with path.open("rb") as stream:
            first = stream.readline()
            if not first.endswith(b"\n") or check_header(path, first).holds is not Holds.STEPS:
                return False
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LOOKED_AT))
            return not stream.read().splitlines(keepends=True)[-1].startswith(CLOSED_PREFIX)
    except OSError as error:
        raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None
