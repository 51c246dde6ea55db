"""Run a declared function once. Timeouts are real, and a result that comes late is kept."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeAlias

import anyio.to_thread
from msgspec import Struct

from breakfall.runtime.boundary import failed_from, outcome_of
from breakfall.runtime.clock import SystemClock, VirtualClock
from breakfall.runtime.declare import Declared
from breakfall.runtime.journal import Claim
from breakfall.runtime.run import Run
from breakfall.runtime.wants import Attempt, Done
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Outcome

_Ended: TypeAlias = Future[Any] | asyncio.Future[Any]


class Missed(Struct, frozen=True):
    """A first attempt that failed: how, what was raised, and when it was sent."""

    failed: Failed
    error: Exception | None
    sent_s: float


class Dispatch:
    """Makes the attempts of a toolbox; what it started and nobody waits for any more, it still hears out."""

    def __init__(self, clock: SystemClock | VirtualClock, *, threads: int = 32) -> None:
        self._clock = clock
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._running: set[asyncio.Future[Any]] = set()

    def once(self, run: Run, declared: Declared[Any, Any], want: Attempt) -> Done:
        """Make one attempt with a sync function; with a timeout it runs in a thread."""
        claim = run.going_out(want)
        sent_s = self._clock.now()
        arguments = want.call.arguments
        outcome: Outcome
        error: Exception | None = None
        timeout_s = run.timeout_s(declared)
        try:
            if timeout_s is None:
                outcome = self.read(declared, arguments, declared.run(arguments))
            else:
                late = _Late(self, run, declared, want, claim, sent_s)
                outcome = self._in_thread(self._submit(declared, arguments), timeout_s, late)
        except Exception as raised:
            outcome, error = failed_from(raised, now_s=sent_s), raised
        return run.came_back(want, outcome, error, sent_s)

    async def aonce(self, run: Run, declared: Declared[Any, Any], want: Attempt) -> Done:
        """Make one attempt; an async function with a timeout runs as a task of its own, a sync one in a thread."""
        claim = run.going_out(want)
        sent_s = self._clock.now()
        arguments = want.call.arguments
        outcome: Outcome
        error: Exception | None = None
        timeout_s = run.timeout_s(declared)
        try:
            if timeout_s is not None:
                late = _Late(self, run, declared, want, claim, sent_s)
                running = declared.run(arguments) if declared.is_async else self._submit(declared, arguments)
                outcome = await self._as_task(running, timeout_s, late)
            elif declared.is_async:
                outcome = self.read(declared, arguments, await declared.run(arguments))
            else:
                called = contextvars.copy_context().run
                outcome = self.read(
                    declared, arguments, await anyio.to_thread.run_sync(called, declared.run, arguments)
                )
        except Exception as raised:
            outcome, error = failed_from(raised, now_s=sent_s), raised
        return run.came_back(want, outcome, error, sent_s)

    def simply(self, declared: Declared[Any, Any], arguments: dict[str, Any]) -> Ok | Missed:
        """Make the first attempt of a simple sync tool, without a flow: most end here."""
        sent_s = self._clock.now()
        try:
            outcome = self.read(declared, arguments, declared.run(arguments))
        except Exception as error:
            return Missed(failed_from(error, now_s=sent_s), error, sent_s)
        return outcome if isinstance(outcome, Ok) else Missed(outcome, None, sent_s)

    async def asimply(self, declared: Declared[Any, Any], arguments: dict[str, Any]) -> Ok | Missed:
        """Do the same with a simple async tool."""
        sent_s = self._clock.now()
        try:
            outcome = self.read(declared, arguments, await declared.run(arguments))
        except Exception as error:
            return Missed(failed_from(error, now_s=sent_s), error, sent_s)
        return outcome if isinstance(outcome, Ok) else Missed(outcome, None, sent_s)

    def close(self) -> None:
        """Wait for the threads that still run."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def read(self, declared: Declared[Any, Any], arguments: dict[str, Any], value: Any) -> Outcome:
        """Read what came back: a body may say error under a 200, and a value may be one that cannot be right."""
        return outcome_of(
            value,
            schema=declared.returns,
            expect=declared.expect,
            arguments=arguments,
            now_s=self._clock.now() if declared.expect else 0.0,
            writes=declared.writes,
        )

    def _submit(self, declared: Declared[Any, Any], arguments: dict[str, Any]) -> Future[Any]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="breakfall")
        return self._pool.submit(contextvars.copy_context().run, declared.run, arguments)

    def _in_thread(self, future: Future[Any], timeout_s: float, late: _Late) -> Outcome:
        try:
            return late.in_time(future.result(timeout_s))
        except FutureTimeoutError:
            if future.cancel():
                return late.never_began(timeout_s)
            if future.done():
                return late.in_time(future.result())  # it ended just now, or raised a TimeoutError of its own
            late.wait_for(future)
            return late.timed_out(timeout_s)
        except BaseException:
            if not future.done():
                late.wait_for(future)
            raise

    async def _as_task(self, running: Coroutine[Any, Any, Any] | Future[Any], timeout_s: float, late: _Late) -> Outcome:
        if isinstance(running, Future):
            task: asyncio.Future[Any] = asyncio.wrap_future(running)
        else:
            task = asyncio.ensure_future(running)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout_s)
        except BaseException:
            late.wait_for(task)
            raise
        if done:
            return late.in_time(task.result())
        if isinstance(running, Future) and running.cancel():
            return late.never_began(timeout_s)
        late.wait_for(task)
        return late.timed_out(timeout_s)


class _Late:
    """One attempt with a timeout, and what becomes of its result."""

    __slots__ = ("_claim", "_declared", "_dispatch", "_run", "_sent_s", "_want")

    def __init__(
        self,
        dispatch: Dispatch,
        run: Run,
        declared: Declared[Any, Any],
        want: Attempt,
        claim: Claim | None,
        sent_s: float,
    ) -> None:
        self._dispatch = dispatch
        self._run = run
        self._declared = declared
        self._want = want
        self._claim = claim
        self._sent_s = sent_s

    def in_time(self, value: Any) -> Outcome:
        """Read a value that came in time."""
        return self._dispatch.read(self._declared, self._want.call.arguments, value)

    def timed_out(self, timeout_s: float) -> Failed:
        """Say that it did not come in time."""
        name = self._declared.spec.name
        return Failed(message=f"{name} did not answer within {timeout_s:g} s", exception="TimeoutError")

    def never_began(self, timeout_s: float) -> Failed:
        """Say that all threads were busy, so that nothing was sent."""
        message = f"{self._declared.spec.name} did not begin within {timeout_s:g} s: all threads are busy"
        return Failed(message=message, kind=FaultKind.TIMEOUT, applied=Applied.NO)

    def wait_for(self, ended: _Ended) -> None:
        """Take the result when it comes."""
        self._run.timed_out(self._want)
        ended.add_done_callback(self._came)

    def _came(self, ended: _Ended) -> None:
        try:
            error = None if ended.cancelled() else ended.exception()
            if ended.cancelled() or not (error is None or isinstance(error, Exception)):
                return  # it was cut off, and tells nothing
            outcome = self.in_time(ended.result()) if error is None else failed_from(error, now_s=self._sent_s)
            self._run.came_late(self._want, self._claim, outcome, self._sent_s)
        finally:
            self._run.ended(self._want)
