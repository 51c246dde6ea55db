"""A ledger in PostgreSQL under watch, by one watchdog or by several that share the work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from breakfall.ledger.postgres import PostgresSource, connect, explained, lock_number, public_name
from breakfall.ledger.postgres_writer import PostgresWriter
from breakfall.ledger.source import Source
from breakfall.ledger.verdict import Incident, StepVerdict


class WatchedPostgres:
    """A ledger in PostgreSQL; implements `breakfall.runtime.watch.place.Watched`.

    Whoever judges a claim holds an advisory lock on it from before it looks until its verdict is committed. The server
    gives the lock back when a watchdog dies.

    Args:
        url: The database's address, with the watchdog's own user. It must not lead through a pooler that shares
            sessions.

    Raises:
        StoreError: The server cannot be reached.
        UsageError: The address cannot be read.
    """

    shared = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._name = public_name(url)
        self._connection = connect(url)
        self._lines = PostgresSource(self._connection, self._name)
        self.source: Source = self._lines
        self._writer: PostgresWriter | None = None

    def append(self, lines: Sequence[StepVerdict | Incident]) -> None:
        """Write lines; see `Watched`."""
        if self._writer is None:
            self._writer = PostgresWriter(self._url, scrub=None)  # what comes here is clean
        for line in lines:
            self._writer.line(line)

    def dropped(self) -> Collection[str]:
        """Return what was dropped on purpose; see `Watched`."""
        return self._lines.pruned().keys()

    def hold(self, ids: Iterable[str]) -> set[str]:
        """Take claims; see `Watched`."""
        numbers = {lock_number(f"claim {one}"): one for one in ids}
        query = "SELECT number FROM unnest(%s::bigint[]) AS number WHERE pg_try_advisory_lock(number)"
        with explained(self._name):
            return {numbers[number] for (number,) in self._connection.execute(query, (list(numbers),)).fetchall()}

    def release(self) -> None:
        """Give back what is held; see `Watched`."""
        with explained(self._name):
            self._connection.execute("SELECT pg_advisory_unlock_all()")

    def close(self) -> None:
        """End the watch; see `Watched`."""
        if self._writer is not None:
            self._writer.close()
        self._connection.close()
