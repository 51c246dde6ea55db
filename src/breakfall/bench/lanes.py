"""Lanes: one worker process each, so that a process that dies takes nothing but its current episode with it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import parent_process
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from breakfall.bench.matrix import Unit
from breakfall.bench.stage import broken
from breakfall.bench.work import Worker
from breakfall.errors import RunError
from breakfall.faults.profile import Profile
from breakfall.ledger import read
from breakfall.ledger.line import segment_path
from breakfall.ledger.segment import SegmentWriter
from breakfall.memory.beliefs import Memory
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import Ending, EpisodeEnd

_POLL_S = 0.1
_GRACE_S = 2.0
_FINISHED, _BEGUN, _STOP, _PID, _SLOTS = range(5)
"""What a lane's shared counters hold."""


class Job(Struct, frozen=True, kw_only=True):
    """A unit to run, without the episodes that are done."""

    unit: Unit
    done: frozenset[str]
    suspect: str | None = None
    """The episode in which a worker already died."""


class Terms(Struct, frozen=True, kw_only=True):
    """What all workers of a run share."""

    folder: Path
    profile: Profile
    limits: Limits
    memory: Memory | None = None


class Lanes:
    """Runs jobs in `count` worker processes.

    Attributes:
        lost: Episodes in which a worker died twice, with those of the same agent and task after them.
    """

    def __init__(self, terms: Terms, count: int) -> None:
        self.lost: list[str] = []
        context = multiprocessing.get_context("spawn")  # a fork server would keep the environment of its own start
        self._lanes = [_Lane(terms, f"w{n}", context) for n in range(count)]

    def run(self, jobs: Sequence[Job], progress: Callable[[int], None]) -> None:
        """Run all jobs; whatever stops it, what is stored stays.

        Args:
            jobs: What to run.
            progress: Called now and then with the number of episodes stored so far.

        Raises:
            UsageError: A world or an agent cannot be loaded in a worker.
            StoreError: A segment cannot be written.
            RunError: The worker processes do not start.
        """
        left = deque(jobs)
        running: dict[Future[None], tuple[_Lane, Job]] = {}
        try:
            while left or running:
                busy = {lane.name for lane, _ in running.values()}
                for lane in self._lanes:
                    if left and lane.name not in busy:
                        job = left.popleft()
                        running[lane.submit(job)] = (lane, job)
                ended, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                progress(sum(lane.finished for lane in self._lanes))
                for future in ended:
                    lane, job = running.pop(future)
                    try:
                        future.result()
                    except BrokenProcessPool:
                        left.extendleft(self._after_death(lane, job))
        finally:
            self._stop(list(running))

    def _after_death(self, lane: _Lane, job: Job) -> list[Job]:
        """Find out in which episode a worker died; return what is left to do of its job."""
        done = job.done | lane.bury()
        keys = [key for key in job.unit.episodes() if key.id not in done]
        if not keys:
            return []
        suspect = keys[0]
        if job.suspect != suspect.id:
            return [replace(job, done=done, suspect=suspect.id)]
        lost = [key for key in keys if key.agent == suspect.agent]
        for key in lost:
            why = "the worker process died twice" if key is suspect else f"not tried: the worker died in {suspect.id}"
            lane.store_broken(broken(key, Ending.AGENT_ERROR, f"{why} (killed, out of memory, or crashed)"))
            self.lost.append(key.id)
        done |= {key.id for key in lost}
        return [Job(unit=job.unit, done=done)] if len(lost) < len(keys) else []

    def _stop(self, running: list[Future[None]]) -> None:
        """Let workers finish their episode for a moment, then end them."""
        for lane in self._lanes:
            lane.counters[_STOP] = 1
        wait(running, timeout=_GRACE_S)
        for lane in self._lanes:
            lane.end(kill=any(not future.done() for future in running))


class _Lane:
    """One segment and the process that writes it."""

    def __init__(self, terms: Terms, name: str, context: BaseContext) -> None:
        self.name = name
        self.counters = context.RawArray("Q", _SLOTS)
        self._terms = terms
        self._context = context
        self._pool: ProcessPoolExecutor | None = None
        self._begun = 0
        self._length = 0
        self._buried = 0

    @property
    def finished(self) -> int:
        """Episodes that this lane has stored."""
        return int(self.counters[_FINISHED]) + self._buried

    def submit(self, job: Job) -> Future[None]:
        """Hand a job to the process, started if it is not there."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, mp_context=self._context, initializer=_begin, initargs=(self._terms, self.name, self.counters)
            )
        self._begun = int(self.counters[_BEGUN])
        path = segment_path(self._terms.folder, self.name)
        self._length = path.stat().st_size if path.exists() else 0
        return self._pool.submit(_work, job)

    def bury(self) -> set[str]:
        """Clear away a dead process; return the episodes that it stored of its last job.

        Raises:
            RunError: It never began to work.
        """
        self.end(kill=False)
        if self.counters[_BEGUN] == self._begun:
            raise RunError(
                "a worker process ended before it began to work; if breakfall is called from a script, "
                'guard the call with `if __name__ == "__main__":`'
            )
        return read.names(segment_path(self._terms.folder, self.name), self._length)

    def store_broken(self, end: EpisodeEnd) -> None:
        """Store an episode on behalf of the dead process."""
        with SegmentWriter(self._terms.folder, self.name) as writer:
            writer.episode([], end)
        self._buried += 1

    def end(self, *, kill: bool) -> None:
        """End the process; with `kill`, at once."""
        if self._pool is None:
            return
        if kill and self.counters[_PID]:
            with suppress(ProcessLookupError):
                os.kill(self.counters[_PID], signal.SIGKILL)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None


class _Process:
    """What a worker process keeps between jobs."""

    def __init__(self, terms: Terms, name: str, counters: Any) -> None:
        self.counters = counters
        self.runner = asyncio.Runner()
        self.worker = Worker(
            terms.folder,
            name,
            profile=terms.profile,
            limits=terms.limits,
            go_on=self._stored,
            memory=terms.memory,
        )

    def _stored(self) -> bool:
        self.counters[_FINISHED] += 1
        return not self.counters[_STOP]


_begun_with: tuple[Terms, str, Any] | None = None
_process: _Process | None = None


def _begin(terms: Terms, name: str, counters: Any) -> None:
    """Prepare a fresh worker process; what can fail waits for the first job, whose error reaches the parent."""
    global _begun_with
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and tells us
    counters[_PID] = os.getpid()
    _begun_with = (terms, name, counters)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _work(job: Job) -> None:
    """Run one job in the worker process."""
    global _process
    assert _begun_with is not None
    _begun_with[2][_BEGUN] += 1
    if _process is None:
        _process = _Process(*_begun_with)
    if not _process.counters[_STOP]:
        _process.runner.run(_process.worker.run(job.unit, job.done))


def _end_with_parent() -> None:
    """End this process when its parent is gone, so that a killed run leaves no writer behind."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
