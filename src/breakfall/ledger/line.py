"""The lines of a ledger: their format, its version, and how they become bytes.

A ledger's folder holds ``segments/<name>.jsonl``, one append-only file per writing process. The first line of a segment
is a `Header`, which says what follows:

- *episodes*, from a bench: an episode is its step lines and then its end line, written at once, so it is complete
  exactly if its end line is there. No line holds wall-clock time, a process id or a machine's name: the same episodes
  in the same order give the same bytes.
- *steps*, from production: each line stands for itself, and a `Closed` line ends a segment that was left in order.
  What the watchdog says (`breakfall.ledger.verdict`) stands in such segments of its own.

Format 1 has episodes only and no hash chain (`breakfall.ledger.chain`); it is read, and continued where it was begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from breakfall.errors import RunError, StoreError
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

FORMAT = 2
"""Lines gain fields with defaults and never lose one; anything else raises this number."""
CHAINED = 2
"""The first format with a hash chain."""

SEGMENTS = "segments"
END_PREFIX = b'{"line":"end"'
NOT_APPLICABLE_PREFIX = b'{"line":"not_applicable"'
CLOSED_PREFIX = b'{"line":"closed"'
SUFFIX = ".jsonl"
PACKED_SUFFIX = ".jsonl.gz"
_NO_JSON = (TypeError, ValueError, OverflowError, RecursionError)
"""What the encoder raises for something that JSON has no form for."""


class Holds(StrEnum):
    """What the lines of a segment are."""

    EPISODES = "episodes"
    STEPS = "steps"


class Link(Struct, frozen=True, kw_only=True):
    """The end of another segment: of the one that the same process wrote before this one."""

    segment: str
    seq: int
    chain: str


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="header", tag_field="line"):
    """The first line of every segment."""

    format: int
    holds: Holds = Holds.EPISODES
    segment: str = ""
    """The segment's own name, so that a renamed file is noticed; "" for episodes."""
    after: Link | None = None


class Closed(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="closed", tag_field="line"):
    """The last line of a segment of steps: nothing follows, so a shorter segment has lost something."""

    repaired: bool = False
    """Its process was killed; a later one wrote this line."""


Line: TypeAlias = Header | Step | EpisodeEnd | NotApplicable | StepVerdict | Incident | Closed

ENCODER = msgspec.json.Encoder()
DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def segment_path(folder: Path, name: str) -> Path:
    """Return where the segment `name` is written in a ledger's folder."""
    return folder / SEGMENTS / f"{name}{SUFFIX}"


def segment_name(path: Path) -> str:
    """Return the name of the segment that a file holds."""
    return path.name.removesuffix(PACKED_SUFFIX).removesuffix(SUFFIX)


def segment_paths(folder: Path) -> list[Path]:
    """Return the segments of a ledger's folder in the order of their names; none if there is no such folder.

    A segment that stands there both plain and packed counts once, plain: packing it was cut short.
    """
    found = {segment_name(path): path for path in (folder / SEGMENTS).glob(f"*{PACKED_SUFFIX}")}
    found |= {segment_name(path): path for path in (folder / SEGMENTS).glob(f"*{SUFFIX}")}
    return [found[name] for name in sorted(found)]


def encode(line: Line) -> bytes:
    """Encode one line, without a line feed.

    Raises:
        RunError: Something in it is no JSON value.
    """
    try:
        return ENCODER.encode(line)
    except _NO_JSON as error:
        what = f"step {line.n} of {line.episode}" if isinstance(line, Step) else f"a line ({type(line).__name__})"
        raise _no_json(what, error) from None


def encode_episode(steps: Sequence[Step], end: EpisodeEnd) -> bytes:
    """Encode an episode as text; a segment holds the same, sealed in its last line.

    Raises:
        RunError: Something in it is no JSON value.
    """
    try:
        return ENCODER.encode_lines([*steps, end])
    except _NO_JSON as error:
        raise _no_json(f"episode {end.episode}", error) from None


def _no_json(what: str, error: Exception) -> RunError:
    return RunError(f"{what} holds something that cannot be written as JSON: {type(error).__name__}: {error}")


def check_header(path: Path, first: bytes) -> Header:
    """Make sure that a segment's first line is one that we can read on from, and return it.

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
    return header


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
