"""The lines of a ledger: their format, its version, and how they become bytes.

A run folder holds ``segments/<worker>.jsonl``, one append-only file per writing process. The first line of a segment
is a `Header`. An episode is its step lines and then its end line, written at once, so it is complete exactly if its end
line is there. No line holds wall-clock time, a process id or a machine's name: the same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from breakfall.errors import RunError, StoreError
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

FORMAT = 1
"""Lines gain fields with defaults and never lose one; anything else raises this number."""

SEGMENTS = "segments"
END_PREFIX = b'{"line":"end"'
NOT_APPLICABLE_PREFIX = b'{"line":"not_applicable"'
_SUFFIX = ".jsonl"
_NO_JSON = (TypeError, ValueError, OverflowError, RecursionError)
"""What the encoder raises for something that JSON has no form for."""


class Header(Struct, frozen=True, kw_only=True, tag="header", tag_field="line"):
    """The first line of every segment."""

    format: int


Line: TypeAlias = Header | Step | EpisodeEnd | NotApplicable

ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def segment_path(folder: Path, worker: str) -> Path:
    """Return where `worker` writes in a run folder."""
    return folder / SEGMENTS / f"{worker}{_SUFFIX}"


def segment_paths(folder: Path) -> list[Path]:
    """Return the segments of a run folder in the order of their names; none if there is no such folder."""
    return sorted((folder / SEGMENTS).glob(f"*{_SUFFIX}"))


def encode_episode(steps: Sequence[Step], end: EpisodeEnd) -> bytes:
    """Encode an episode as it stands in a segment.

    Raises:
        RunError: Something in it is no JSON value.
    """
    try:
        return ENCODER.encode_lines([*steps, end])
    except _NO_JSON as error:
        raise RunError(
            f"episode {end.episode} holds something that cannot be written as JSON: {type(error).__name__}: {error}"
        ) from None


def check_header(path: Path, first: bytes) -> None:
    """Make sure that a segment's first line is one that we can read on from.

    Raises:
        StoreError: It is not.
    """
    try:
        header = DECODER.decode(first)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"{path}: line 1 is not a segment's header ({error}); the file is damaged or no ledger"
        ) from None
    if not isinstance(header, Header):
        raise StoreError(f"{path}: line 1 is not a segment's header; the file is damaged or no ledger")
    if header.format > FORMAT:
        raise StoreError(
            f"{path}: written in ledger format {header.format}, this breakfall reads up to {FORMAT}; use a newer one"
        )


def check_readable(steps: Sequence[Step], end: EpisodeEnd) -> None:
    """Make sure that an episode of foreign making can be read back; constructors do not look at types.

    Raises:
        RunError: Something in it is no JSON value, or not of the type that its field says.
    """
    raw = encode_episode(steps, end)
    try:
        DECODER.decode_lines(raw)
    except msgspec.MsgspecError as error:
        raise RunError(f"episode {end.episode} holds something of a wrong type: {error}") from None
