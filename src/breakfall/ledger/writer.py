"""The writer of production: one step at a time, from any thread, into a segment of this process alone.

What `LedgerWriter.step` has returned from survives a kill of the process. In the durable mode, and always for a step
that blocks, it survives a kill of the machine: it is on disk before the call returns.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec.structs import replace

from breakfall.errors import RunError, StoreError
from breakfall.ledger import blobs
from breakfall.ledger.file import SegmentFile
from breakfall.ledger.line import ENCODER, FORMAT, Closed, Header, Holds, Line, Link, encode, segment_path
from breakfall.ledger.plain import plain
from breakfall.ledger.repair import marker, repair
from breakfall.ledger.scrub import Scrubber
from breakfall.ledger.severity import Severity, severity
from breakfall.vocab import Effect, EpisodeEnd, Step, VerificationStatus

ROTATE_BYTES = 64 * 1024 * 1024
ROTATE_S = 24 * 3600.0
_LOOKED = frozenset({VerificationStatus.PASSED, VerificationStatus.FAILED})


def blocks(step: Step) -> bool:
    """Whether a step must be on disk before anything else happens: an error, a verification, or what nothing undoes."""
    return (
        step.verification.status in _LOOKED
        or step.purpose == "probe"
        or step.effect is Effect.IRREVERSIBLE
        or severity(step) is Severity.ERROR
    )


def encoded(step: Step, scrub: Scrubber | None) -> tuple[Step, bytes]:
    """Return a step as it is written, and its JSON: without secrets, and with its text for what JSON has no form for.

    Raises:
        RunError: A field of it is of another type than it says.
    """
    try:
        body = encode(step)
    except RunError as error:
        try:
            step = msgspec.convert(plain(step), Step)
            body = encode(step)
        except msgspec.MsgspecError:
            raise error from None
    if scrub is not None and scrub.suspicious(body):
        step = scrub.scrub(step)
        body = encode(step)
    return step, body


class LedgerWriter:
    """Appends steps to a ledger's folder; implements `breakfall.vocab.StepSink`.

    It may be shared by threads. A forked child goes on in a segment of its own.

    Args:
        folder: The ledger's folder; it is made if it is not there.
        durable: Every step is on disk before the call returns, not only those that block.
        rotate_bytes: A segment of this size is closed and the next one begun.
        rotate_s: A segment of this age, likewise.
        scrub: Takes secrets out before anything is written; None leaves them in.
        now: The time in seconds since 1970; steps that do not say when they began get it.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        durable: bool = False,
        rotate_bytes: int = ROTATE_BYTES,
        rotate_s: float = ROTATE_S,
        scrub: Scrubber | None = Scrubber(),  # noqa: B008 - immutable
        now: Callable[[], float] = time.time,  # noqa: TID251 - a production step says when it was
    ) -> None:
        """Open a ledger for writing; segments that killed processes left are mended and closed.

        Raises:
            StoreError: The folder cannot be written, or a segment in it is damaged.
        """
        self.folder = Path(folder)
        self._durable = durable
        self._rotate_bytes = rotate_bytes
        self._rotate_s = rotate_s
        self._scrub = scrub
        self._now = now
        self._lock = threading.Lock()
        repair(self.folder)
        self._start()

    @property
    def segment(self) -> str:
        """The name of the segment that is being written."""
        return self._file.name

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
        values: list[bytes] = []
        if len(body) > blobs.LARGE_LINE:
            step, values = blobs.take_out(step)
            body = encode(step) if values else body
        self._append(body, values, durable=self._durable or blocks(step))

    def end(self, end: EpisodeEnd) -> None:
        """Store how an episode ended, on disk.

        Raises:
            StoreError: It could not be stored.
            RunError: It holds something that is no JSON value; nothing was written.
        """
        self.line(end if self._scrub is None else self._scrub.scrub(end))

    def line(self, line: Line) -> None:
        """Store a line that is no step, on disk.

        Raises:
            StoreError: It could not be stored.
            RunError: It holds something that is no JSON value; nothing was written.
        """
        self._append(encode(line), [], durable=True)

    def sync(self) -> None:
        """Return once all that was acknowledged is on disk; call it before what nothing undoes.

        Raises:
            StoreError: The disk refused.
        """
        self._file.sync(self._file.end)

    def close(self) -> None:
        """Close the segment in order; closing twice is allowed."""
        if self._pid == os.getpid():
            with self._lock:
                self._closed = True
                self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, body: bytes, values: list[bytes], *, durable: bool) -> None:
        if self._pid != os.getpid():
            self._go_on_in_child()
        with self._lock:
            file = self._file
            if file.end >= self._rotate_bytes or time.monotonic() >= self._rotate_at_s or file.closed:
                file = self._rotate()
            if values:
                file.append_large(body, values)
            else:
                file.append([body])
            end = file.end
        if durable:
            file.sync(end)

    def _start(self) -> None:
        """Begin the first segment of this process."""
        self._pid = os.getpid()
        self._writer = new_name(self._now())
        self._number = 0
        self._closed = False
        self._open(None)

    def _open(self, after: Link | None) -> None:
        name = f"{self._writer}-{self._number + 1:04}"
        path = segment_path(self.folder, name)
        header = Header(format=FORMAT, holds=Holds.STEPS, segment=name, after=after)
        self._file = SegmentFile(path, header, mark=marker(path))
        self._number += 1
        self._rotate_at_s = time.monotonic() + self._rotate_s
        _sync_folder(self._file.path.parent)

    def _rotate(self) -> SegmentFile:
        """Close the segment and go on in the next, which names the end of this one."""
        if self._closed:
            raise StoreError(f"{self.folder}: this writer was closed; open another one")
        self._finish()
        self._open(Link(segment=self._file.name, seq=self._file.seq, chain=self._file.link.hex()))
        return self._file

    def _finish(self) -> None:
        if not self._file.closed:
            self._file.append([ENCODER.encode(Closed())])
            self._file.sync(self._file.end)
            self._file.close()
            marker(self._file.path).unlink(missing_ok=True)

    def _go_on_in_child(self) -> None:
        """Leave the segment to the parent: its file and its lock are the parent's, and so may a held lock be."""
        self._lock = threading.Lock()
        self._file.forget()
        self._start()


def new_name(now_s: float) -> str:
    """Return a name that no other writer has, in the order of time."""
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now_s))}-{secrets.token_hex(4)}"


def _sync_folder(folder: Path) -> None:
    """Put a new file's name on disk."""
    try:
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StoreError(f"{folder}: the disk refused to store a new segment: {error.strerror}") from None
