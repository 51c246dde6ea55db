"""A ledger as a watchdog uses it: lines to read, a segment of its own to write, and claims that only one judges."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from breakfall.errors import UsageError
from breakfall.ledger.file import SegmentFile
from breakfall.ledger.line import ENCODER, FORMAT, Closed, Header, Holds, Link, encode, segment_path
from breakfall.ledger.retention import pruned
from breakfall.ledger.source import FolderSource, Source
from breakfall.ledger.store import address
from breakfall.ledger.verdict import Incident, StepVerdict

ROTATE_BYTES = 64 * 1024 * 1024
LOCK = "watch.lock"
STATE = "watch.db"


class Watched(Protocol):
    """One ledger under watch."""

    @property
    def source(self) -> Source:
        """Its lines."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other watchdogs may judge its claims, too."""
        ...

    def append(self, lines: Sequence[StepVerdict | Incident]) -> None:
        """Write lines behind those of this watchdog, on disk.

        Raises:
            StoreError: They could not be stored.
        """
        ...

    def dropped(self) -> Collection[str]:
        """Return the names of segments that were dropped on purpose.

        Raises:
            StoreError: The list of them cannot be read.
        """
        ...

    def hold(self, ids: Iterable[str]) -> set[str]:
        """Take claims for oneself; return those that nobody else holds."""
        ...

    def release(self) -> None:
        """Give back what is held."""
        ...

    def close(self) -> None:
        """End the watch in order; closing twice is allowed."""
        ...


class WatchedFolder:
    """A ledger in a folder; one watchdog at a time.

    It never touches segments of others, not even to mend one that a killed process left.

    Args:
        folder: The ledger's folder.

    Raises:
        UsageError: There is no ledger, or another watchdog watches it.
    """

    shared = False

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no ledger is here; give the folder that the agent's LedgerWriter writes to")
        self.source: Source = FolderSource(folder)
        self._folder = folder
        self._name = f"watch-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        self._number = 0
        self._file: SegmentFile | None = None
        self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UsageError(
                f"{folder}: another watchdog watches this ledger; several can share a ledger in PostgreSQL"
            ) from None

    def append(self, lines: Sequence[StepVerdict | Incident]) -> None:
        """Write lines; see `Watched`."""
        file = self._file
        if file is None or file.end >= ROTATE_BYTES:
            file = self._next(file)
        file.append([encode(line) for line in lines])
        file.sync(file.end)

    def dropped(self) -> Collection[str]:
        """Return what was dropped on purpose; see `Watched`."""
        return pruned(self._folder).keys()

    def hold(self, ids: Iterable[str]) -> set[str]:
        """Take claims; see `Watched`."""
        return set(ids)

    def release(self) -> None:
        """Give back nothing: nobody else is here."""

    def close(self) -> None:
        """End the watch; see `Watched`."""
        self._finish()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _next(self, before: SegmentFile | None) -> SegmentFile:
        """Begin a segment; it names the end of the one before."""
        after = None
        if before is not None:
            self._finish()
            after = Link(segment=before.name, seq=before.seq, chain=before.link.hex())
        self._number += 1
        name = f"{self._name}-{self._number:04}"
        header = Header(format=FORMAT, holds=Holds.STEPS, segment=name, after=after)
        self._file = SegmentFile(segment_path(self._folder, name), header)
        return self._file

    def _finish(self) -> None:
        if self._file is not None and not self._file.closed:
            self._file.append([ENCODER.encode(Closed())])
            self._file.sync(self._file.end)
            self._file.close()


def watched(where: str) -> Watched:
    """Open a ledger for watching.

    Args:
        where: A folder, or a ``postgresql://`` address.

    Raises:
        UsageError: There is no ledger, another watchdog watches it, or what PostgreSQL needs is not installed.
        StoreError: The server cannot be reached.
    """
    if "://" not in where:
        return WatchedFolder(Path(where))
    from breakfall.runtime.watch.place_postgres import WatchedPostgres

    return WatchedPostgres(address(where))


def state_path(where: str, folder: Path | None) -> Path:
    """Return the file of what a watchdog remembers of a ledger.

    Args:
        where: The ledger.
        folder: Where such files lie; None for the ledger's own folder.

    Raises:
        UsageError: The ledger has no folder.
    """
    if folder is not None:
        return folder / f"{blake2b(_absolute(where).encode(), digest_size=8).hexdigest()}.db"
    if "://" in where:
        raise UsageError("a ledger in PostgreSQL has no folder; say with --state where to remember what was read")
    return Path(where) / STATE


def _absolute(where: str) -> str:
    return where if "://" in where else str(Path(where).absolute())
