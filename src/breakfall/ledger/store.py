"""A ledger opened for reading: its lines and the index that leads to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.follow import Database, LinesLostError, Progress, follow
from breakfall.ledger.line import Holds, segment_paths
from breakfall.ledger.retention import pruned
from breakfall.ledger.source import FolderSource, Source, decode
from breakfall.ledger.sqlite import NAME, SqliteDatabase, throw_away
from breakfall.vocab import Step


class Index(Database, Protocol):
    """A database that also answers SQL of someone's own."""

    def read_only(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run SQL that may change nothing; return the columns' names and the rows."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Ledger(Struct, frozen=True):
    """A ledger that questions are asked of."""

    source: Source
    db: Index

    def step(self, segment: str, position: int) -> Step:
        """Read one step whole from its place.

        Raises:
            StoreError: It is not there, or is damaged.
        """
        for raw in self.source.lines(segment, position):
            line = decode(self.source, segment, raw.line)
            if isinstance(line, Step):
                return line
            break
        raise StoreError(
            f"{self.source.name}: no step stands at {position} of segment {segment}; see `breakfall ledger verify`"
        )


@contextmanager
def open_folder(folder: Path, progress: Progress | None = None) -> Iterator[Ledger]:
    """Open the ledger in a folder, its index brought up to its segments.

    Where the folder cannot be written the index is built in memory.

    Raises:
        UsageError: No ledger is there.
        StoreError: Lines that were there are gone, or a segment is damaged.
    """
    if not segment_paths(folder):
        raise UsageError(f"{folder}: no ledger is here (no segments/*.jsonl)")
    source = FolderSource(folder)
    try:
        db = _brought_up(source, folder / NAME, progress)
    except (sqlite3.OperationalError, OSError):  # a read-only folder or a full disk: the index is no record
        db = SqliteDatabase(None)
        follow(source, db, progress)
    try:
        yield Ledger(source, db)
    finally:
        db.close()


def _brought_up(source: Source, path: Path, progress: Progress | None) -> SqliteDatabase:
    """Open the index and bring it up; it is built anew if it is damaged, or where segments went for good reason."""
    try:
        return _followed(source, SqliteDatabase(path), progress)
    except LinesLostError as error:
        if error.there.holds != Holds.EPISODES and error.there.name not in pruned(path.parent):
            raise
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        pass
    throw_away(path)
    return _followed(source, SqliteDatabase(path), progress)


def _followed(source: Source, db: SqliteDatabase, progress: Progress | None) -> SqliteDatabase:
    try:
        follow(source, db, progress)
    except BaseException:
        db.close()
        raise
    return db
