"""The process of a lane: runs jobs one after the other and tells its parent how each ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from enum import IntEnum, auto
from io import TextIOWrapper
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import parent_process
from pathlib import Path
from typing import Any

from msgspec import Struct

from breakfall.bench.matrix import Unit
from breakfall.bench.work import Worker
from breakfall.errors import BreakfallError, RunError
from breakfall.faults.profile import Profile
from breakfall.memory.beliefs import Memory
from breakfall.runtime.toolbox import Limits


class Job(Struct, frozen=True, kw_only=True):
    """A unit to run, without the episodes that are done."""

    unit: Unit
    done: frozenset[str]
    suspect: str | None = None
    """The episode in which a worker already died, or the agent that had to be killed last."""
    late: int = 0
    """How often in a row that agent had to be killed."""


class Terms(Struct, frozen=True, kw_only=True):
    """What all workers of a run share."""

    folder: Path
    profile: Profile
    limits: Limits
    memory: Memory | None = None


class Ended(Struct, frozen=True, kw_only=True):
    """What a process tells of a job."""

    error: Exception | None = None
    """What ended it, where that is not for one episode alone."""
    broke: str = ""
    """What code of someone else's did to the process, which cannot go on."""


class Slot(IntEnum):
    """The counters that a process shares with its parent."""

    FINISHED = 0
    ABSENT = auto()
    BEGUN = auto()
    STOP = auto()
    DUE_MS = auto()
    """When code of someone else's is overdue, on the monotonic clock; 0 while none runs."""


def serve(terms: Terms, name: str, counters: Any, line: Connection) -> None:
    """Run jobs until the parent has no more; never returns.

    Whatever foreign code leaves behind, such as a thread, ends with the process; what it writes to standard output
    goes to standard error, as standard output is the report's.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and tells us
    os.dup2(2, 1)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    process = _Process(terms, name, counters)
    with suppress(EOFError, OSError):
        while (job := line.recv()) is not None:
            counters[Slot.BEGUN] += 1
            ended = process.run(job)
            line.send(ended)
            if ended.broke:
                break
    process.close()
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


class _Process:
    """What a worker process keeps between jobs."""

    def __init__(self, terms: Terms, name: str, counters: Any) -> None:
        self._terms = terms
        self._name = name
        self._counters = counters
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(_keep_quiet)
        self._worker: Worker | None = None
        self._absent = 0

    def run(self, job: Job) -> Ended:
        """Run one job."""
        if self._counters[Slot.STOP]:
            return Ended()
        try:
            if self._worker is None:
                self._worker = self._opened()
            self._runner.run(self._worker.run(job.unit, job.done))
        except BreakfallError as error:
            return Ended(error=error)
        except BaseException as error:
            if self._counters[Slot.DUE_MS]:
                return Ended(broke=f"it ended the event loop: {type(error).__name__}: {error}")
            if isinstance(error, Exception):
                return Ended(error=error)
            return Ended(error=RunError(f"{type(error).__name__} in a worker process: {error}"))
        return Ended()

    def close(self) -> None:
        """Let go of the segment."""
        if self._worker is not None:
            self._worker.close()

    def _opened(self) -> Worker:
        return Worker(
            self._terms.folder,
            self._name,
            profile=self._terms.profile,
            limits=self._terms.limits,
            go_on=self._stored,
            memory=self._terms.memory,
            watch=self._watch,
        )

    def _stored(self) -> bool:
        assert self._worker is not None
        self._counters[Slot.FINISHED] += 1
        self._counters[Slot.ABSENT] += self._worker.absent - self._absent
        self._absent = self._worker.absent
        return not self._counters[Slot.STOP]

    def _watch(self, due_s: float) -> None:
        self._counters[Slot.DUE_MS] = int(due_s * 1000)


def _keep_quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say nothing of what an agent's background task raised: no episode ends by it."""


def _end_with_parent() -> None:
    """End this process when its parent is gone, so that a killed run leaves no writer behind."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
