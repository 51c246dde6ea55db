"""A writer by where the ledger is: a folder or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from breakfall.ledger.scrub import Scrubber
from breakfall.ledger.store import address
from breakfall.ledger.writer import LedgerWriter

if TYPE_CHECKING:
    from breakfall.ledger.postgres_writer import PostgresWriter


def open_writer(
    where: str | Path, *, durable: bool = False, scrub: Scrubber | None = None
) -> LedgerWriter | PostgresWriter:
    """Open a ledger for writing; it is made if it is not there.

    Args:
        where: A folder, or a ``postgresql://`` address.
        durable: Every step is on disk before the call returns, not only those that block.
        scrub: Takes secrets out before anything is written; by default with the built-in rules.

    Raises:
        StoreError: It cannot be written, or the server cannot be reached.
        UsageError: The address is of another kind, or what PostgreSQL needs is not installed.
    """
    scrub = scrub if scrub is not None else Scrubber()
    if "://" not in str(where):
        return LedgerWriter(where, durable=durable, scrub=scrub)
    url = address(str(where))
    from breakfall.ledger.postgres_writer import PostgresWriter

    return PostgresWriter(url, durable=durable, scrub=scrub)
