"""Export: steps and what the watchdog said of them, whole, in the order of the segments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger.line import ENCODER, Closed, Header
from breakfall.ledger.severity import severity
from breakfall.ledger.source import Source, decode
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

Exported: TypeAlias = Step | EpisodeEnd | StepVerdict | Incident


class Part(Struct, frozen=True, kw_only=True):
    """Which lines are exported; None means all."""

    run: str | None = None
    since_s: float | None = None
    """Lines from this time on, in seconds since 1970; lines that hold no time are not of any."""
    until_s: float | None = None

    def holds(self, line: Exported) -> bool:
        """Whether a line is one of them."""
        if self.run is not None and self.run not in (getattr(line, "run", ""), line.episode):
            return False
        unix_s: float | None = getattr(line, "unix_s", None)
        if self.since_s is not None and (unix_s is None or unix_s < self.since_s):
            return False
        return self.until_s is None or (unix_s is not None and unix_s < self.until_s)


class Count(Struct, kw_only=True):
    """What was exported."""

    steps: int = 0
    verdicts: int = 0
    others: int = 0


def lines(source: Source, part: Part) -> Iterator[Exported]:
    """Yield the lines of a part, steps with their large values.

    Raises:
        StoreError: A line or a value is damaged.
    """
    for segment in source.segments():
        for raw in source.lines(segment):
            line = decode(source, segment, raw.line)
            if not isinstance(line, Header | Closed | NotApplicable) and part.holds(line):
                yield line


def counted(line: Exported, count: Count) -> None:
    """Count a line."""
    if isinstance(line, Step):
        count.steps += 1
    elif isinstance(line, StepVerdict | Incident):
        count.verdicts += 1
    else:
        count.others += 1


def to_jsonl(source: Source, stream: BinaryIO, part: Part) -> Count:
    """Write one JSON object a line: the lines of the ledger without their seals, each step with its severity.

    Raises:
        StoreError: A line is damaged.
    """
    count = Count()
    for line in lines(source, part):
        raw = ENCODER.encode(line)
        if isinstance(line, Step):
            raw = b'%b,"severity":"%b"}' % (raw[:-1], severity(line).value.encode())
        stream.write(raw + b"\n")
        counted(line, count)
    return count


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a path to write to, which takes the place of `path` once all is written.

    Raises:
        StoreError: It cannot be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: the export cannot be written: {error.strerror}; nothing was left there") from None
    finally:
        part.unlink(missing_ok=True)


def jsonl_file(source: Source, path: Path, part: Part) -> Count:
    """Write a JSONL file; it is there whole or not at all.

    Raises:
        StoreError: A line is damaged, or the file cannot be written.
    """
    with replaced(path) as unfinished, unfinished.open("wb") as stream:
        count = to_jsonl(source, stream, part)
        stream.flush()
        os.fsync(stream.fileno())
        return count


def as_json(value: object) -> str:
    """Write a value as JSON text."""
    return msgspec.json.encode(value).decode()
