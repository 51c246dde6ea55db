"""Lanes: one worker process each, so that a process that dies or hangs takes nothing but its episode with it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from signal import Signals

from msgspec import Struct
from msgspec.structs import replace

from breakfall.bench.process import Ended, Job, Slot, Terms, serve
from breakfall.bench.stage import PATIENCE, untried
from breakfall.errors import RunError
from breakfall.ledger import read
from breakfall.ledger.line import segment_path
from breakfall.ledger.segment import SegmentWriter
from breakfall.runtime.episode import broken
from breakfall.vocab import Ending, EpisodeEnd, EpisodeKey

_POLL_S = 0.1
_GRACE_S = 2.0


class Death(Struct, frozen=True, kw_only=True):
    """How a worker process ended that should have gone on."""

    why: str
    late: bool = False
    """It was ended because its episode did not."""


class Lanes:
    """Runs jobs in `count` worker processes.

    Attributes:
        lost: Episodes that were recorded on behalf of a process that died in them, each with the reason.
    """

    def __init__(self, terms: Terms, count: int) -> None:
        self.lost: dict[str, str] = {}
        self._terms = terms
        context = SpawnContext()  # a fork server would keep the environment of its own start
        self._lanes = [_Lane(terms, f"w{n}", context) for n in range(count)]

    @property
    def absent(self) -> int:
        """How many of the stored episodes do not exist, because their scenario does not apply."""
        return sum(lane.absent for lane in self._lanes)

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
        try:
            while True:
                for lane in self._lanes:
                    if left and lane.job is None:
                        lane.submit(left.popleft())
                busy = [lane for lane in self._lanes if lane.job is not None]
                if not busy:
                    return
                connection.wait([thing for lane in busy for thing in lane.signs], timeout=_POLL_S)
                for lane in busy:
                    left.extendleft(self._looked_at(lane))
                progress(sum(lane.finished for lane in self._lanes))
        finally:
            self._stop()

    def _looked_at(self, lane: _Lane) -> list[Job]:
        """See how a lane's job goes; return what is to be done again."""
        job, found = lane.job, lane.look()
        if found is None or job is None:
            return []
        if isinstance(found, Death):
            return self._after_death(lane, job, found)
        if found.error is not None:
            raise found.error
        return []

    def _after_death(self, lane: _Lane, job: Job, death: Death) -> list[Job]:
        """Record the episode in which a worker died, unless it is the first time; return what is left of its job."""
        done = job.done | lane.bury()
        keys = [key for key in job.unit.episodes() if key.id not in done]
        if not keys:
            return []
        suspect = keys[0]
        if death.late:
            times = job.late + 1 if job.suspect == suspect.agent else 1
            rest = [key for key in keys[1:] if key.agent == suspect.agent] if times >= PATIENCE else []
            self._record(lane, Ending.OUT_OF_BUDGET, suspect, death.why, rest, untried(self._terms.limits))
            again = replace(job, done=done | {suspect.id, *(key.id for key in rest)}, suspect=suspect.agent, late=times)
            return [again] if len(keys) > len(rest) + 1 else []
        if job.suspect != suspect.id:
            return [replace(job, done=done, suspect=suspect.id)]
        rest = [key for key in keys[1:] if key.agent == suspect.agent]
        untold = "not tried: the agent's process died twice in an earlier episode of this task"
        self._record(lane, Ending.AGENT_ERROR, suspect, f"the agent's process died twice: {death.why}", rest, untold)
        done |= {suspect.id, *(key.id for key in rest)}
        return [Job(unit=job.unit, done=done)] if len(keys) > len(rest) + 1 else []

    def _record(
        self, lane: _Lane, ending: Ending, suspect: EpisodeKey, why: str, rest: list[EpisodeKey], untold: str
    ) -> None:
        for key in (suspect, *rest):
            self.lost[key.id] = why if key is suspect else untold
            lane.store_broken(broken(key, ending, self.lost[key.id]))

    def _stop(self) -> None:
        """Let workers finish their episode for a moment, then end them."""
        for lane in self._lanes:
            lane.counters[Slot.STOP] = 1
        until_s = time.monotonic() + _GRACE_S
        for lane in self._lanes:
            lane.end(until_s)


class _Lane:
    """One segment and the process that writes it."""

    def __init__(self, terms: Terms, name: str, context: SpawnContext) -> None:
        self.job: Job | None = None
        self.counters = context.RawArray("Q", len(Slot))
        self._name = name
        self._terms = terms
        self._context = context
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None
        self._begun = 0
        self._length = 0
        self._buried = 0

    @property
    def finished(self) -> int:
        """Episodes that this lane has stored."""
        return int(self.counters[Slot.FINISHED]) + self._buried

    @property
    def absent(self) -> int:
        """Of those, the ones that do not exist."""
        return int(self.counters[Slot.ABSENT])

    @property
    def signs(self) -> list[Connection | int]:
        """What shows that something has happened in the process."""
        assert self._line is not None
        assert self._process is not None
        return [self._line, self._process.sentinel]

    def submit(self, job: Job) -> None:
        """Hand a job to the process, started if it is not there."""
        if self._process is None:
            self._line, theirs = self._context.Pipe()
            self._process = self._context.Process(
                target=serve, args=(self._terms, self._name, self.counters, theirs), name=self._name
            )
            self._process.start()
            theirs.close()
        self.job = job
        self._begun = int(self.counters[Slot.BEGUN])
        self.counters[Slot.DUE_MS] = 0
        path = segment_path(self._terms.folder, self._name)
        self._length = path.stat().st_size if path.exists() else 0
        assert self._line is not None
        try:
            self._line.send(job)
        except OSError:
            return  # it is dead, as `look` will find

    def look(self) -> Ended | Death | None:
        """Return how the job ended, or None while it runs."""
        assert self._line is not None
        assert self._process is not None
        try:
            if self._line.poll():
                ended: Ended = self._line.recv()
                if ended.broke:
                    return Death(why=ended.broke)
                self.job = None
                return ended
        except (OSError, EOFError):
            self._process.join(_GRACE_S)  # it is ending, or has closed what is not its own
            self._process.kill()
            self._process.join()
        if self._process.exitcode is not None:
            return Death(why=_ended_with(self._process.exitcode))
        due_ms = self.counters[Slot.DUE_MS]
        if due_ms and time.monotonic() * 1000 > due_ms:
            self._process.kill()
            return Death(why=f"the agent did not stop within {self._terms.limits.wall_s:g} s; it was killed", late=True)
        return None

    def bury(self) -> set[str]:
        """Clear away a dead process; return the episodes that it stored of its last job.

        Raises:
            RunError: It never began to work.
        """
        self.end(0.0)
        self.job = None
        if self.counters[Slot.BEGUN] == self._begun:
            raise RunError(
                "a worker process ended before it began to work; if breakfall is called from a script, "
                'guard the call with `if __name__ == "__main__":`'
            )
        return read.names(segment_path(self._terms.folder, self._name), self._length)

    def store_broken(self, end: EpisodeEnd) -> None:
        """Store an episode on behalf of the dead process."""
        with SegmentWriter(self._terms.folder, self._name) as writer:
            writer.episode([], end)
        self._buried += 1

    def end(self, until_s: float) -> None:
        """Ask the process to end, and kill it where it has not at `until_s` on the monotonic clock."""
        if self._process is None or self._line is None:
            return
        with suppress(OSError):  # it is gone
            self._line.send(None)
        self._process.join(max(0.0, until_s - time.monotonic()))
        self._process.kill()
        self._process.join()
        self._process.close()
        self._line.close()
        self._process = self._line = None


def _ended_with(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was killed by {Signals(-code).name}"
    except ValueError:
        return f"it was killed by signal {-code}"
