"""The index in SQLite, beside the segments that it is derived from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from breakfall.errors import UsageError
from breakfall.ledger.follow import Matching
from breakfall.ledger.schema import TABLES, VERSION, VIEWS

NAME = "index.sqlite"
_FILES = ("", "-wal", "-shm")
_BUSY_S = 60.0


_WORDS = """
    CREATE VIRTUAL TABLE bf_words USING fts5 (
        words, content='', detail=none, columnsize=0, tokenize="unicode61 remove_diacritics 0"
    )
"""
"""Words alone, without places: nothing is searched for by its neighbours."""


class SqliteDatabase:
    """An index in a SQLite file (WAL), or in memory; implements `breakfall.ledger.follow.Database`."""

    def __init__(self, path: Path | None) -> None:
        """Open an index, made if it is not there; one that is damaged or of another version is thrown away.

        Raises:
            OSError: The file cannot be made here.
            sqlite3.OperationalError: Likewise.
        """
        self.name = "index in memory" if path is None else str(path)
        try:
            self._open(path)
        except sqlite3.OperationalError:
            raise
        except (sqlite3.DatabaseError, _OtherVersionError):
            if path is None:
                raise
            throw_away(path)
            self._open(path)

    def _open(self, path: Path | None) -> None:
        self.connection = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_S, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        connection = self.connection
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -65536")
        if not self._fits():
            with self.change():
                if not self._fits():
                    for statement in f"{TABLES.format(id='INTEGER PRIMARY KEY')} {_WORDS}".split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        for statement in VIEWS.split(";"):
            connection.execute(statement)

    def _fits(self) -> bool:
        """Whether the tables are there; False for an empty file."""
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version == VERSION:
            return True
        if version or self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _OtherVersionError
        return False

    def rows(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return what it finds."""
        return self.connection.execute(statement, values).fetchall()

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once per row of values."""
        self.connection.executemany(statement, rows)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change the index as one step, alone."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    @property
    def matching(self) -> Matching:
        """How the text index is asked."""
        return Matching("bf_words", "bf_words.rowid", "bf_words MATCH :terms", _terms)

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add the words of steps to the text index."""
        spaced = [(number, " ".join(words)) for number, words in rows]
        self.many("INSERT INTO bf_words (rowid, words) VALUES (?, ?)", spaced)

    def read_only(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run SQL of someone's own, which may change nothing; return the columns' names and the rows.

        Raises:
            UsageError: It cannot be run.
        """
        self.connection.execute("PRAGMA query_only = ON")
        try:
            cursor = self.connection.execute(statement)
            return [column[0] for column in cursor.description or ()], cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise UsageError(f"this SQL cannot be run: {error}") from None
        finally:
            self.connection.execute("PRAGMA query_only = OFF")

    def close(self) -> None:
        """Close the index."""
        self.connection.close()


class _OtherVersionError(Exception):
    """The file is no index of this version."""


def throw_away(path: Path) -> None:
    """Remove an index; it is derived.

    Raises:
        OSError: It cannot be removed.
    """
    for suffix in _FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _terms(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"*' for word in words)
