"""The injector: stands before an environment's tools and breaks calls as the profile and the blockade say."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any, TypeAlias

from msgspec import Struct

from breakfall.faults import corrupt, payload
from breakfall.faults.corrupt import Falsified
from breakfall.faults.drift import Drift, drift
from breakfall.faults.profile import Burst, Profile, Vector
from breakfall.faults.scenario import Blockade
from breakfall.faults.shape import shape_of
from breakfall.seeds import Stream, address, uniforms
from breakfall.vocab import Environment, Failed, FaultKind, FaultSource, Injection, Ok, Outcome, Tool

Injected: TypeAlias = tuple[Outcome, Injection | None]

_ANSWER_LOST = frozenset({FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE})
_APPLIED_FIRST = 0.5
_KINDS = tuple(FaultKind)


class Marks(Struct, frozen=True):
    """A vector made ready to draw from: a roll below `sums[i]` and not below `sums[i - 1]` means `kinds[i]`."""

    sums: tuple[float, ...]
    kinds: tuple[FaultKind | None, ...]
    """One more than `sums`: the last is None, a clean call."""


_CLEAN = Marks((), (None,))


class _Line:
    """What the injector keeps of one tool in one episode."""

    __slots__ = ("applies_first", "drift", "in_row", "marks", "nth", "prefix", "refusals", "shut", "tool")

    def __init__(self, tool: Tool, prefix: bytes, marks: Marks, *, applies_first: bool, shut: FaultKind | None) -> None:
        self.tool = tool
        self.prefix = prefix
        self.marks = marks
        self.applies_first = applies_first
        self.shut = shut
        self.nth = 0
        self.in_row = 0
        self.drift: Drift | None = None
        self.refusals: dict[FaultKind, Failed] = {}
        """What stays until its remedy."""

    def standing(self, *, new_form: bool) -> FaultKind | None:
        """Return the sticky fault that meets a call, whose arguments may be in the new form."""
        if FaultKind.AUTH_ERROR in self.refusals:
            return FaultKind.AUTH_ERROR  # no caller has fresh credentials
        return FaultKind.SCHEMA_DRIFT if FaultKind.SCHEMA_DRIFT in self.refusals and not new_form else None


class _Strike(Struct, frozen=True):
    """A fault on its way to one call."""

    line: _Line
    kind: FaultKind
    nth: int
    luck: float
    """A second draw: whether a lost write was applied first."""
    new_form: bool
    """The arguments came in the form that an earlier drift asked for."""

    def injection(self, *, executed: bool, **more: Any) -> Injection:
        return Injection(kind=self.kind, source=FaultSource.NOISE, nth=self.nth, executed=executed, **more)


class Injector:
    """Breaks the calls of one episode.

    What the n-th call of a tool meets depends on seed, world, task, tool and n alone: not on the agent, nor on what
    else it calls. Only the caps look at the rest of the episode; what they hold back is recorded as suppressed.

    Args:
        environment: Whose tools are called.
        profile: The noise.
        blockade: What is shut all episode.
        seed: The episode's seed.
        world: The world's name.
        task: The task's id.
    """

    def __init__(
        self, environment: Environment, profile: Profile, blockade: Blockade, *, seed: int, world: str, task: str
    ) -> None:
        self._environment = environment
        self._profile = profile
        self._blockade = blockade
        self._burst = profile.burst
        self._idle = profile.quiet and not blockade.tools
        self._place = address(seed, "noise", world, task)
        self._burst_place = address(seed, "burst", world, task)
        self._common = _marks(profile.kinds)
        self._bursts: dict[tuple[str, int], Marks] = {}
        self._lines: dict[str, _Line] = {}
        self._fired = 0

    async def call(self, tool: str, arguments: dict[str, Any]) -> Injected:
        """Call a tool, unless a fault is in the way.

        Returns:
            What the caller sees, and what was done to the call: None for nothing, not even suppressed.
        """
        if self._idle:
            return await self._environment.call(tool, arguments), None
        line = self._lines.get(tool)
        if line is None:
            line = self._open(tool)
            if line is None:  # no tool of this world: refusing the call is the environment's part
                return await self._environment.call(tool, arguments), None
        nth = line.nth
        line.nth = nth + 1
        if line.shut is not None:
            return self._blockaded(line, line.shut, arguments, nth)
        new_form = False
        if line.drift is not None:
            real = line.drift.translated(arguments)
            if real is not None:
                arguments, new_form = real, True
        if line.refusals:
            kind = line.standing(new_form=new_form)
            if kind is not None:
                return line.refusals[kind], _Strike(line, kind, nth, 0.0, new_form).injection(
                    executed=False, sticky=True
                )
        marks = line.marks if self._burst is None else self._marks_now(line, nth, self._burst)
        if marks.sums:
            roll, luck, _, _ = uniforms(line.prefix, nth)
            kind = marks.kinds[bisect_right(marks.sums, roll)]
            if kind is not None:
                return await self._capped(_Strike(line, kind, nth, luck, new_form), arguments)
        line.in_row = 0
        return await self._environment.call(tool, arguments), None

    def _open(self, name: str) -> _Line | None:
        """Start to keep what is needed of a tool at its first call."""
        tools = self._environment.tools
        tool = tools.get(name)
        if tool is None:
            return None
        own = self._profile.tools.get(name)
        line = self._lines[name] = _Line(
            tool,
            self._place + address(name),
            self._common if own is None else _marks(own),
            applies_first=tool.writes and tool.reader is not None and tool.reader.tool in tools,
            shut=self._blockade.kinds.get(name),
        )
        return line

    def _marks_now(self, line: _Line, nth: int, burst: Burst) -> Marks:
        """Return what the n-th call of a tool draws from: the burst's kind alone inside one, else its own vector."""
        domain, window = line.tool.fault_domain, nth // burst.window
        known = self._bursts.get((domain, window))
        if known is None:
            chance, which, _, _ = uniforms(self._burst_place + address(domain), window)
            kind = burst.kinds[int(which * len(burst.kinds))] if chance < burst.chance else None
            known = self._bursts[domain, window] = _CLEAN if kind is None else _marks({kind: burst.rate})
        return known if known.sums else line.marks

    def _blockaded(self, line: _Line, kind: FaultKind, arguments: dict[str, Any], nth: int) -> Injected:
        """Fail as every call of a shut tool fails, all episode; nothing of the true answer is in it."""
        draw = Stream(line.prefix + address("blockade"))
        change = drift(line.tool, arguments, draw) if kind is FaultKind.SCHEMA_DRIFT else None
        never_ran = Ok(value={"request": arguments, "result": {}})
        failed = payload.failure(kind, line.tool, draw, answer=never_ran, change=change)
        return failed, Injection(kind=kind, source=FaultSource.BLOCKADE, nth=nth, executed=False)

    async def _capped(self, strike: _Strike, arguments: dict[str, Any]) -> Injected:
        """Let the fault strike if the caps allow it and it can; else the call passes and the draw is on record."""
        line = strike.line
        fits = self._fired < self._profile.max_total and line.in_row < self._profile.max_in_row
        if not fits or (strike.kind is FaultKind.SCHEMA_DRIFT and strike.new_form):
            line.in_row = 0
            outcome = await self._environment.call(line.tool.name, arguments)
            return outcome, strike.injection(executed=True, suppressed=True)
        self._fired += 1  # before any other call of the episode can look
        line.in_row += 1
        draw = Stream(line.prefix + address(strike.nth))
        if strike.kind.silent:
            outcome, injection = await self._silent(strike, arguments, draw)
        else:
            outcome, injection = await self._observable(strike, arguments, draw)
        if injection.suppressed:
            self._fired -= 1
            line.in_row = 0
        return outcome, injection

    async def _observable(self, strike: _Strike, arguments: dict[str, Any], draw: Stream) -> tuple[Failed, Injection]:
        line, kind = strike.line, strike.kind
        tool = line.tool
        truth: Outcome | None = None
        shown: Outcome | None = None
        if kind in _ANSWER_LOST and self._runs_first(strike):
            truth = shown = await self._environment.call(tool.name, arguments)
        elif kind is FaultKind.MALFORMED_RESPONSE:
            shown = await self._environment.pretend(tool.name, arguments)
        elif kind is FaultKind.SCHEMA_DRIFT and line.drift is None:
            line.drift = drift(tool, arguments, Stream(line.prefix + address("drift")))
        failed = payload.failure(kind, tool, draw, answer=shown, change=line.drift)
        stays = self._profile.sticky and kind in (FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT)
        if stays:
            line.refusals[kind] = failed
        return failed, strike.injection(
            executed=truth is not None,
            sticky=stays,
            true_value=truth.value if isinstance(truth, Ok) else None,
            true_refusal=truth.message if isinstance(truth, Failed) else None,
        )

    def _runs_first(self, strike: _Strike) -> bool:
        """Whether the tool runs although its answer is lost: a write by the draw, a read only to have what to cut."""
        if strike.line.tool.writes:
            return strike.line.applies_first and strike.luck < _APPLIED_FIRST
        return strike.kind is FaultKind.MALFORMED_RESPONSE

    async def _silent(self, strike: _Strike, arguments: dict[str, Any], draw: Stream) -> tuple[Outcome, Injection]:
        tool = strike.line.tool
        earlier = None
        if tool.writes:
            if strike.kind is FaultKind.FACTUAL_ERROR:
                return await self._false_success(strike, arguments)
            if strike.kind is FaultKind.STALE_VALUE:
                earlier = self._environment.earlier(tool.name, arguments)  # the state before: ask before it runs
        truth = await self._environment.call(tool.name, arguments)
        if strike.kind is FaultKind.STALE_VALUE and not tool.writes:
            earlier = self._environment.earlier(tool.name, arguments)
        false = self._falsified(strike, truth, arguments, earlier, draw) if isinstance(truth, Ok) else None
        if false is None or not isinstance(truth, Ok):
            return truth, strike.injection(executed=True, suppressed=True)
        return false.outcome, strike.injection(executed=True, true_value=truth.value, corruptions=false.corruptions)

    def _falsified(
        self, strike: _Strike, truth: Ok, arguments: dict[str, Any], earlier: Any, draw: Stream
    ) -> Falsified | None:
        shape = shape_of(strike.line.tool.returns)
        if strike.kind is FaultKind.PARTIAL_DATA:
            return corrupt.partial_data(truth, shape, draw)
        if strike.kind is FaultKind.STALE_VALUE:
            return corrupt.stale_value(truth, shape, draw, earlier, ages=not strike.line.tool.writes)
        return corrupt.factual_error(truth, shape, draw, self._environment.ids, arguments)

    async def _false_success(self, strike: _Strike, arguments: dict[str, Any]) -> tuple[Outcome, Injection]:
        """Answer as if the write had been applied; a write that would be refused is refused."""
        name = strike.line.tool.name
        pretended = await self._environment.pretend(name, arguments)
        if isinstance(pretended, Failed):
            return await self._environment.call(name, arguments), strike.injection(executed=True, suppressed=True)
        false = corrupt.false_success(pretended)
        return false.outcome, strike.injection(executed=False, corruptions=false.corruptions)


def _marks(vector: Vector) -> Marks:
    """Make a vector ready to draw from, whatever the order it was written in."""
    struck = [(kind, rate) for kind in _KINDS if (rate := vector.get(kind, 0.0)) > 0]
    sums = tuple(accumulate(rate for _, rate in struck))
    return Marks(sums, (*(kind for kind, _ in struck), None))
