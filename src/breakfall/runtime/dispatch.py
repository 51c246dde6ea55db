"""Run a declared function once. Timeouts are real, and a result that comes late is kept."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeAlias

import anyio.to_thread

from breakfall.runtime.boundary import failed_from, outcome_of
from breakfall.runtime.clock import SystemClock, VirtualClock
from breakfall.runtime.declare import Declared
from breakfall.runtime.run import Run
from breakfall.runtime.wants import Attempt, Done
from breakfall.vocab import Failed, Ok, Outcome

_Ended: TypeAlias = Future[Any] | asyncio.Future[Any]
_Late: TypeAlias = Callable[[_Ended], None]


class Dispatch:
    """Makes the attempts of a toolbox; what it started and nobody waits for any more, it still hears out."""

    def __init__(self, clock: SystemClock | VirtualClock) -> None:
        self._clock = clock
        self._pool: ThreadPoolExecutor | None = None
        self._running: set[asyncio.Future[Any]] = set()

    def once(self, run: Run, declared: Declared[Any, Any], want: Attempt) -> Done:
        """Make one attempt with a sync function; with a timeout it runs in a thread."""
        late = self._prepare(run, declared, want)
        sent_s = self._clock.now()
        outcome: Outcome
        error: Exception | None = None
        try:
            if declared.timeout_s is None:
                outcome = self._read(declared, want, declared.run(want.call.arguments))
            else:
                outcome = self._in_thread(declared, want.call.arguments, declared.timeout_s, late)
                outcome = self._read(declared, want, outcome.value) if isinstance(outcome, Ok) else outcome
        except Exception as raised:
            outcome, error = failed_from(raised, now_s=sent_s), raised
        return run.came_back(want, outcome, error, sent_s)

    async def aonce(self, run: Run, declared: Declared[Any, Any], want: Attempt) -> Done:
        """Make one attempt; an async function with a timeout runs as a task of its own, a sync one in a thread."""
        late = self._prepare(run, declared, want)
        sent_s = self._clock.now()
        arguments = want.call.arguments
        outcome: Outcome
        error: Exception | None = None
        try:
            if declared.is_async and declared.timeout_s is None:
                outcome = self._read(declared, want, await declared.run(arguments))
            elif declared.is_async:
                outcome = await self._as_task(declared, arguments, declared.timeout_s or 0.0, late)
                outcome = self._read(declared, want, outcome.value) if isinstance(outcome, Ok) else outcome
            else:
                called = contextvars.copy_context().run
                outcome = self._read(declared, want, await anyio.to_thread.run_sync(called, declared.run, arguments))
        except Exception as raised:
            outcome, error = failed_from(raised, now_s=sent_s), raised
        return run.came_back(want, outcome, error, sent_s)

    def close(self) -> None:
        """Wait for the threads that still run."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _read(self, declared: Declared[Any, Any], want: Attempt, value: Any) -> Outcome:
        """Read what came back: a body may say error under a 200, and a value may be one that cannot be right."""
        return outcome_of(
            value,
            schema=declared.returns,
            expect=declared.expect,
            arguments=want.call.arguments,
            now_s=self._clock.now(),
            writes=declared.spec.writes,
        )

    def _prepare(self, run: Run, declared: Declared[Any, Any], want: Attempt) -> _Late:
        """Let the attempt out, and say what to do with its result if it comes late."""
        claim = run.going_out(want)
        sent_s = self._clock.now()

        def late(ended: _Ended) -> None:
            error = None if ended.cancelled() else ended.exception()
            if ended.cancelled() or (error is not None and not isinstance(error, Exception)):
                return
            outcome = self._read(declared, want, ended.result()) if error is None else failed_from(error, now_s=sent_s)
            run.came_late(want, claim, Done(outcome, sent_s, self._clock.now()))

        return late

    def _in_thread(
        self, declared: Declared[Any, Any], arguments: dict[str, Any], timeout_s: float, late: _Late
    ) -> Outcome:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(thread_name_prefix="breakfall")
        future = self._pool.submit(contextvars.copy_context().run, declared.run, arguments)
        try:
            return Ok(value=future.result(timeout_s))
        except FutureTimeoutError:
            if future.done():
                return Ok(value=future.result())  # it ended just now, or raised a TimeoutError of its own
            future.add_done_callback(late)
            return _timed_out(declared, timeout_s)
        except BaseException:
            if not future.done():
                future.add_done_callback(late)
            raise

    async def _as_task(
        self, declared: Declared[Any, Any], arguments: dict[str, Any], timeout_s: float, late: _Late
    ) -> Outcome:
        task = asyncio.ensure_future(declared.run(arguments))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout_s)
        except BaseException:
            task.add_done_callback(late)
            raise
        if done:
            return Ok(value=task.result())
        task.add_done_callback(late)
        return _timed_out(declared, timeout_s)


def _timed_out(declared: Declared[Any, Any], timeout_s: float) -> Failed:
    return Failed(message=f"{declared.spec.name} did not answer within {timeout_s:g} s", exception="TimeoutError")
