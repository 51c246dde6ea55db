"""A SQLite index over the segments: where each episode and step stands. Derived, rebuilt when it does not fit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.line import segment_paths
from breakfall.ledger.read import Stored, decode, read_all
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

NAME = "index.sqlite"
_VERSION = 1
_TABLES = """
    CREATE TABLE segments (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL);
    CREATE TABLE episodes (
        name TEXT PRIMARY KEY, world TEXT, condition TEXT, agent TEXT, scenario TEXT, task TEXT, seed INTEGER,
        ending TEXT, passed INTEGER, steps INTEGER, faults INTEGER, segment TEXT, offset INTEGER, length INTEGER
    );
    CREATE TABLE steps (
        episode TEXT, n INTEGER, tool TEXT, fault TEXT, outcome TEXT, segment TEXT, offset INTEGER, length INTEGER,
        PRIMARY KEY (episode, n)
    ) WITHOUT ROWID;
"""
_LISTED = "name, agent, scenario, ending, passed, steps, faults, segment, offset, length"


class Entry(Struct, frozen=True, kw_only=True):
    """One episode as the index knows it."""

    name: str
    agent: str
    scenario: str
    ending: str
    passed: bool
    steps: int
    faults: int
    segment: str
    offset: int
    length: int


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the index of a run folder, built anew if it is missing or older than the segments.

    Where the folder cannot be written the index is built in memory.

    Raises:
        UsageError: The folder holds no segments.
        StoreError: A segment is damaged.
    """
    sizes = {path.name: path.stat().st_size for path in segment_paths(folder)}
    if not sizes:
        raise UsageError(f"{folder}: no run is stored here (no segments/*.jsonl); `breakfall bench --out` makes one")
    path = folder / NAME
    if not _fits(path, sizes):
        try:
            path.unlink(missing_ok=True)
            _build(folder, str(path), sizes).close()
        except (sqlite3.OperationalError, OSError):  # a read-only folder or a full disk: the index is no record
            with closing(_build(folder, ":memory:", sizes)) as memory:
                yield memory
            return
    with closing(_connect(str(path))) as connection:
        yield connection


def entries(
    index: sqlite3.Connection, *, agent: str | None = None, scenario: str | None = None, failed: bool = False
) -> list[Entry]:
    """List the episodes in the order of their names, all or those that fit."""
    wanted = [("agent = ?", agent), ("scenario = ?", scenario)]
    where = [clause for clause, value in wanted if value is not None] + ["NOT passed"] * failed
    query = f"SELECT {_LISTED} FROM episodes WHERE {' AND '.join(where) or '1'} ORDER BY name"  # noqa: S608 - fixed texts
    return [_entry(row) for row in index.execute(query, [value for _, value in wanted if value is not None])]


def find(index: sqlite3.Connection, name: str) -> Entry:
    """Find an episode by its name, or by a part of it that no other has.

    Raises:
        UsageError: No episode or more than one fits.
    """
    exact = index.execute(f"SELECT {_LISTED} FROM episodes WHERE name = ?", [name])  # noqa: S608 - fixed texts
    if row := exact.fetchone():
        return _entry(row)
    near = f"SELECT {_LISTED} FROM episodes WHERE instr(name, ?) ORDER BY name LIMIT 4"  # noqa: S608 - fixed texts
    rows = [_entry(row) for row in index.execute(near, [name])]
    if len(rows) == 1:
        return rows[0]
    if not rows:
        raise UsageError(f"no episode {name!r} in this run; `breakfall show RUN` lists them")
    some = ", ".join(row.name for row in rows[:3])
    raise UsageError(f"{name!r} names more than one episode ({some}, …); give more of the name")


def load(folder: Path, entry: Entry) -> tuple[list[Step], EpisodeEnd]:
    """Read one episode from its place.

    Raises:
        StoreError: The place does not hold it.
    """
    path = folder / "segments" / entry.segment
    try:
        with path.open("rb") as stream:
            stream.seek(entry.offset)
            raw = stream.read(entry.length)
    except OSError as error:
        raise StoreError(f"{path}: cannot read the segment: {error.strerror}") from None
    decoded = [decode(path, number, line) for number, line in enumerate(raw.splitlines(keepends=True), 1)]
    steps = [line for line in decoded if isinstance(line, Step)]
    end = decoded[-1] if decoded else None
    if not isinstance(end, EpisodeEnd) or end.episode != entry.name:
        raise StoreError(f"{path}: bytes {entry.offset} onwards are not episode {entry.name}; delete {folder / NAME}")
    return steps, end


def _entry(row: sqlite3.Row) -> Entry:
    return msgspec.convert(dict(row), Entry, strict=False)


def _connect(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(where)
    connection.row_factory = sqlite3.Row
    return connection


def _fits(path: Path, sizes: dict[str, int]) -> bool:
    """Whether an index is there, of our version, and as long as the segments."""
    if not path.exists():
        return False
    try:
        with closing(_connect(str(path))) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            rows = connection.execute("SELECT name, bytes FROM segments") if version == _VERSION else ()
            return dict(rows) == sizes
    except sqlite3.DatabaseError:
        return False


def _build(folder: Path, where: str, sizes: dict[str, int]) -> sqlite3.Connection:
    """Build the index in one transaction, so that a half-built one never fits."""
    connection = _connect(where)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(_TABLES)
        for item in read_all(folder):
            if isinstance(item, NotApplicable):
                continue
            connection.execute(f"INSERT INTO episodes VALUES ({', '.join('?' * 14)})", _episode_row(item))  # noqa: S608
            connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _step_rows(item))
        connection.executemany("INSERT INTO segments VALUES (?, ?)", sorted(sizes.items()))
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


def _episode_row(item: Stored) -> tuple[object, ...]:
    key, end = item.end.key, item.end
    faults = sum(step.injection is not None and not step.injection.suppressed for step in item.steps)
    where = (item.segment.name, item.offset, item.length)
    place = (end.episode, key.world, key.condition, key.agent, key.scenario, key.task, key.seed)
    return (*place, end.ending, end.verdict.passed, end.steps, faults, *where)


def _step_rows(item: Stored) -> Iterator[tuple[object, ...]]:
    offset = item.offset
    for step, length in zip(item.steps, item.step_lengths, strict=True):
        fault = step.injection.kind if step.injection is not None and not step.injection.suppressed else None
        outcome = step.observed_outcome.__struct_config__.tag
        yield (step.episode, step.n, step.tool, fault, outcome, item.segment.name, offset, length)
        offset += length
