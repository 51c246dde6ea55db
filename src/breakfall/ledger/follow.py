"""Keeping the index beside the lines: what was added since the last look is read, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger.chain import ENVELOPE
from breakfall.ledger.line import DECODER, Header, Holds, Line
from breakfall.ledger.rows import Batch, Place
from breakfall.ledger.schema import STEP_COLUMNS
from breakfall.ledger.source import Raw, Source, header
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, Step

BATCH = 10_000
"""Lines that are indexed at once."""

Progress = Callable[[int], None]
"""Told now and then how many lines were read."""


class Matching(Struct, frozen=True):
    """How a text index is asked."""

    table: str
    step: str
    """Its column that holds a step's id."""
    condition: str
    """Holds of a step with every word of ``:terms``."""
    terms: Callable[[Sequence[str]], str]
    """Writes words as ``:terms``, each as the beginning of a word."""


class Database(Protocol):
    """Where an index is kept. Statements write values as ``:name`` or as ``?``."""

    def rows(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return what it finds."""
        ...

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once per row of values."""
        ...

    def change(self) -> AbstractContextManager[None]:
        """Change the index as one step, alone."""
        ...

    @property
    def matching(self) -> Matching:
        """How the text index is asked."""
        ...

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add the words of steps, by their ids, to the text index."""
        ...


class Known(Struct, frozen=True):
    """How far a segment is indexed."""

    id: int
    name: str
    holds: str
    done: int
    seq: int
    chain: str
    damaged: int


class LinesLostError(StoreError):
    """Lines that were indexed are no longer there; `there` is what is known of their segment."""

    def __init__(self, where: str, there: Known, how: str) -> None:
        super().__init__(
            f"{where}: segment {there.name} {how}: lines were removed after they were indexed. `breakfall ledger "
            "verify` names them; restore the segment, or remove the index to go on without them"
        )
        self.there = there


def known(db: Database) -> dict[str, Known]:
    """Return how far each segment is indexed."""
    found = db.rows("SELECT id, name, holds, done, seq, chain, damaged FROM bf_segments ORDER BY name")
    return {row[1]: Known(*row) for row in found}


def follow(source: Source, db: Database, progress: Progress | None = None) -> None:
    """Bring an index up to its lines.

    Raises:
        StoreError: Lines that were indexed are gone, or a segment of episodes is damaged.
    """
    before = known(db)
    segments = source.segments()
    for name in before:
        if name not in segments:
            raise LinesLostError(source.name, before[name], "is gone")
    for name, end in segments.items():
        there = before.get(name)
        if there is None or there.done < end:
            _Follower(source, db, name, progress).run()
        elif end < there.done:
            raise LinesLostError(source.name, there, f"is {end:,} bytes long and was {there.done:,}")


class _Follower:
    """Indexes one segment from where the last look ended."""

    def __init__(self, source: Source, db: Database, segment: str, progress: Progress | None) -> None:
        self._source = source
        self._db = db
        self._segment = segment
        self._progress = progress
        self._ids: dict[str, int] = {}

    def run(self) -> None:
        """Index batch after batch, each as one step, until there is nothing more."""
        more = True
        while more:
            with self._db.change():
                more = self._next_batch()

    def _next_batch(self) -> bool:
        """Index one batch; return whether there may be more."""
        there = known(self._db).get(self._segment)
        if there is None:
            head = header(self._source, self._segment)
            if head is None:
                return False
            there = self._added(head)
        reading = _Reading(there)
        for raw in self._source.lines(self._segment, there.done):
            reading.take(self._source, raw)
            if reading.taken >= BATCH and reading.whole:
                break
        self._store(there, reading)
        if self._progress is not None and reading.taken:
            self._progress(reading.taken)
        return reading.taken >= BATCH

    def _added(self, head: Header) -> Known:
        (highest,) = self._db.rows("SELECT COALESCE(MAX(id), 0) FROM bf_segments")[0]
        row = Known(highest + 1, self._segment, head.holds.value, 0, -1, "", 0)
        self._db.many("INSERT INTO bf_segments VALUES (?, ?, ?, ?, ?, ?, ?)", [msgspec.structs.astuple(row)])
        return row

    def _store(self, there: Known, reading: _Reading) -> None:
        batch, db = reading.batch, self._db
        if batch.steps or batch.episodes or batch.verdicts:
            self._refuse_twice(batch)
            self._resolve(batch.names())
            (highest,) = db.rows("SELECT COALESCE(MAX(id), 0) FROM bf_steps")[0]
            db.many(_STEP, list(batch.step_rows(self._ids, highest + 1)))
            db.many(_COUNT, list(batch.count_rows(self._ids)))
            db.many(_VERDICT, list(batch.verdict_rows(self._ids)))
            db.many(_RUN, list(batch.run_rows(self._ids)))
            db.many(_EPISODE, list(batch.episode_rows(self._ids)))
        db.rows(
            "UPDATE bf_segments SET done = :done, seq = :seq, chain = :chain, damaged = :damaged WHERE id = :id",
            {
                "done": reading.done,
                "seq": reading.seq,
                "chain": reading.chain,
                "damaged": there.damaged + reading.damaged,
                "id": there.id,
            },
        )

    def _resolve(self, names: set[str]) -> None:
        """Find the numbers of names; new ones get one."""
        missing = sorted(names - self._ids.keys())
        for start in range(0, len(missing), 500):
            some = missing[start : start + 500]
            marks = ", ".join("?" * len(some))
            query = f"SELECT name, id FROM bf_names WHERE name IN ({marks})"  # noqa: S608 - question marks
            self._ids.update(self._db.rows(query, some))
        new = [name for name in missing if name not in self._ids]
        if new:
            (highest,) = self._db.rows("SELECT COALESCE(MAX(id), 0) FROM bf_names")[0]
            numbered = {name: number for number, name in enumerate(new, highest + 1)}
            self._db.many("INSERT INTO bf_names (id, name) VALUES (?, ?)", [(n, name) for name, n in numbered.items()])
            self._ids.update(numbered)

    def _refuse_twice(self, batch: Batch) -> None:
        """Refuse an episode of a bench that stands in another segment too."""
        ended = [name for name, row in batch.episodes.items() if row.end is not None]
        for start in range(0, len(ended), 500):
            some = ended[start : start + 500]
            marks = ", ".join("?" * len(some))
            for name, segment in self._db.rows(_TWICE.format(marks=marks), some):
                raise StoreError(
                    f"episode {name} stands twice: in segment {segment} and in {self._segment} of {self._source.name}; "
                    "remove one of the segments"
                )


class _Reading:
    """The lines of one batch as they come."""

    def __init__(self, there: Known) -> None:
        self._segment = there.id
        self._name = there.name
        self._episodes = there.holds == Holds.EPISODES
        self._open: list[tuple[Step, Place]] = []
        self._ended: set[str] = set()
        self._begun = there.done
        self._last_seq = there.seq
        self.batch = Batch()
        self.taken = 0
        self.damaged = 0
        self.done, self.seq, self.chain = there.done, there.seq, there.chain

    @property
    def whole(self) -> bool:
        """Whether no episode is cut here."""
        return not self._open

    def take(self, source: Source, raw: Raw) -> None:
        """Take in the next line."""
        self.taken += 1
        self._last_seq += 1
        try:
            line = DECODER.decode(raw.line)
            envelope = ENVELOPE.decode(raw.line)
        except msgspec.MsgspecError as error:
            if self._episodes:
                where = f"{source.place(self._name)}: line {self._last_seq + 1}"
                raise StoreError(f"{where} is damaged: {error}; restore the file or remove it") from None
            self.damaged += 1
            self.done = raw.next
            return
        seq = self._last_seq = envelope.seq if envelope.seq >= 0 else self._last_seq
        crc = zlib.crc32(raw.line) if self._episodes else None
        place = Place(self._segment, seq, raw.at, raw.next - raw.at, crc)
        if self._episodes:
            self._take_episode(line, place, raw)
            if self._open:
                return
        elif isinstance(line, Step):
            self.batch.step(line, place)
        elif isinstance(line, EpisodeEnd):
            self.batch.end(line, place)
        elif isinstance(line, StepVerdict | Incident):
            self.batch.verdict(line)
        self.done, self.seq, self.chain = raw.next, seq, envelope.chain
        self._begun = raw.next

    def _take_episode(self, line: Line, place: Place, raw: Raw) -> None:
        if isinstance(line, Step):
            self._open.append((line, place))
        elif isinstance(line, EpisodeEnd):
            if line.episode in self._ended:
                raise StoreError(f"episode {line.episode} stands twice in segment {self._name}; remove the segment")
            self._ended.add(line.episode)
            for step, where in self._open:
                self.batch.step(step, where, agent=line.key.agent)
            whole = Place(self._segment, place.seq, self._begun, raw.next - self._begun)
            self.batch.end(line, whole)
            self._open = []


_TWICE = """
    SELECT name.name, segment.name FROM bf_names name JOIN bf_episodes e ON e.id = name.id
        JOIN bf_segments segment ON segment.id = e.segment
    WHERE name.name IN ({marks})
"""
_STEP = f"INSERT INTO bf_steps ({', '.join(STEP_COLUMNS)}) VALUES ({', '.join('?' * len(STEP_COLUMNS))})"  # noqa: S608
_VERDICT = f"INSERT INTO bf_verdicts VALUES ({', '.join('?' * 11)}) ON CONFLICT (name) DO NOTHING"  # noqa: S608
_SUMS = (
    "steps", "errors", "warnings", "unverified", "incomplete", "failed", "counted", "tokens", "tokens_cached", "usd",
)  # fmt: skip
_COUNT = f"""
    INSERT INTO bf_counts VALUES ({", ".join("?" * (5 + len(_SUMS)))})
    ON CONFLICT (hour, tool, intent, agent, version) DO UPDATE SET
        {", ".join(f"{name} = bf_counts.{name} + excluded.{name}" for name in _SUMS)}
"""  # noqa: S608 - fixed texts
_RUN = """
    INSERT INTO bf_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
        begun_s = CASE WHEN bf_runs.begun_s < excluded.begun_s THEN bf_runs.begun_s
            ELSE COALESCE(excluded.begun_s, bf_runs.begun_s) END,
        ended_s = CASE WHEN bf_runs.ended_s > excluded.ended_s THEN bf_runs.ended_s
            ELSE COALESCE(excluded.ended_s, bf_runs.ended_s) END,
        steps = bf_runs.steps + excluded.steps, errors = bf_runs.errors + excluded.errors,
        warnings = bf_runs.warnings + excluded.warnings, unverified = bf_runs.unverified + excluded.unverified,
        incomplete = bf_runs.incomplete + excluded.incomplete, tokens = bf_runs.tokens + excluded.tokens,
        usd = bf_runs.usd + excluded.usd, seconds = bf_runs.seconds + excluded.seconds
"""
_EPISODE = """
    INSERT INTO bf_episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
        steps = bf_episodes.steps + excluded.steps, faults = bf_episodes.faults + excluded.faults,
        world = COALESCE(excluded.world, bf_episodes.world),
        condition = COALESCE(excluded.condition, bf_episodes.condition),
        agent = COALESCE(excluded.agent, bf_episodes.agent),
        scenario = COALESCE(excluded.scenario, bf_episodes.scenario), task = COALESCE(excluded.task, bf_episodes.task),
        seed = COALESCE(excluded.seed, bf_episodes.seed), ending = COALESCE(excluded.ending, bf_episodes.ending),
        passed = COALESCE(excluded.passed, bf_episodes.passed),
        segment = COALESCE(excluded.segment, bf_episodes.segment),
        position = COALESCE(excluded.position, bf_episodes.position),
        length = COALESCE(excluded.length, bf_episodes.length)
"""
