"""The episodes of a run by name: where each stands, looked up in the index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.follow import Database
from breakfall.ledger.line import segment_paths
from breakfall.ledger.pack import open_segment
from breakfall.ledger.read import decode
from breakfall.ledger.source import FolderSource
from breakfall.ledger.sqlite import NAME
from breakfall.ledger.store import open_folder
from breakfall.vocab import EpisodeEnd, Step

_LISTED = """
    SELECT name.name, e.agent, e.scenario, e.ending, e.passed, e.steps, e.faults, segment.name, e.position, e.length
    FROM bf_episodes e JOIN bf_names name ON name.id = e.id JOIN bf_segments segment ON segment.id = e.segment
    WHERE e.ending IS NOT NULL
"""


class Entry(Struct, frozen=True):
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
def opened(folder: Path) -> Iterator[Database]:
    """Open the index of a run folder, brought up to its segments.

    Where the folder cannot be written the index is built in memory.

    Raises:
        UsageError: The folder holds no segments.
        StoreError: A segment is damaged.
    """
    if not segment_paths(folder):
        raise UsageError(f"{folder}: no run is stored here (no segments/*.jsonl); `breakfall bench --out` makes one")
    with open_folder(folder) as ledger:
        yield ledger.db


def entries(
    index: Database, *, agent: str | None = None, scenario: str | None = None, failed: bool = False
) -> list[Entry]:
    """List the episodes in the order of their names, all or those that fit."""
    wanted = {"agent": agent, "scenario": scenario}
    values = {name: value for name, value in wanted.items() if value is not None}
    where = [f"e.{name} = :{name}" for name in values] + ["e.passed = 0"] * failed
    query = f"{_LISTED} {''.join(f' AND {clause}' for clause in where)} ORDER BY name.name"
    return [_entry(row) for row in index.rows(query, values)]


def find(index: Database, name: str) -> Entry:
    """Find an episode by its name, or by a part of it that no other has.

    Raises:
        UsageError: No episode or more than one fits.
    """
    if exact := index.rows(f"{_LISTED} AND name.name = :name", {"name": name}):
        return _entry(exact[0])
    near = f"{_LISTED} AND instr(name.name, :name) > 0 ORDER BY name.name LIMIT 4"
    rows = [_entry(row) for row in index.rows(near, {"name": name})]
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
    path = FolderSource(folder).path(entry.segment)
    with open_segment(path) as stream:
        stream.seek(entry.offset)
        raw = stream.read(entry.length)
    decoded = [decode(path, number, line) for number, line in enumerate(raw.splitlines(keepends=True), 1)]
    steps = [line for line in decoded if isinstance(line, Step)]
    end = decoded[-1] if decoded else None
    if not isinstance(end, EpisodeEnd) or end.episode != entry.name:
        raise StoreError(f"{path}: bytes {entry.offset} onwards are not episode {entry.name}; delete {folder / NAME}")
    return steps, end


def _entry(row: tuple[object, ...]) -> Entry:
    name, agent, scenario, ending, passed, *rest = row
    return Entry(name, agent, scenario, ending, bool(passed), *rest)  # type: ignore[arg-type]
