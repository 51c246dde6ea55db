"""Reading segments: whole episodes in order, and which episodes are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.line import (
    DECODER,
    END_PREFIX,
    NOT_APPLICABLE_PREFIX,
    Holds,
    check_header,
    segment_paths,
)
from breakfall.ledger.pack import open_segment
from breakfall.vocab import EpisodeEnd, NotApplicable, Step


class Stored(Struct, frozen=True, kw_only=True):
    """One complete episode and where it stands."""

    segment: Path
    offset: int
    length: int
    end: EpisodeEnd
    steps: list[Step]
    step_lengths: list[int]
    """Bytes of each step line, in order; the first begins at `offset`."""


class _EndName(Struct, frozen=True, tag="end", tag_field="line"):
    """As much of an end line as names the episode."""

    episode: str


_END_NAME = msgspec.json.Decoder(_EndName)


def lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (line number, offset, line) for each complete line of a segment of episodes after its header.

    Raises:
        StoreError: The header is missing or unknown, or the file cannot be read.
        UsageError: The segment holds single steps.
    """
    offset = 0
    try:
        with open_segment(path) as stream:
            for number, raw in enumerate(stream, 1):
                if not raw.endswith(b"\n"):
                    return  # torn by a kill or a full disk: never acknowledged
                if number == 1:
                    if check_header(path, raw).holds is not Holds.EPISODES:
                        raise UsageError(
                            f"{path}: holds single steps, not episodes; look at it with `breakfall ledger`"
                        )
                else:
                    yield number, offset, raw
                offset += len(raw)
    except OSError as error:
        raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None


def decode(path: Path, number: int, raw: bytes) -> Step | EpisodeEnd | NotApplicable:
    """Decode one line.

    Raises:
        StoreError: It is none of the lines that follow a header.
    """
    try:
        line = DECODER.decode(raw)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path}: line {number} is damaged: {error}; restore the file or remove it") from None
    if not isinstance(line, Step | EpisodeEnd | NotApplicable):
        raise StoreError(f"{path}: line {number} is no part of an episode; restore the file or remove it")
    return line


def stored(path: Path) -> Iterator[Stored | NotApplicable]:
    """Yield what one segment holds, in order; step lines without an end line at its tail are passed over.

    Raises:
        StoreError: The segment is damaged before its tail.
    """
    steps: list[Step] = []
    lengths: list[int] = []
    for number, offset, raw in lines(path):
        line = decode(path, number, raw)
        if isinstance(line, Step):
            steps.append(line)
            lengths.append(len(raw))
            continue
        if isinstance(line, NotApplicable):
            _whole(path, number, "", 0, steps)
            yield line
            continue
        _whole(path, number, line.episode, line.steps, steps)
        before = sum(lengths)
        yield Stored(
            segment=path,
            offset=offset - before,
            length=before + len(raw),
            end=line,
            steps=steps,
            step_lengths=lengths,
        )
        steps, lengths = [], []


def _whole(path: Path, number: int, episode: str, count: int, steps: list[Step]) -> None:
    """Refuse an end line that does not fit the step lines before it."""
    strangers = [step.episode for step in steps if step.episode != episode]
    if strangers:
        raise StoreError(f"{path}: line {number} follows steps of episode {strangers[0]!r} that has no end line")
    if len(steps) != count:
        raise StoreError(f"{path}: line {number} ends {episode!r} with {count} steps, but {len(steps)} stand before it")


def read_all(folder: Path) -> Iterator[Stored | NotApplicable]:
    """Yield everything that a run folder holds, segment by segment.

    Raises:
        StoreError: A segment is damaged, or an episode stands there twice.
    """
    seen: dict[str, Path] = {}
    for path in segment_paths(folder):
        for item in stored(path):
            name = item.key.id if isinstance(item, NotApplicable) else item.end.episode
            if name in seen:
                raise StoreError(
                    f"episode {name} stands twice: in {seen[name]} and in {path}; remove one of the segments"
                )
            seen[name] = path
            yield item


def read_episodes(folder: Path) -> Iterator[tuple[EpisodeEnd, list[Step]]]:
    """Yield every complete episode of a run folder with its steps.

    Raises:
        StoreError: A segment is damaged, or an episode stands there twice.
    """
    for item in read_all(folder):
        if isinstance(item, Stored):
            yield item.end, item.steps


def read_not_applicable(folder: Path) -> Iterator[NotApplicable]:
    """Yield every episode of a run folder that its scenario does not exist for.

    Raises:
        StoreError: A segment is damaged, or an episode stands there twice.
    """
    for item in read_all(folder):
        if isinstance(item, NotApplicable):
            yield item


def names(path: Path, start: int = 0) -> set[str]:
    """Return the names of the episodes that a segment holds, not applicable ones included.

    Args:
        path: The segment; one that does not exist holds none.
        start: Pass over what begins before this offset.

    Raises:
        StoreError: The segment is damaged.
    """
    if not path.exists():
        return set()
    found: set[str] = set()
    for number, offset, raw in lines(path):
        if offset < start:
            continue
        if raw.startswith(END_PREFIX):
            found.add(_decoded(path, number, raw).episode)
        elif raw.startswith(NOT_APPLICABLE_PREFIX):
            line = decode(path, number, raw)
            assert isinstance(line, NotApplicable)
            found.add(line.key.id)
    return found


def _decoded(path: Path, number: int, raw: bytes) -> Any:
    try:
        return _END_NAME.decode(raw)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path}: line {number} is damaged: {error}; restore the file or remove it") from None


def complete(folder: Path) -> set[str]:
    """Return the names of every episode that a run folder holds.

    Raises:
        StoreError: A segment is damaged.
    """
    return {name for path in segment_paths(folder) for name in names(path)}
