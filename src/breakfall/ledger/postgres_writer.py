"""The writer of production into PostgreSQL: one step at a time, chained, from any thread of one process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import psycopg
from msgspec.structs import replace

from breakfall.errors import StoreError
from breakfall.ledger.chain import START, seal
from breakfall.ledger.line import FORMAT, Closed, Header, Holds, Line, Link, encode
from breakfall.ledger.postgres import connect, explained, lock_number, public_name
from breakfall.ledger.scrub import Scrubber
from breakfall.ledger.writer import blocks, encoded, new_name
from breakfall.vocab import EpisodeEnd, Step

ROTATE_LINES = 100_000
ROTATE_S = 24 * 3600.0

_INSERT = "INSERT INTO bf_lines (segment, seq, line) VALUES (%s, %s, %s) ON CONFLICT (segment, seq) DO NOTHING"
_DURABLY = """
    WITH durable AS (SELECT set_config('synchronous_commit', 'on', true))
    INSERT INTO bf_lines (segment, seq, line) SELECT %s, %s, %s FROM durable ON CONFLICT (segment, seq) DO NOTHING
"""


class PostgresWriter:
    """Appends steps to a ledger in PostgreSQL; implements `breakfall.vocab.StepSink`.

    It may be shared by threads. A forked child goes on in a session and a segment of its own. What a call has returned
    from is committed: it survives a kill of this process. A step that blocks, and every step of the durable mode,
    survives a kill of the server too; others may be lost with it if it dies within its last half second.

    Args:
        url: The database's address. The session holds a lock: the address must not lead through a pooler that shares
            sessions.
        durable: Every step is on the server's disk before the call returns, not only those that block.
        rotate_lines: After so many lines the next segment is begun.
        rotate_s: After so many seconds, likewise.
        scrub: Takes secrets out before anything is sent; None leaves them in.
        now: The time in seconds since 1970; steps that do not say when they began get it.
    """

    def __init__(
        self,
        url: str,
        *,
        durable: bool = False,
        rotate_lines: int = ROTATE_LINES,
        rotate_s: float = ROTATE_S,
        scrub: Scrubber | None = Scrubber(),  # noqa: B008 - immutable
        now: Callable[[], float] = time.time,  # noqa: TID251 - a production step says when it was
    ) -> None:
        """Connect, and make the tables if they are not there.

        Raises:
            StoreError: The server cannot be reached, or holds another version.
            UsageError: The address cannot be read.
        """
        self.name = public_name(url)
        self._url = url
        self._durable = durable
        self._rotate_lines = rotate_lines
        self._rotate_s = rotate_s
        self._scrub = scrub
        self._now = now
        self._lock = threading.Lock()
        self._closed = False
        self._parents: list[psycopg.Connection] = []
        self._connection = connect(url)
        self._start()

    def step(self, step: Step) -> None:
        """Store one step.

        What JSON has no form for becomes its text.

        Raises:
            StoreError: It could not be stored; everything that was acknowledged before is kept.
            RunError: A field of it is of another type than it says; nothing was written.
        """
        if step.unix_s is None:
            step = replace(step, unix_s=round(self._now() - step.took_s, 6))
        step, body = encoded(step, self._scrub)
        self._append(body, durable=self._durable or blocks(step))

    def end(self, end: EpisodeEnd) -> None:
        """Store how an episode ended, on the server's disk.

        Raises:
            StoreError: It could not be stored.
            RunError: It holds something that is no JSON value; nothing was written.
        """
        self.line(end if self._scrub is None else self._scrub.scrub(end))

    def line(self, line: Line) -> None:
        """Store a line that is no step, on the server's disk.

        Raises:
            StoreError: It could not be stored.
            RunError: It holds something that is no JSON value; nothing was written.
        """
        self._append(encode(line), durable=True)

    def sync(self) -> None:
        """Return once all that was acknowledged is on the server's disk; call it before what nothing undoes.

        Raises:
            StoreError: The server cannot be reached.
        """
        with self._lock, explained(self.name), self._connection.transaction():
            self._connection.execute("SET LOCAL synchronous_commit = on")
            self._connection.execute(
                "SELECT pg_current_xact_id()"
            )  # a commit of its own, which flushes those before it

    def close(self) -> None:
        """Close the segment in order, and the session; closing twice is allowed."""
        if self._pid == os.getpid() and not self._closed:
            with self._lock:
                self._closed = True
                self._put(encode(Closed()), durable=True)
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, body: bytes, *, durable: bool) -> None:
        if self._pid != os.getpid():
            self._lock = threading.Lock()
            self._parents.append(self._connection)  # kept, for letting it go would end the parent's session
            self._connection = connect(self._url)
            self._start()
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.name}: this writer was closed; open another one")
            if self._seq >= self._rotate_lines or time.monotonic() >= self._rotate_at_s:
                self._rotate()
            self._put(body, durable=durable)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._closed = False
        self._writer = new_name(self._now())
        self._number = 0
        self._begin(None)

    def _begin(self, after: Link | None) -> None:
        """Begin the next segment; other sessions see by its lock that it is in use."""
        name = f"{self._writer}-{self._number + 1:04}"
        with explained(self.name), self._connection.transaction():
            self._settled()
            made = "INSERT INTO bf_written (name, begun) VALUES (%s, now()) RETURNING id"
            row = self._connection.execute(made, (name,)).fetchone()
            header = Header(format=FORMAT, holds=Holds.STEPS, segment=name, after=after)
            line, link = seal(encode(header), 0, START)
            assert row is not None
            self._connection.execute(_INSERT, (row[0], 0, line[:-1].decode()))
        self.segment, self._segment_id, self._seq, self._link = name, row[0], 0, link
        self._number += 1
        self._rotate_at_s = time.monotonic() + self._rotate_s
        with explained(self.name):
            self._connection.execute("SELECT pg_advisory_lock(%s)", (lock_number(name),))

    def _settled(self) -> None:
        """Let ordinary commits not wait for the server's disk; those that must say so."""
        self._connection.execute("SET synchronous_commit = off")

    def _rotate(self) -> None:
        self._put(encode(Closed()), durable=True)
        before = self.segment
        self._begin(Link(segment=before, seq=self._seq, chain=self._link.hex()))
        with explained(self.name):
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (lock_number(before),))

    def _put(self, body: bytes, *, durable: bool) -> None:
        """Commit one line; a session that broke is replaced, and a line that it had committed is not put in twice."""
        line, link = seal(body, self._seq + 1, self._link)
        values = (self._segment_id, self._seq + 1, line[:-1].decode())
        statement = _DURABLY if durable else _INSERT
        with explained(self.name):
            try:
                self._connection.execute(statement, values)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                self._connection = connect(self._url)
                self._settled()
                self._connection.execute("SELECT pg_advisory_lock(%s)", (lock_number(self.segment),))
                self._connection.execute(statement, values)
        self._seq, self._link = self._seq + 1, link
