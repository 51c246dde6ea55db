"""The journal in one SQLite file, for the threads and processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from breakfall.errors import StoreError
from breakfall.runtime.journal.entry import Entry, Owner, State
from breakfall.runtime.journal.owner import Life, lives
from breakfall.runtime.journal.store import FORMAT, Rule, T, check_usable, conditions, decode, encode

_APPLICATION = 0x42464A4C  # "BFJL"
_TABLES = (
    "CREATE TABLE entries (key TEXT PRIMARY KEY, state TEXT NOT NULL, run TEXT NOT NULL, tool TEXT NOT NULL, "
    "updated_s REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX open_entries ON entries (state) WHERE state IN ('in_flight', 'unknown', 'needs_person')",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)
_STORE = (
    "INSERT INTO entries (key, state, run, tool, updated_s, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) "
    "DO UPDATE SET state = excluded.state, updated_s = excluded.updated_s, body = excluded.body"
)


class SqliteStore:
    """A `Store` in a SQLite file (WAL, every commit synced).

    Locks of living owners lie beside it, in a folder named like the file and ``-owners``.

    Args:
        path: The file; it is made if it is not there.
        busy_s: How long to wait for another writer.
    """

    def __init__(self, path: Path, *, busy_s: float = 10.0) -> None:
        """Open or make the file.

        Raises:
            StoreError: It is not a journal, is of another version, or cannot be opened or written.
        """
        self.name = str(path)
        self._folder = path.with_name(path.name + "-owners")
        self._busy_s = busy_s
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._life: Life | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        except OSError as error:
            raise StoreError(f"{self.name}: cannot make the folder of the journal: {error.strerror}") from error
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise self._trouble(error) from error
        except BaseException:
            self._connection.close()
            raise

    def change(self, key: str, rule: Rule[T]) -> T:
        """Read, decide and store as one step; see `Store`."""
        check_usable(self.name, self._pid, self._closed)
        with self._lock:
            if self._life is None:
                self._life = Life(self._folder)
            try:
                return self._changed(key, rule, self._life.owner)
            except sqlite3.Error as error:
                raise self._trouble(error) from error

    def get(self, key: str) -> Entry | None:
        """Read one entry."""
        with self._used() as connection:
            row = connection.execute("SELECT body FROM entries WHERE key = ?", (key,)).fetchone()
            return None if row is None else decode(row[0], self.name, key)

    def held(self, entry: Entry) -> bool:
        """Whether the entry's owner lives."""
        owner = entry.owner
        if owner is None:
            return False
        mine = self._life is not None and self._life.owner.id == owner.id
        return mine or lives(self._folder, owner)

    def entries(
        self, *, states: Sequence[State] = (), run: str | None = None, tool: str | None = None, prefix: str = ""
    ) -> list[Entry]:
        """List entries, the oldest change first; see `Store`."""
        where, values = conditions(states, run, tool, prefix, "?")
        query = f"SELECT key, body FROM entries WHERE {where} ORDER BY updated_s, key"  # noqa: S608 - fixed texts
        with self._used() as connection:
            return [decode(body, self.name, key) for key, body in connection.execute(query, values)]

    def prune(self, before_s: float, states: Sequence[State]) -> int:
        """Drop old entries; see `Store`."""
        where, values = conditions(states, None, None, "", "?")
        with self._used() as connection:
            query = f"DELETE FROM entries WHERE {where} AND updated_s < ?"  # noqa: S608 - fixed texts
            return connection.execute(query, (*values, before_s)).rowcount

    def close(self) -> None:
        """Close the file and give the owner's lock back; twice is allowed."""
        if self._pid != os.getpid():
            return  # a forked child's copy: the connection and the lock are the parent's
        with self._lock:
            self._closed = True
            self._connection.close()
            if self._life is not None:
                self._life.end()

    def _changed(self, key: str, rule: Rule[T], me: Owner) -> T:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            row = execute("SELECT body FROM entries WHERE key = ?", (key,)).fetchone()
            before = None if row is None else decode(row[0], self.name, key)
            after, result = rule(before, before is not None and self.held(before), me)
            if after is not None and after is not before:
                op = after.operation
                execute(_STORE, (key, after.state.value, op.run, op.tool, after.updated_s, encode(after)))
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk has already rolled it back
                execute("ROLLBACK")
            raise
        return result

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection for one thread, and explain what goes wrong meanwhile."""
        check_usable(self.name, self._pid, self._closed)
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._trouble(error) from error

    def _trouble(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self.name}: {_explain(error, self._busy_s)}")

    def _prepare(self) -> None:
        """Check that the file is a journal, or make an empty one into it."""
        connection = self._connection
        self._check()
        deadline = time.monotonic() + self._busy_s
        while True:
            try:  # two processes that make the file at once meet here, and SQLite does not wait by itself
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        if mode != "wal":
            raise StoreError(f"{self.name}: this file system cannot hold a journal; choose a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = TRUE")  # macOS: through the drive's own cache
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self._check():
                for statement in _TABLES:
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _check(self) -> bool:
        """Whether the file is still empty; one that is neither empty nor a journal of ours is refused."""
        application, version, tables = (
            self._connection.execute(query).fetchone()[0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if not application and not version and not tables:
            return True
        if application != _APPLICATION:
            raise StoreError(
                f"{self.name}: this is a SQLite file, but not a write journal; give the journal another path"
            )
        if version != FORMAT:
            raise StoreError(
                f"{self.name}: this journal is of version {version}, this breakfall writes version {FORMAT}; use the "
                "breakfall that made it until its entries are settled, then start a new journal"
            )
        return False


def _explain(error: sqlite3.Error, busy_s: float) -> str:
    """Say what is wrong and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"locked by another process for more than {busy_s:g} s; end what holds it, and try again"
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full; nothing was stored. Make room, and try again",
        sqlite3.SQLITE_IOERR: "the disk refuses to read or write; nothing was stored. Check its room and health",
        sqlite3.SQLITE_READONLY: "the journal cannot be written; make the file and its folder writable",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the path is a file that may be read and written",
        sqlite3.SQLITE_PERM: "may not be opened; make the file and its folder readable and writable",
        sqlite3.SQLITE_NOTADB: "this is not a write journal (not a SQLite file); give the journal another path",
        sqlite3.SQLITE_CORRUPT: "the journal is damaged; restore it from a copy, or look the open writes up by hand",
    }.get(code, "the journal cannot be used")
    return f"{advice} ({error})"
