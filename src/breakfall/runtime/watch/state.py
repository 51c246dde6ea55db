"""What a watchdog remembers between two starts: how far it has read, what it must still judge, what it has said.

The ledger is the record; this can be thrown away. Then everything is read again, and verdicts that stand in the ledger
are not written twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from breakfall.errors import StoreError

_VERSION = 1
_TABLES = """
CREATE TABLE cursor (segment TEXT PRIMARY KEY, at INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE episode (
    name TEXT PRIMARY KEY, run TEXT NOT NULL, agent TEXT NOT NULL, parent TEXT NOT NULL, segment TEXT NOT NULL,
    last_n INTEGER NOT NULL, last_s REAL, recent BLOB NOT NULL, looped BLOB NOT NULL, ended INTEGER NOT NULL,
    forgotten INTEGER NOT NULL, seen_s REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX episode_run ON episode (run) WHERE run <> '';
CREATE INDEX episode_parent ON episode (parent) WHERE parent <> '';
CREATE INDEX episode_open ON episode (segment) WHERE ended = 0;
CREATE TABLE step (
    episode TEXT NOT NULL, n INTEGER NOT NULL, segment TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (episode, n, segment, at)
) WITHOUT ROWID;
CREATE TABLE claim (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, segment TEXT NOT NULL, at INTEGER NOT NULL, due_s REAL NOT NULL,
    looks INTEGER NOT NULL, noes INTEGER NOT NULL, data BLOB
) WITHOUT ROWID;
CREATE INDEX claim_due ON claim (due_s, id);
CREATE TABLE place (place TEXT PRIMARY KEY, since_s REAL NOT NULL, claim TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE done (
    id TEXT PRIMARY KEY, episode TEXT NOT NULL, n INTEGER, judgement TEXT NOT NULL, seen_s REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX done_episode ON done (episode);
CREATE TABLE intent (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE agent (name TEXT PRIMARY KEY, last_s REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE alert (number INTEGER PRIMARY KEY, key TEXT NOT NULL, line BLOB NOT NULL);
CREATE TABLE sent (key TEXT PRIMARY KEY, at_s REAL NOT NULL, more INTEGER NOT NULL) WITHOUT ROWID;
"""


class Claim(Struct, frozen=True):
    """Something that must be judged."""

    id: str
    kind: str
    """"step", "effect", "verification", "answer", or "incident"."""
    segment: str
    at: int
    """Where its line begins."""
    due_s: float
    """Not before this time, in seconds since 1970."""
    looks: int = 0
    """How often nobody could tell."""
    noes: int = 0
    """How often it was not so."""
    data: bytes | None = None
    """Of an incident: its line."""


class Episode(Struct):
    """What is remembered of an episode."""

    name: str
    run: str
    agent: str
    parent: str
    segment: str
    last_n: int = -1
    last_s: float | None = None
    """When its latest step ended, in seconds since 1970."""
    recent: bytes = b""
    """Signatures of its latest calls."""
    looped: bytes = b""
    """The signature of the round that was reported."""
    ended: int = 0
    forgotten: int = 0
    """Whether steps of it are no longer remembered."""
    seen_s: float = 0.0


class State:
    """A watchdog's memory in a SQLite file; one process at a time holds it.

    Args:
        path: The file; made if it is not there.

    Raises:
        StoreError: It cannot be opened, or is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(path, isolation_level=None)
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = FULL")
            (version,) = self.db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                with self.change():
                    for statement in _TABLES.split(";"):
                        self.db.execute(statement)
                    self.db.execute(f"PRAGMA user_version = {_VERSION}")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{path}: cannot be used as a watchdog's state: {error}; remove it to begin anew"
            ) from None
        if version not in (0, _VERSION):
            raise StoreError(f"{path}: of version {version}, this breakfall has {_VERSION}; remove it to begin anew")

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Do everything inside, or nothing of it."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement and return what it finds."""
        return self.db.execute(statement, values).fetchall()

    def cursors(self) -> dict[str, int]:
        """Return how far each segment was read."""
        return dict(self.rows("SELECT segment, at FROM cursor"))

    def episode(self, name: str) -> Episode | None:
        """Return what is remembered of an episode."""
        found = self.rows("SELECT * FROM episode WHERE name = ?", name)
        return Episode(*found[0]) if found else None

    def family(self, name: str) -> list[str]:
        """Return the episodes whose steps an episode's answer may speak of: itself, its run's, and those it called."""
        names = [name]
        run = self.rows("SELECT run FROM episode WHERE name = ? AND run <> ''", name)
        if run:
            names += [row[0] for row in self.rows("SELECT name FROM episode WHERE run = ? ORDER BY name", run[0][0])]
        known = list(dict.fromkeys(names))
        for each in known:  # it grows while it is walked
            children = self.rows("SELECT name FROM episode WHERE parent = ? ORDER BY name", each)
            known += [child for (child,) in children if child not in known]
        return known

    def places(self, episode: str, n: int | None = None) -> list[tuple[str, int]]:
        """Return where the steps of an episode stand, or those of one number."""
        if n is None:
            return self.rows("SELECT segment, at FROM step WHERE episode = ? ORDER BY n, segment, at", episode)
        return self.rows("SELECT segment, at FROM step WHERE episode = ? AND n = ? ORDER BY segment, at", episode, n)

    def due(self, now_s: float, limit: int) -> list[Claim]:
        """Return claims that may be judged now, the longest due first."""
        found = self.rows("SELECT * FROM claim WHERE due_s <= ? ORDER BY due_s, id LIMIT ?", now_s, limit)
        return [Claim(*row) for row in found]

    def next_due_s(self) -> float | None:
        """Return when the next claim may be judged; None if there is none."""
        (due,) = self.rows("SELECT MIN(due_s) FROM claim")[0]
        return due  # type: ignore[no-any-return]

    def pending(self) -> int:
        """Return how many claims are to be judged."""
        return int(self.rows("SELECT COUNT(*) FROM claim")[0][0])

    def known(self, ids: Iterable[str]) -> set[str]:
        """Return which of these were said already."""
        return {one for one in ids if self.rows("SELECT 1 FROM done WHERE id = ?", one)}
