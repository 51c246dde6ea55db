"""A memory in a file: versioned, and replaced whole, so that a kill leaves the old one or the new one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from breakfall.errors import StoreError, UsageError
from breakfall.memory.beliefs import FORMAT, Memory


def read(path: Path) -> Memory:
    """Read a memory.

    Raises:
        UsageError: There is none.
        StoreError: It is damaged or of a newer format.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"{path}: no memory is stored here; `breakfall memory learn RUN --out FILE` makes one"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        memory = msgspec.json.decode(raw, type=Memory)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreError(f"{path}: not a memory, or damaged: {error}; restore it, or learn it again") from None
    if memory.format > FORMAT:
        raise StoreError(f"{path}: format {memory.format}, this breakfall reads up to {FORMAT}; use a newer one")
    return memory


def encode(memory: Memory) -> bytes:
    """Encode a memory as its file holds it; equal memories give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(memory, order="sorted"), indent=1) + b"\n"


def write(path: Path, memory: Memory) -> None:
    """Write a memory, whole or not at all; when this returns, it is on disk.

    Raises:
        StoreError: It cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as stream:
            stream.write(encode(memory))
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise StoreError(f"{path}: cannot be written: {error.strerror}; make room or choose another file") from None


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a memory while it is read, changed and written, so that no other process's change is lost.

    Raises:
        StoreError: The lock file beside it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"{path}: cannot be locked: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
