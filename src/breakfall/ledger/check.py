"""Checking and pruning a ledger by where it is: a folder or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

import msgspec

from breakfall.errors import StoreError, UsageError
from breakfall.ledger import retention
from breakfall.ledger.finding import Checked, Head
from breakfall.ledger.line import segment_paths
from breakfall.ledger.repair import repair
from breakfall.ledger.retention import Pruning, pruned
from breakfall.ledger.source import FolderSource
from breakfall.ledger.sqlite import NAME, SqliteDatabase
from breakfall.ledger.store import address
from breakfall.ledger.verify import verify


def check(where: str, *, against: Path | None = None, mend: bool = False) -> Checked:
    """Check every segment of a ledger against its hashes, its index, and ends that were kept elsewhere.

    Args:
        where: A folder, or a ``postgresql://`` address.
        against: A file that `save` wrote.
        mend: First close the segments of killed processes.

    Raises:
        UsageError: No ledger is there, or the file is none of ours.
        StoreError: A segment cannot be read at all.
    """
    kept = {} if against is None else _kept(against)
    if "://" in where:
        from breakfall.ledger.postgres import PostgresDatabase, PostgresSource, connect, public_name

        name = public_name(address(where))
        connection = connect(where)
        try:
            source = PostgresSource(connection, name)
            return verify(source, PostgresDatabase(connection, name), source.pruned(), kept)
        finally:
            connection.close()
    folder = _folder(where)
    if mend:
        repair(folder, every=True)
    index = SqliteDatabase(folder / NAME) if (folder / NAME).is_file() else None
    try:
        return verify(FolderSource(folder), index, pruned(folder), kept)
    finally:
        if index is not None:
            index.close()


def save(checked: Checked, path: Path) -> None:
    """Keep the ends of all segments in a file.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(checked.heads)) + b"\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot write the ends of the segments: {error.strerror}") from None


def prune(where: str, *, older_s: float | None, pack_older_s: float | None, dry: bool = False) -> Pruning:
    """Drop old segments and pack closed ones; see `breakfall.ledger.retention.prune`.

    Raises:
        UsageError: No ledger is there, or one in PostgreSQL is to be packed.
        StoreError: It cannot be read or written.
    """
    if "://" not in where:
        return retention.prune(_folder(where), older_s=older_s, pack_older_s=pack_older_s, dry=dry)
    from breakfall.ledger import postgres_retention

    if pack_older_s is not None or older_s is None:
        raise UsageError("a ledger in PostgreSQL is compressed by the server; give --older-than alone")
    return postgres_retention.prune(address(where), older_s=older_s, dry=dry)


def _folder(where: str) -> Path:
    folder = Path(where)
    if not segment_paths(folder):
        raise UsageError(f"{folder}: no ledger is here (no segments/*.jsonl)")
    return folder


def _kept(path: Path) -> dict[str, Head]:
    try:
        heads = msgspec.json.decode(path.read_bytes(), type=list[Head])
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path}: is no file of ends that `breakfall ledger verify --save` wrote: {error}") from None
    return {head.segment: head for head in heads}
