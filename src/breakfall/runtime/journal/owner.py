"""Life: a file lock that the kernel gives back when its process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import uuid
from pathlib import Path

from breakfall.errors import StoreError
from breakfall.runtime.journal.entry import Owner
from breakfall.runtime.journal.store import HOST, forget_in_children


class Life:
    """One owner's lock, held as long as the process lives or until `end`.

    A lock tells more than a process number does: numbers come again, and two containers that share a journal
    do not see each other's.
    """

    def __init__(self, folder: Path) -> None:
        """Begin a life whose lock lies in `folder`, and clear away the locks of the dead.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                if not _locked(path):
                    path.unlink(missing_ok=True)
            self.owner, self._path, self._file = _lock_new(folder)
        except OSError as error:
            raise StoreError(
                f"{folder}: cannot keep the lock that shows who is alive: {error.strerror}. Make room, or make the "
                "folder writable"
            ) from None
        forget_in_children(self)

    def end(self) -> None:
        """Give the lock back; twice is allowed."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            self.forget()

    def forget(self) -> None:
        """Close this process's copy of the lock's file; whoever else has one still holds the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def lives(folder: Path, owner: Owner) -> bool:
    """Whether an owner whose lock lies in `folder` is alive.

    Raises:
        StoreError: The lock cannot be looked at.
    """
    try:
        return _locked(folder / owner.id)
    except OSError as error:
        raise StoreError(f"{folder / owner.id}: cannot see whether {owner} is alive: {error.strerror}") from None


def _lock_new(folder: Path) -> tuple[Owner, Path, int]:
    while True:
        owner = Owner(id=uuid.uuid4().hex, host=HOST, pid=os.getpid())
        path = folder / owner.id
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists():
                return owner, path, file
        except BlockingIOError:
            pass  # somebody who clears away the dead looked at it before it was locked, and is about to remove it
        os.close(file)


def _locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
