"""Letting go of old segments, and making closed ones small."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger import blobs
from breakfall.ledger.chain import ENVELOPE
from breakfall.ledger.line import CLOSED_PREFIX, PACKED_SUFFIX, Holds, check_header, segment_name, segment_paths
from breakfall.ledger.pack import open_segment, pack
from breakfall.ledger.repair import repair
from breakfall.ledger.sqlite import NAME, throw_away

PRUNED = "pruned.jsonl"


class Pruned(Struct, frozen=True, kw_only=True):
    """A segment that was dropped on purpose: where it ended, and what was in it."""

    segment: str
    seq: int
    chain: str
    steps: int
    newest_s: float | None
    pruned_s: float


class Pruning(Struct, frozen=True, kw_only=True):
    """What a pruning did, or would do."""

    dropped: tuple[Pruned, ...] = ()
    packed: tuple[str, ...] = ()
    kept: int = 0
    freed_bytes: int = 0


def pruned(folder: Path) -> dict[str, Pruned]:
    """Return the segments that were dropped on purpose, by name.

    Raises:
        StoreError: The list is damaged.
    """
    path = folder / PRUNED
    if not path.exists():
        return {}
    try:
        rows = msgspec.json.Decoder(Pruned).decode_lines(path.read_bytes())
    except (msgspec.MsgspecError, OSError) as error:
        raise StoreError(f"{path}: the list of pruned segments cannot be read: {error}; restore the file") from None
    return {row.segment: row for row in rows}


def prune(
    folder: Path,
    *,
    older_s: float | None = None,
    pack_older_s: float | None = None,
    dry: bool = False,
    now: Callable[[], float] = time.time,  # noqa: TID251 - age is counted in real time
) -> Pruning:
    """Drop segments of steps whose newest step is old, and pack closed ones.

    Only whole closed segments go, so that the hash chain of what is kept stays whole. What went is noted in
    ``pruned.jsonl``. The index is thrown away if a segment went, and built anew at the next question.

    Args:
        folder: The ledger's folder.
        older_s: Drop segments all of whose steps began longer ago than this; None drops nothing.
        pack_older_s: Compress closed segments likewise; None packs nothing.
        dry: Change nothing; say what would be done.
        now: The time in seconds since 1970.

    Raises:
        StoreError: A segment cannot be read, or the folder cannot be written.
    """
    now_s = now()
    gone = pruned(folder)
    dropped, packed, kept, freed = [], [], 0, 0
    if not dry:
        repair(folder, every=True)
    for path in segment_paths(folder):
        end = _end(path, now_s)
        if end is None:
            kept += 1
            continue
        age_s = now_s - (end.newest_s if end.newest_s is not None else path.stat().st_mtime)
        if older_s is not None and age_s > older_s:
            freed += sum(file.stat().st_size for file in _files(path))
            dropped.append(end)
            if not dry:
                _drop(folder, path, end, noted=end.segment in gone)
            continue
        kept += 1
        if pack_older_s is not None and age_s > pack_older_s and not path.name.endswith(PACKED_SUFFIX):
            before = path.stat().st_size
            packed.append(end.segment)
            if not dry:
                freed += before - pack(path).stat().st_size
    return Pruning(dropped=tuple(dropped), packed=tuple(packed), kept=kept, freed_bytes=freed)


class _When(Struct):
    """As much of a line as tells when it was."""

    line: str
    unix_s: float | None = None


_WHEN = msgspec.json.Decoder(_When)


def _when(path: Path, line: bytes) -> _When:
    try:
        return _WHEN.decode(line)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{path}: a line is damaged ({error}), so the segment is kept; `breakfall ledger verify` names it"
        ) from None


def _end(path: Path, now_s: float) -> Pruned | None:
    """Return where a closed segment of steps ended; None for one that is open or holds episodes."""
    newest_s: float | None = None
    steps, last, first = 0, b"", b""
    with open_segment(path) as stream:
        for line in stream:
            if not first:
                first = line
                if check_header(path, line).holds is not Holds.STEPS:
                    return None
            last = line
            found = _when(path, line)
            if found.line == "step":
                steps += 1
                if found.unix_s is not None and (newest_s is None or found.unix_s > newest_s):
                    newest_s = found.unix_s
    if not last.startswith(CLOSED_PREFIX):
        return None
    envelope = ENVELOPE.decode(last)
    return Pruned(
        segment=segment_name(path),
        seq=envelope.seq,
        chain=envelope.chain,
        steps=steps,
        newest_s=newest_s,
        pruned_s=round(now_s, 3),
    )


def _files(path: Path) -> list[Path]:
    """Return the files that a segment consists of."""
    values = blobs.blob_path(path, segment_name(path))
    return [path, values] if values.exists() else [path]


def _drop(folder: Path, path: Path, end: Pruned, *, noted: bool) -> None:
    """Note that a segment goes, then let it go."""
    try:
        if not noted:
            with (folder / PRUNED).open("ab") as stream:
                stream.write(msgspec.json.encode(end) + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        throw_away(folder / NAME)
        for file in _files(path):
            file.unlink()
    except OSError as error:
        raise StoreError(f"{path}: cannot be dropped: {error.strerror}") from None
