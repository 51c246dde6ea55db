"""A ledger opened for reading: its lines and the index that leads to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
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

    def steps(self, ids: Sequence[int]) -> list[Step]:
        """Read steps whole, in the order of their ids as given.

        Raises:
            StoreError: One is not where the index says, or is damaged.
        """
        places: dict[int, tuple[str, int]] = {}
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            query = _PLACES.format(marks=", ".join("?" * len(some)))
            for number, segment, at in self.db.rows(query, some):
                places[number] = segment, at
        found = dict(self._read(places))
        return [found[number] for number in ids]

    def _read(self, places: dict[int, tuple[str, int]]) -> Iterator[tuple[int, Step]]:
        """Read steps segment by segment, each from front to back."""
        for segment in sorted({segment for segment, _ in places.values()}):
            here = {at: number for number, (name, at) in places.items() if name == segment}
            for at, raw in self.source.pick(segment, sorted(here)):
                line = decode(self.source, segment, raw)
                if not isinstance(line, Step):
                    where = self.source.place(segment)
                    raise StoreError(f"{where}: no step stands at {at}; see `breakfall ledger verify`")
                yield here[at], line

    @property
    def damaged(self) -> int:
        """How many lines could not be read into the index."""
        return int(self.db.rows("SELECT COALESCE(SUM(damaged), 0) FROM bf_segments")[0][0])

    def names(self, ids: Collection[int]) -> dict[int, str]:
        """Return the names that ids of the index stand for."""
        found: dict[int, str] = {}
        wanted = sorted(ids)
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            found |= dict(self.db.rows(f"SELECT id, name FROM bf_names WHERE id IN ({marks})", some))  # noqa: S608
        return found


_AT_ONCE = 500
_PLACES = """
    SELECT s.id, g.name, s.position FROM bf_steps s JOIN bf_segments g ON g.id = s.segment WHERE s.id IN ({marks})
"""


@contextmanager
def open_ledger(where: str | Path, progress: Progress | None = None) -> Iterator[Ledger]:
    """Open a ledger for questions, its index brought up to its lines.

    Args:
        where: A folder, or a ``postgresql://`` address.
        progress: Told now and then how many lines were read.

    Raises:
        UsageError: No ledger is there, or what PostgreSQL needs is not installed.
        StoreError: Lines that were there are gone, a segment is damaged, or the server cannot be reached.
    """
    if "://" not in str(where):
        with open_folder(Path(where), progress) as ledger:
            yield ledger
        return
    from breakfall.ledger.postgres import PostgresDatabase, PostgresSource, connect, public_name

    url = address(str(where))
    name = public_name(url)
    connection = connect(url)
    try:
        source, db = PostgresSource(connection, name), PostgresDatabase(connection, name)
        try:
            follow(source, db, progress)
        except LinesLostError as error:
            if error.there.name not in source.pruned():
                raise
            db.throw_away()
            follow(source, db, progress)
        yield Ledger(source, db)
    finally:
        connection.close()


@contextmanager
def open_source(where: str | Path) -> Iterator[Source]:
    """Open the lines of a ledger alone, without its index.

    Raises:
        UsageError: No ledger is there, or what PostgreSQL needs is not installed.
        StoreError: The server cannot be reached.
    """
    if "://" not in str(where):
        if not segment_paths(Path(where)):
            raise UsageError(f"{where}: no ledger is here (no segments/*.jsonl)")
        yield FolderSource(Path(where))
        return
    from breakfall.ledger.postgres import PostgresSource, connect, public_name

    url = address(str(where))
    connection = connect(url)
    try:
        yield PostgresSource(connection, public_name(url))
    finally:
        connection.close()


def address(where: str) -> str:
    """Return the address of a database.

    Raises:
        UsageError: It is of another kind.
    """
    if where.startswith(("postgresql://", "postgres://")):
        return where
    raise UsageError(f"a ledger is a folder or a postgresql:// address, not {where.partition('://')[0]}://")


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
