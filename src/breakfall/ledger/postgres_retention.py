"""Letting go of old segments of a ledger in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import psycopg

from breakfall.ledger.chain import ENVELOPE
from breakfall.ledger.postgres import PostgresDatabase, connect, explained, lock_number, public_name
from breakfall.ledger.retention import Pruned, Pruning

_SEGMENTS = """
    SELECT g.id, g.name, EXTRACT(EPOCH FROM g.begun)::double precision,
        (SELECT line FROM bf_lines l WHERE l.segment = g.id ORDER BY seq DESC LIMIT 1)
    FROM bf_written g ORDER BY g.name
"""
_NEWEST = """
    SELECT count(*), max((line::json ->> 'unix_s')::double precision), sum(octet_length(line)) FROM bf_lines
    WHERE segment = %s AND line LIKE '{"line":"step"%%'
"""


def prune(
    url: str,
    *,
    older_s: float,
    dry: bool = False,
    now: Callable[[], float] = time.time,  # noqa: TID251 - age is counted in real time
) -> Pruning:
    """Drop segments that nobody writes and whose newest step is old; see `breakfall.ledger.retention.prune`.

    Raises:
        StoreError: The server cannot be reached.
    """
    name, now_s = public_name(url), now()
    connection = connect(url)
    dropped, kept, freed = [], 0, 0
    try:
        with explained(name):
            for number, segment, begun_s, last in connection.execute(_SEGMENTS).fetchall():
                steps, newest_s, size = connection.execute(_NEWEST, (number,)).fetchone() or (0, None, 0)
                age_s = now_s - (begun_s if newest_s is None else newest_s)
                if last is None or age_s <= older_s or not _left(connection, segment):
                    kept += 1
                    continue
                end = ENVELOPE.decode(last)
                told = Pruned(
                    segment=segment,
                    seq=end.seq,
                    chain=end.chain,
                    steps=steps,
                    newest_s=newest_s,
                    pruned_s=round(now_s, 3),
                )
                dropped.append(told)
                freed += int(size or 0)
                if not dry:
                    _drop(connection, number, told)
            if dropped and not dry:
                PostgresDatabase(connection, name).throw_away()
    finally:
        connection.close()
    return Pruning(dropped=tuple(dropped), kept=kept, freed_bytes=freed)


def _left(connection: psycopg.Connection, segment: str) -> bool:
    """Whether no living session writes a segment."""
    number = lock_number(segment)
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
    if row is None or not row[0]:
        return False
    connection.execute("SELECT pg_advisory_unlock(%s)", (number,))
    return True


def _drop(connection: psycopg.Connection, number: int, told: Pruned) -> None:
    with connection.transaction():
        connection.execute(
            "INSERT INTO bf_pruned (segment, told) VALUES (%s, %s) ON CONFLICT (segment) DO NOTHING",
            (told.segment, msgspec.json.encode(told).decode()),
        )
        connection.execute("DELETE FROM bf_lines WHERE segment = %s", (number,))
        connection.execute("DELETE FROM bf_written WHERE id = %s", (number,))
