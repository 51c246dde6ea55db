"""The write journal: no write goes out before its intent is stored, and none of unknown outcome goes out again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from breakfall.errors import UsageError
from breakfall.runtime.journal.book import AsyncLookup, Journal, Lookup, Summary
from breakfall.runtime.journal.entry import (
    Begun,
    Claim,
    Entry,
    Fresh,
    InFlightElsewhere,
    KeyReused,
    NeedsPerson,
    Note,
    Operation,
    Owner,
    Replayed,
    Send,
    State,
    Unsettled,
    canonical,
)
from breakfall.runtime.journal.store import Store

__all__ = [
    "AsyncLookup",
    "Begun",
    "Claim",
    "Entry",
    "Fresh",
    "InFlightElsewhere",
    "Journal",
    "KeyReused",
    "Lookup",
    "NeedsPerson",
    "Note",
    "Operation",
    "Owner",
    "Replayed",
    "Send",
    "State",
    "Store",
    "Summary",
    "Unsettled",
    "canonical",
    "open_journal",
]

_POSTGRES = ("postgresql://", "postgres://")


def open_journal(
    where: str | Path,
    *,
    now: Callable[[], float] = time.time,  # noqa: TID251 - processes share no other clock
    max_lookups: int = 5,
    busy_s: float = 10.0,
) -> Journal:
    """Open a journal, made if it is not there.

    Args:
        where: The path of a SQLite file on a local disk, or a ``postgresql://`` address, which several machines may
            share. Live sessions hold locks there, so the address must not lead through a pooler that shares sessions.
        now: The time in seconds, the same for everybody who shares the journal.
        max_lookups: After how many look-ups that do not tell a person is needed.
        busy_s: How long to wait for another writer.

    Raises:
        StoreError: It is no journal, is of another version, or cannot be opened.
        UsageError: What PostgreSQL needs is not installed, or the address is of another kind.
    """
    text = str(where)
    if text.startswith(_POSTGRES):
        from breakfall.runtime.journal.postgres import PostgresStore

        return Journal(PostgresStore(text, busy_s=busy_s), now=now, max_lookups=max_lookups)
    if "://" in text:
        kind = text.partition("://")[0]
        raise UsageError(f"a journal is a file's path or a postgresql:// address, not {kind}://")
    from breakfall.runtime.journal.sqlite import SqliteStore

    return Journal(SqliteStore(Path(where), busy_s=busy_s), now=now, max_lookups=max_lookups)
