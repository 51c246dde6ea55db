"""Run a bench: every episode of the matrix, once, in one process or several, and resumed where it was stopped."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from breakfall.bench import manifest as manifests
from breakfall.bench import preflight
from breakfall.bench.lanes import Lanes
from breakfall.bench.manifest import Manifest
from breakfall.bench.matrix import Spec, Unit, expand
from breakfall.bench.process import Job, Terms
from breakfall.bench.work import Worker
from breakfall.errors import StoreError, UsageError
from breakfall.ledger import read
from breakfall.ledger.line import segment_paths
from breakfall.ledger.segment import SegmentHeldError, SegmentWriter

Progress: TypeAlias = Callable[[int, int], None]
"""(episodes stored, of how many); called now and then."""

_POLL_S = 0.1
_ORPHANS_S = 10.0


class RunResult(Struct, frozen=True, kw_only=True):
    """What a run came to."""

    folder: Path
    """Absolute: code of someone else's may change the current directory."""
    episodes: int
    """Of the whole matrix, not applicable ones included."""
    ran: int
    """Those that this start settled; the others were there."""
    absent: int
    """Of those that this start settled, the ones that are not applicable."""
    wall_s: float


def no_progress(done: int, total: int) -> None:
    """Tell nobody."""


def run(spec: Spec, folder: Path | None = None, *, jobs: int = 1, progress: Progress = no_progress) -> RunResult:
    """Run a spec into a folder, or go on with the same run that stands there.

    Args:
        spec: What to run.
        folder: The run folder; None: `runs/<world>-<digest>`, the same for the same spec, data and code.
        jobs: Worker processes; 1 runs everything in this process, unless it is someone else's code.
        progress: Told how far the run is.

    Raises:
        UsageError: Something that the spec names does not exist, or the folder holds another run.
        StoreError: The folder cannot be written or is damaged.
        KeyboardInterrupt: Ctrl-C or SIGTERM; everything finished is kept.
    """
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}, must be at least 1")
    home = Path.cwd()
    units = expand(spec)
    wanted = manifests.describe(spec)
    preflight.check_profile(wanted.profile, spec)
    folder = home / (
        folder or Path("runs") / f"{spec.worlds[0].partition('=')[0].rpartition(':')[2]}-{manifests.digest(wanted)}"
    )
    with _held(folder), _stopped_by_signals():
        manifest = _taken_up(folder, wanted)
        done = _settled(folder)
        todo = [job for unit in units if (job := _job(unit, done)) is not None]
        total = sum(unit.size for unit in units)
        before = total - sum(job.unit.size - len(job.done) for job in todo)
        started_s = time.monotonic()
        terms = Terms(folder=folder, profile=manifest.profile, limits=spec.limits, memory=manifest.memory)
        complete = False
        try:
            absent = _run_jobs(terms, todo, min(jobs, len(todo)), lambda ran: progress(before + ran, total))
            complete = True
        finally:
            wall_s = time.monotonic() - started_s
            ended = replace(manifest, complete=complete, wall_s=round(manifest.wall_s + wall_s, 3))
            with nullcontext() if complete else suppress(StoreError):  # what stopped the run matters more
                manifests.write(folder, ended)
    return RunResult(folder=folder, episodes=total, ran=total - before, absent=absent, wall_s=wall_s)


def _run_jobs(terms: Terms, todo: list[Job], count: int, progress: Callable[[int], None]) -> int:
    """Run jobs in so many processes, someone else's code never in this one; return how many were not applicable."""
    if count > 1 or any(job.unit.foreign for job in todo):
        lanes = Lanes(terms, count)
        lanes.run(todo, progress)
        return lanes.absent
    return _run_here(terms, todo, progress) if todo else 0


def _run_here(terms: Terms, todo: list[Job], progress: Callable[[int], None]) -> int:
    ran = 0
    shown_s = time.monotonic()

    def stored() -> bool:
        nonlocal ran, shown_s
        ran += 1
        if time.monotonic() - shown_s > _POLL_S:
            shown_s = time.monotonic()
            progress(ran)
        return True

    async def work() -> None:
        for job in todo:
            await worker.run(job.unit, job.done)

    with Worker(
        terms.folder, "w0", profile=terms.profile, limits=terms.limits, go_on=stored, memory=terms.memory
    ) as worker:
        asyncio.run(work())
    progress(ran)
    return worker.absent


def _job(unit: Unit, done: set[str]) -> Job | None:
    there = frozenset(key.id for key in unit.episodes() if key.id in done) if done else frozenset[str]()
    return Job(unit=unit, done=there) if len(there) < unit.size else None


def _taken_up(folder: Path, wanted: Manifest) -> Manifest:
    """Return the manifest of the run that goes on in a folder, written if it is new there."""
    if not (folder / manifests.NAME).exists():
        if segment_paths(folder):
            raise UsageError(f"{folder} holds segments but no {manifests.NAME}; choose another --out, or remove it")
        manifests.write(folder, wanted)
        return wanted
    stored = manifests.read(folder)
    if differs := manifests.differences(stored, wanted):
        raise UsageError(
            f"{folder} holds another run: {'; '.join(differs)}. Choose another --out, or remove the folder"
        )
    return stored


def _settled(folder: Path) -> set[str]:
    """Mend the segments and return what is stored, once no worker of a killed run writes any more."""
    deadline_s = time.monotonic() + _ORPHANS_S
    for path in segment_paths(folder):
        while True:
            try:
                SegmentWriter(folder, path.stem).close()
                break
            except SegmentHeldError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_POLL_S)
    return read.complete(folder)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a run folder, so that no two runs write into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be used as a run folder: {error.strerror}") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another breakfall runs here; wait for it, or choose another --out") from None
        yield
    finally:
        os.close(file)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Stop at once on Ctrl-C and SIGTERM; the event loop's own way waits for an await that may never come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = [(number, signal.signal(number, stop)) for number in heard]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
