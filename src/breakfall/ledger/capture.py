"""Steps from code that has its own tools: a decorator and a context manager."""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast
from uuid import uuid4

import msgspec

from breakfall.errors import UsageError
from breakfall.ledger.draft import Draft, Place, refusal, step_of
from breakfall.ledger.expected import judge
from breakfall.ledger.observed import answered, in_doubt, raised, with_answer
from breakfall.ledger.plain import plain
from breakfall.ledger.uncertainty import parse
from breakfall.vocab import (
    Applied,
    Cost,
    Effect,
    Expected,
    Failed,
    Outcome,
    Response,
    Step,
    StepSink,
    Uncertainty,
    Verification,
    VerificationStatus,
)

P = ParamSpec("P")
R = TypeVar("R")
Expectation: TypeAlias = str | Expected
ExpectedOf: TypeAlias = Expectation | Callable[..., Expectation]
"""What a call is for, or a function that tells it from the call's arguments."""

_KEPT_CALLS = 10_000
"""Calls that later reports may name as their parent or evidence."""

_inside: ContextVar[tuple[str, int] | None] = ContextVar("breakfall step", default=None)
"""Episode and number of the step whose block is running."""


def wall_clock() -> Callable[[], float]:
    """Return a function that tells the seconds since 1970 and never runs backwards."""
    offset_s = time.time() - time.monotonic()  # noqa: TID251 - the default for who gives no clock
    return lambda: offset_s + time.monotonic()


class OpenStep:
    """A step whose block is running; what is said of it here becomes its Step when the block ends.

    Attributes:
        n: Its number in the episode, for `evidence` of another step.
    """

    __slots__ = ("_effect", "cost", "n", "outcome", "signal", "size_bytes", "verification")

    def __init__(self, n: int, effect: Effect) -> None:
        self.n = n
        self.outcome: Outcome | None = None
        self.verification: Verification | None = None
        self.signal = Uncertainty.MISSING
        self.cost: Cost | None = None
        self.size_bytes: int | None = None
        self._effect = effect

    def observe(self, value: Any, *, status: int | None = None, size_bytes: int | None = None) -> None:
        """Say what the tool answered; it is kept whole. A status from 400 on is a failure.

        Args:
            value: The answer, parsed.
            status: HTTP status.
            size_bytes: Bytes of the answer as it came.
        """
        self.outcome = answered(value, status=status, effect=self._effect)
        self.size_bytes = size_bytes

    def failed(
        self, message: str, *, status: int | None = None, body: str | None = None, applied: Applied | None = None
    ) -> None:
        """Say that the tool failed without raising.

        Args:
            message: What it said.
            status: HTTP status.
            body: What the server sent, whole.
            applied: Whether a write took effect; where it is not said, nobody knows.
        """
        doubt = in_doubt(self._effect) if applied is None else applied
        self.outcome = Failed(message=message, status=status, body=body, applied=doubt)

    def verified(self, passed: bool, *, method: str, by: str = "agent", evidence: int | None = None) -> None:
        """Say that somebody looked whether the step did what it was for.

        Args:
            passed: Whether it did.
            method: How it was looked up.
            by: Who looked: "agent", "runtime" or "watchdog".
            evidence: `n` of the step that is the evidence.
        """
        status = VerificationStatus.PASSED if passed else VerificationStatus.FAILED
        self.verification = Verification(status=status, method=method, by=by, evidence=evidence)

    def model_said(self, text: str) -> None:
        """Read the model's ``UNCERTAINTY:`` line from what it wrote about this step."""
        self.signal = parse(text)

    def used(
        self, *, tokens_in: int = 0, tokens_cached: int = 0, tokens_out: int = 0, usd: float = 0.0, model_calls: int = 0
    ) -> None:
        """Say what the step cost."""
        self.cost = Cost(
            model_calls=model_calls, tokens_in=tokens_in, tokens_cached=tokens_cached, tokens_out=tokens_out, usd=usd
        )


class Capture:
    """Makes Steps of calls and hands them to a sink, each when its call has ended.

    Steps made inside the block of another one, in the same task or thread, name it as their parent.

    Args:
        sink: Where the Steps go.
        episode: What the Steps belong to, such as one task of the agent; a name of its own if left out.
        run: What the episode belongs to, such as a conversation.
        agent: The agent's name.
        agent_version: Its version.
        now: Seconds since 1970.
        failed_from: How an exception becomes a failure; it may tell more than class, message and status.
    """

    def __init__(
        self,
        sink: StepSink,
        *,
        episode: str = "",
        run: str = "",
        agent: str = "",
        agent_version: str = "",
        now: Callable[[], float] | None = None,
        failed_from: Callable[[BaseException], Failed] | None = None,
    ) -> None:
        self.episode = episode or f"episode-{uuid4().hex}"
        self._sink = sink
        self._run = run
        self._agent = agent
        self._agent_version = agent_version
        self._now = now or wall_clock()
        self._failed_from = failed_from
        self._numbers = itertools.count()
        self._began_s = self._now()
        self._calls: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def step(
        self,
        tool: str,
        *,
        expected: Expectation,
        effect: Effect,
        arguments: Mapping[str, Any] | None = None,
        key: str | None = None,
        strategy: Response | None = None,
        attempt: int = 1,
    ) -> Iterator[OpenStep]:
        """Record the block as one step; inside, `observe` what the tool answered.

        An exception is recorded as the outcome and raised on.

        Args:
            tool: The tool's name.
            expected: What the step is for.
            effect: What the tool does to the world.
            arguments: What it is called with.
            key: Idempotency key.
            strategy: Which response to an earlier failure led to it.
            attempt: Which attempt of the call it is, from 1.

        Raises:
            UsageError: Nothing is expected, or the block ended and nothing was observed.
        """
        if not expected:
            raise refusal(("expected_outcome",))
        opened = OpenStep(next(self._numbers), effect)
        parent, began_s = _inside.get(), self._now()
        draft = Draft(
            tool=tool,
            run=self._run,
            agent=self._agent,
            agent_version=self._agent_version,
            arguments=plain(arguments or {}),
            attempt=attempt,
            strategy=strategy,
            effect=effect,
            key=key,
            expected_outcome=expected,
        )
        token = _inside.set((self.episode, opened.n))
        try:
            yield opened
        except BaseException as error:
            opened.outcome = self._raised(error, opened.outcome, effect)
            raise
        finally:
            _inside.reset(token)
            if opened.outcome is not None:
                self._close(opened, draft, parent, began_s)
        if opened.outcome is None:
            raise UsageError(
                f"Step needs observed_outcome; call `observe(value)` or `failed(message)` in the block of {tool!r}"
            )

    def tool(
        self, *, expected: ExpectedOf, effect: Effect, name: str | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Record every call of a function as one step; what it returns is what was observed.

        Args:
            expected: What its calls are for; a function of the same arguments may tell it call by call.
            effect: What it does to the world.
            name: The tool's name, if it is not the function's.

        Raises:
            UsageError: The function is a generator: its answer is not there when it returns.
        """

        def wrap(function: Callable[P, R]) -> Callable[P, R]:
            tool = name or function.__name__
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise UsageError(f"{tool!r} yields its answer bit by bit; record it with `step(...)` where it is read")
            signature = inspect.signature(function)

            def opening(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                said = expected(*args, **kwargs) if callable(expected) else expected
                return self.step(tool, expected=said, effect=effect, arguments=_bound(signature, args, kwargs))

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def recorded_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                    with opening(args, kwargs) as opened:
                        value = await function(*args, **kwargs)
                        opened.observe(value)
                        return value

                return cast("Callable[P, R]", recorded_async)

            @functools.wraps(function)
            def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
                with opening(args, kwargs) as opened:
                    value = function(*args, **kwargs)
                    opened.observe(value)
                    return value

            return recorded

        return wrap

    def record(self, draft: Draft, *, unix_s: float | None = None) -> Step:
        """Make a Step of a draft and hand it to the sink: what happened elsewhere and was only reported here.

        Args:
            draft: What is known of it; all four required fields.
            unix_s: When it was reported, in seconds since 1970, if not now.

        Raises:
            UsageError: A required field is missing, or `parent` or `evidence` is no call that was recorded here.
        """
        ended_s = (self._now() if unix_s is None else unix_s) if draft.ended_unix_s is None else draft.ended_unix_s
        took_s = draft.took_s or 0.0
        began_s = ended_s - took_s if draft.unix_s is None else draft.unix_s
        inside = (self.episode, self._number(draft.parent, "parent")) if draft.parent else _inside.get()
        evidence = self._number(draft.evidence, "evidence") if draft.evidence else None
        n = next(self._numbers)
        place = self._place(n, inside, began_s, took_s or max(0.0, ended_s - began_s))
        place = msgspec.structs.replace(
            place, episode=draft.episode or self.episode, call=draft.call or place.call, evidence=evidence
        )
        step = step_of(_named(draft, self._run, self._agent, self._agent_version), place)
        self._sink.step(step)
        self._remember(place.call, n)
        return step

    def _number(self, call: str, field: str) -> int:
        """Return the number of the step that was made for a call."""
        found = self._calls.get(call)
        if found is None:
            raise UsageError(
                f"Step: {field} is {call!r}, which is no call among the last {_KEPT_CALLS:,} recorded here"
            )
        return found

    def _remember(self, call: str, n: int) -> None:
        with self._lock:
            self._calls[call] = n
            if len(self._calls) > _KEPT_CALLS:
                del self._calls[next(iter(self._calls))]

    def _raised(self, error: BaseException, before: Outcome | None, effect: Effect) -> Failed:
        if self._failed_from is None:
            return with_answer(raised(error, effect=effect), before)
        failed = self._failed_from(error)
        if not failed.native and failed.applied is Applied.NO:
            failed = msgspec.structs.replace(failed, applied=in_doubt(effect))
        return with_answer(failed, before)

    def _close(self, opened: OpenStep, draft: Draft, parent: tuple[str, int] | None, began_s: float) -> None:
        assert opened.outcome is not None
        expected = cast("Expectation", draft.expected_outcome)
        verification = opened.verification or judge(expected, opened.outcome, draft.effect)
        place = self._place(opened.n, parent, began_s, self._now() - began_s)
        said = msgspec.structs.replace(
            draft,
            observed_outcome=opened.outcome,
            verification=verification,
            uncertainty_signal=opened.signal,
            size_bytes=opened.size_bytes,
        )
        step = step_of(said, place)
        self._sink.step(step if opened.cost is None else msgspec.structs.replace(step, cost=opened.cost))
        self._remember(place.call, opened.n)

    def _place(self, n: int, parent: tuple[str, int] | None, began_s: float, took_s: float) -> Place:
        episode, above = parent if parent is not None else ("", None)
        return Place(
            episode=self.episode,
            n=n,
            call=f"c{n}",
            at_s=round(began_s - self._began_s, 6),
            unix_s=round(began_s, 6),
            took_s=round(took_s, 6),
            parent=above,
            parent_episode=episode if episode != self.episode else "",
        )


def _named(draft: Draft, run: str, agent: str, version: str) -> Draft:
    return msgspec.structs.replace(
        draft,
        run=draft.run or run,
        agent=draft.agent or agent,
        agent_version=draft.agent_version or version,
    )


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments by name, without the object that a method belongs to."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    first = next(iter(signature.parameters), None)
    return {name: value for name, value in bound.arguments.items() if not (name == first and name in {"self", "cls"})}
