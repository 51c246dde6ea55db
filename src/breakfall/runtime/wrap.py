"""The toolbox for your own functions: recovery, the write journal and Steps around what you already have."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast
from uuid import uuid4

from breakfall.errors import UsageError, unknown_name
from breakfall.recovery.breaker import Breaker
from breakfall.recovery.budget import RetryBudget
from breakfall.recovery.policy import PRESETS, Policy
from breakfall.runtime.clock import SystemClock, VirtualClock
from breakfall.runtime.declare import Declared, by_name
from breakfall.runtime.dispatch import Dispatch, Missed
from breakfall.runtime.drive import adrive, drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.journal import Journal, Summary, open_journal
from breakfall.runtime.lookups import Lookups
from breakfall.runtime.run import Opening, Run
from breakfall.runtime.state import TaskState
from breakfall.runtime.stopped import raised
from breakfall.runtime.wants import Attempt, Flow, Late, Question, Reply, Reread, Sleep, Want
from breakfall.seeds import address
from breakfall.vocab import Applied, Belief, Failed, Handoff, Ok, Outcome, StepSink, Tool

P = ParamSpec("P")
R = TypeVar("R")

_UNLIMITED = 2**62


class Toolbox:
    """Guards declared tools: every call of theirs recovers by one policy, and no write goes out unrecorded.

    Args:
        tools: The tools, and every reader and path that they name.
        policy: A preset ("cautious", "balanced", "eager") or a `Policy`.
        journal: Where writes are stored before they go out: a file, a ``postgresql://`` address, or an open journal.
            Without one a lost answer is still looked up, but a killed process forgets what it sent.
        ledger: Where Steps go.
        memory: What was learned of the tools.
        retries: The budget of retries that all tasks share; None for no limit.
        ask: Answers a question to a person; without it nobody is there.
        refresh: Reads a tool's schema again when the tool says that it changed; a call that the new schema takes as it
            is goes out once more.
        clock: The time.

    Raises:
        UsageError: A tool names a reader or path that is not here, or two tools share a name.
    """

    def __init__(
        self,
        *tools: Declared[Any, Any],
        policy: Policy | str = "balanced",
        journal: Journal | str | Path | None = None,
        ledger: StepSink | None = None,
        memory: Belief | None = None,
        retries: RetryBudget | None = None,
        ask: Callable[[str], str] | None = None,
        refresh: Callable[[str], Tool | None] | None = None,
        clock: SystemClock | VirtualClock | None = None,
    ) -> None:
        if isinstance(policy, str) and policy not in PRESETS:
            raise unknown_name("policy", policy, PRESETS, "breakfall.recovery.policy.PRESETS")
        self._tools = by_name(tools)
        self._specs = {name: declared.spec for name, declared in self._tools.items()}
        self._policy = PRESETS[policy] if isinstance(policy, str) else policy
        self._clock = clock or SystemClock()
        self._own_journal = isinstance(journal, str | Path)
        self._journal = open_journal(journal, now=self._clock.now) if isinstance(journal, str | Path) else journal
        self._ledger = ledger
        self._memory = memory
        self._retries = retries if retries is not None else RetryBudget()
        self._ask = ask
        self._refresh = refresh
        self._breakers: dict[str, Breaker] = {}
        self._dispatch = Dispatch(self._clock)
        self._default = self._new_run(f"run-{uuid4().hex}", "", _UNLIMITED, float("inf"), alone=True)
        self._current: contextvars.ContextVar[Run | None] = contextvars.ContextVar("breakfall run", default=None)

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return dict(self._specs)

    def __getitem__(self, declared: Declared[P, R]) -> Callable[P, R]:
        """Return the guarded function: same signature, same colour.

        It returns what the function returns, raises what the function raises of itself (its own refusals), and raises
        `CallStopped` where recovery gave up.
        """
        name = self._known(declared).spec.name
        if declared.is_async:

            @functools.wraps(declared.function)
            async def guarded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                run, arguments = self._run(), declared.arguments(args, kwargs)
                missed = None
                if declared.simple and run.unburdened(name):
                    run.state.calls_left -= 1
                    first = await self._dispatch.asimply(declared, arguments)
                    if isinstance(first, Ok):
                        run.state.passed(name)
                        return first.value
                    missed = first
                opening, outcome = await self._aguarded(run, declared, arguments, {}, missed)
                return outcome.value if isinstance(outcome, Ok) else raised(run, opening, outcome)

            return cast("Callable[P, R]", guarded_async)

        @functools.wraps(declared.function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            run, arguments = self._run(), declared.arguments(args, kwargs)
            missed = None
            if declared.simple and run.unburdened(name):
                run.state.calls_left -= 1
                first = self._dispatch.simply(declared, arguments)
                if isinstance(first, Ok):
                    run.state.passed(name)
                    return cast("R", first.value)
                missed = first
            opening, outcome = self._guarded(run, declared, arguments, {}, missed)
            return cast("R", outcome.value if isinstance(outcome, Ok) else raised(run, opening, outcome))

        return guarded

    def add(self, *tools: Declared[Any, Any]) -> None:
        """Add tools.

        Raises:
            UsageError: A tool names a reader or path that is not here, or its name is taken.
        """
        named = by_name((*self._tools.values(), *tools))
        self._tools.update(named)
        self._specs.update({name: declared.spec for name, declared in named.items()})

    def value_of(self, tool: Declared[Any, Any] | str, arguments: dict[str, Any], **more: Any) -> Any:
        """Call a tool as `call` does, and return its value or raise as the guarded function would."""
        declared, run = self._known(tool), self._run()
        opening, outcome = self._guarded(run, declared, declared.arguments((), arguments), more)
        return outcome.value if isinstance(outcome, Ok) else raised(run, opening, outcome)

    async def avalue_of(self, tool: Declared[Any, Any] | str, arguments: dict[str, Any], **more: Any) -> Any:
        """Do what `value_of` does, without blocking the event loop."""
        declared, run = self._known(tool), self._run()
        opening, outcome = await self._aguarded(run, declared, declared.arguments((), arguments), more)
        return outcome.value if isinstance(outcome, Ok) else raised(run, opening, outcome)

    def call(self, tool: Declared[Any, Any] | str, arguments: dict[str, Any], **more: Any) -> Outcome:
        """Call a tool by name and return how it ended; nothing is raised for what the tool does.

        Args:
            tool: The tool or its name.
            arguments: Its arguments by name.
            more: `expected`, `context` and `again`, as in `breakfall.vocab.Toolbox.call`; `repeatable=False` for a
                call that can be sent only once.
        """
        declared = self._known(tool)
        if declared.is_async:
            raise UsageError(f"tool {declared.spec.name!r} is async: await `acall` instead of `call`")
        return self._guarded(self._run(), declared, declared.arguments((), arguments), more)[1]

    async def acall(self, tool: Declared[Any, Any] | str, arguments: dict[str, Any], **more: Any) -> Outcome:
        """Do what `call` does, without blocking the event loop; sync tools run in a thread."""
        declared = self._known(tool)
        return (await self._aguarded(self._run(), declared, declared.arguments((), arguments), more))[1]

    @contextmanager
    def task(
        self, goal: str, *, run: str | None = None, deadline_s: float | None = None, calls: int | None = None
    ) -> Iterator[Run]:
        """Begin a task: the calls inside share its budget, its operations and its hand-over.

        Args:
            goal: What it is for; a person who takes over reads it.
            run: Its name. With a name that comes back after a restart, a write that an earlier process made is
                answered with its recorded result.
            deadline_s: Seconds from now after which nothing is tried again.
            calls: How many attempts it may make.
        """
        with self.within(self.begin(goal, run=run, deadline_s=deadline_s, calls=calls)) as begun:
            yield begun

    def begin(
        self, goal: str, *, run: str | None = None, deadline_s: float | None = None, calls: int | None = None
    ) -> Run:
        """Make a task to be entered with `within`, also more than once; the arguments are those of `task`."""
        end_s = float("inf") if deadline_s is None else self._clock.now() + deadline_s
        return self._new_run(run or f"run-{uuid4().hex}", goal, _UNLIMITED if calls is None else calls, end_s)

    @contextmanager
    def within(self, run: Run) -> Iterator[Run]:
        """Make the calls inside belong to a task that was begun before."""
        token = self._current.set(run)
        try:
            yield run
        finally:
            self._current.reset(token)

    @property
    def current(self) -> Run | None:
        """The task that calls belong to here, if one was begun."""
        return self._current.get()

    def handoff(self, reason: str) -> Handoff:
        """Build the packet for a person from the current task."""
        return self._run().handoff(reason)

    def reconcile(self) -> Summary:
        """Look up every journalled write whose process died or gave up; call it at start.

        Raises:
            UsageError: The toolbox has no journal, or a reader is async (`areconcile`).
        """
        return self._journalled().reconcile(Lookups(self._tools, self._policy.agreeing).look_up)

    async def areconcile(self) -> Summary:
        """Do what `reconcile` does with async readers."""
        return await self._journalled().reconcile_async(Lookups(self._tools, self._policy.agreeing).alook_up)

    def close(self) -> None:
        """Wait for attempts that timed out and still run, and close the journal if this toolbox opened it."""
        self._dispatch.close()
        if self._own_journal and self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _new_run(self, name: str, goal: str, calls: int, deadline_s: float, *, alone: bool = False) -> Run:
        state = TaskState(
            tools=self._specs,
            policy=self._policy,
            place=address("run", name),
            calls_left=calls,
            deadline_s=deadline_s,
            retries=self._retries,
            belief=self._memory,
            rereads=self._refresh is not None,
            breakers=self._breakers,
        )
        return Run(
            name=name,
            goal=goal,
            state=state,
            journal=self._journal,
            ledger=self._ledger,
            clock=self._clock,
            alone=alone,
        )

    def _run(self) -> Run:
        return self._current.get() or self._default

    def _known(self, tool: Declared[Any, Any] | str) -> Declared[Any, Any]:
        name = tool if isinstance(tool, str) else tool.spec.name
        found = self._tools.get(name)
        if found is None:
            raise unknown_name("tool", name, self._tools, "the tools given to this Toolbox")
        return found

    def _journalled(self) -> Journal:
        if self._journal is None:
            raise UsageError("this Toolbox has no journal; give it `journal=PATH`")
        return self._journal

    def _guarded(
        self,
        run: Run,
        declared: Declared[Any, Any],
        arguments: dict[str, Any],
        more: dict[str, Any],
        missed: Missed | None = None,
    ) -> tuple[Opening, Outcome]:
        opening = run.open(declared, arguments, more)
        outcome: Outcome
        over = run.over() if missed is None else None
        if over is not None:
            return opening, run.spent(opening, over)
        perform = functools.partial(self._perform, run)
        if opening.operation is None:
            outcome = drive(self._flow(run, opening, more, missed), perform)
            if run.errors or type(outcome) is not Ok:
                run.leave(opening, outcome)
            return opening, outcome
        write = opening.write
        if write is not None and self._journal is not None:
            answered = write.opened(self._journal.wait(write.operation, write.send, _PATIENCE_S))
            if answered is not None:
                return opening, run.replayed(opening, answered, declared)
        run.enter(opening)
        outcome = _CUT_OFF
        try:
            outcome = drive(self._flow(run, opening, more), perform)
        finally:
            run.leave(opening, outcome)
        return opening, outcome

    async def _aguarded(
        self,
        run: Run,
        declared: Declared[Any, Any],
        arguments: dict[str, Any],
        more: dict[str, Any],
        missed: Missed | None = None,
    ) -> tuple[Opening, Outcome]:
        opening = run.open(declared, arguments, more)
        outcome: Outcome
        over = run.over() if missed is None else None
        if over is not None:
            return opening, run.spent(opening, over)
        perform = functools.partial(self._aperform, run)
        if opening.operation is None:
            outcome = await adrive(self._flow(run, opening, more, missed), perform)
            if run.errors or type(outcome) is not Ok:
                run.leave(opening, outcome)
            return opening, outcome
        write = opening.write
        if write is not None and self._journal is not None:
            answered = write.opened(await self._journal.wait_async(write.operation, write.send, _PATIENCE_S))
            if answered is not None:
                return opening, run.replayed(opening, answered, declared)
        run.enter(opening)
        outcome = _CUT_OFF
        try:
            outcome = await adrive(self._flow(run, opening, more), perform)
        finally:
            run.leave(opening, outcome)
        return opening, outcome

    def _flow(self, run: Run, opening: Opening, more: dict[str, Any], missed: Missed | None = None) -> Flow:
        first = None
        if missed is not None:
            want = Attempt(call=opening.call, tool=opening.tool)
            first = run.came_back(want, missed.failed, missed.error, missed.sent_s)
        return call_flow(
            opening.call,
            run.state,
            self._clock.now(),
            operation=opening.operation,
            unsettled_since_s=opening.write.since_s if opening.write is not None else None,
            repeatable=more.get("repeatable", True),
            first=first,
        )

    def _perform(self, run: Run, want: Want) -> Reply:
        if type(want) is Attempt:
            return self._dispatch.once(run, self._tools[want.call.tool], want)
        if type(want) is Sleep:
            self._clock.wait(want.seconds)
            return self._clock.now()
        return self._answered(run, want)

    async def _aperform(self, run: Run, want: Want) -> Reply:
        if type(want) is Attempt:
            return await self._dispatch.aonce(run, self._tools[want.call.tool], want)
        if type(want) is Sleep:
            await self._clock.sleep(want.seconds)
            return self._clock.now()
        return self._answered(run, want)

    def _answered(self, run: Run, want: Want) -> Reply:
        if type(want) is Late:
            return run.heard(want.call)
        if type(want) is Reread and self._refresh is not None:
            fresh = self._refresh(want.tool)
            if fresh is not None:
                self._specs[want.tool] = fresh
            return fresh
        if type(want) is Question and self._ask is not None:
            return self._ask(want.text)
        return ""


_PATIENCE_S = 30.0
"""How long a call waits for another process that is running the same operation."""

_CUT_OFF = Failed(message="the caller went away before the answer came", applied=Applied.UNKNOWN)
