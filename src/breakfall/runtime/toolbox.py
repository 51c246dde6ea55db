"""The toolbox that an agent holds in an episode: flow, injector, budget and Steps behind one `call`."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from breakfall.faults.inject import Injector
from breakfall.recovery.classify import classify
from breakfall.recovery.handoff import build
from breakfall.recovery.policy import Policy
from breakfall.runtime.clock import VirtualClock
from breakfall.runtime.drive import adrive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState, borne_out, operation_of
from breakfall.runtime.wants import Attempt, Done, Question, Reply, Sleep, Want
from breakfall.seeds import address
from breakfall.vocab import (
    Applied,
    Belief,
    Call,
    Environment,
    Failed,
    FaultKind,
    Handoff,
    Ok,
    Outcome,
    Step,
    Task,
    Tool,
    Uncertainty,
    Verification,
    VerificationStatus,
)

LATENCY_S = 0.2
"""What a call takes on the virtual clock; a timeout takes the tool's own `timeout_s`."""

_NOT_APPLICABLE = Verification(status=VerificationStatus.NOT_APPLICABLE)
_NOT_DONE = Verification(status=VerificationStatus.NOT_DONE)


class Limits(Struct, frozen=True, kw_only=True):
    """What one episode may use."""

    calls: int = 60
    seconds: float = 3600.0
    """On the episode's own clock."""
    wall_s: float = 120.0
    """Real seconds for an agent that is not built in."""


class OutOfBudget(BaseException):
    """The call budget is used up. Not an `Exception`, so that an agent's own handler does not keep it going."""


class WorldBroke(BaseException):
    """A tool of the world raised instead of answering. Not an `Exception`, for the same reason."""


class EpisodeToolbox:
    """A `Toolbox` over one environment; every attempt becomes a Step.

    Args:
        task: The task.
        episode: The episode's id, for its Steps.
        environment: The opened world.
        injector: What stands between the calls and the environment.
        clock: The episode's clock.
        policy: How to recover.
        belief: What memory says of the tools.
        limits: What the episode may use.
        place: Seed, world and task: where the randomness of recovery lives.
        shut: For the oracle alone: the tools that the scenario shuts.
        share_results: Hand out tools and recorded values themselves; only for agents known not to change them.
    """

    def __init__(
        self,
        *,
        task: Task,
        episode: str,
        environment: Environment,
        injector: Injector,
        clock: VirtualClock,
        policy: Policy,
        belief: Belief | None = None,
        limits: Limits,
        place: tuple[str | int, ...],
        shut: frozenset[str] | None = None,
        share_results: bool = False,
    ) -> None:
        self.steps: list[Step] = []
        self.turn = 0
        self.usd = 0.0
        self._assigned = task
        self._episode = episode
        self._environment = environment
        self._injector = injector
        self._clock = clock
        self._share = share_results
        self._shown: dict[str, Tool] | None = None
        self._calls = 0
        self._state = TaskState(
            tools=environment.tools,
            policy=policy,
            belief=belief,
            place=address(*place),
            calls_left=limits.calls,
            deadline_s=limits.seconds,
            shut=shut,
        )

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of the task, by name; copies, unless results are shared too."""
        if self._share:
            return self._environment.tools
        if self._shown is None:
            self._shown = {name: _shown(tool) for name, tool in self._environment.tools.items()}
        return self._shown

    @property
    def last_call(self) -> str:
        """The id of the last call."""
        return f"c{self._calls}"

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        expected: str = "",
        context: dict[str, Any] | None = None,
        sources: dict[str, str] | None = None,
        again: bool = False,
    ) -> Outcome:
        """Call a tool; see `breakfall.vocab.Toolbox`."""
        self._calls += 1
        call = Call(
            id=f"c{self._calls}",
            tool=tool,
            arguments=arguments if self._share else _copied(arguments),
            expected=expected or f"{tool} answers",
            context=(context if self._share else _copied(context)) if context else {},
            sources=dict(sources) if sources else {},
        )
        operation = None
        known = self._environment.tools.get(tool)
        if known is not None and known.writes:
            operation, call = operation_of(call, known, self._state, again=again)
        outcome = await adrive(call_flow(call, self._state, self._clock.now(), operation=operation), self._perform)
        if self._state.confirmed:
            borne_out(self.steps, self._state.confirmed)
        if type(outcome) is Ok and not self._share:
            return Ok(value=_copied(outcome.value), replayed=outcome.replayed)
        return outcome

    async def say(self, text: str) -> str | None:
        """End the turn; the user's next message comes from the task."""
        del text
        if self.turn >= len(self._assigned.turns):
            return None
        message = self._assigned.turns[self.turn].en
        self.turn += 1
        self._state.turn += 1
        self._environment.next_turn()
        return message

    def handoff(self, reason: str) -> Handoff:
        """Build the packet for a person from the Steps so far."""
        goal = self._assigned.instruction.en
        packet = build(goal, reason, self.steps, self._environment.tools, self._state.settled)
        return packet if self._share else deepcopy(packet)

    async def _perform(self, want: Want) -> Reply:
        if type(want) is Attempt:
            return await self._attempt(want)
        if type(want) is Sleep:
            self._clock.advance(want.seconds)
            return self._clock.now()
        return "" if type(want) is Question else None  # nobody is there to be asked, and nothing comes late

    async def _attempt(self, want: Attempt) -> Done:
        state = self._state
        if state.calls_left < 1:
            raise OutOfBudget
        state.calls_left -= 1
        call, tool, clock = want.call, want.tool, self._clock
        sent_s = clock.now()
        effects = self._environment.effects
        logged = len(effects)
        try:
            outcome, injection = await self._injector.call(call.tool, call.arguments)
        except Exception as error:
            raise WorldBroke(f"{call.tool} raised {type(error).__name__}: {error}") from error
        if type(outcome) is Ok and not _finite(outcome.value):
            outcome = Failed(
                message="the answer holds NaN or an infinity, which JSON cannot say",
                kind=FaultKind.MALFORMED_RESPONSE,
                applied=Applied.UNKNOWN if tool is not None and tool.writes else Applied.NO,
            )
        elif isinstance(outcome, Failed):
            outcome = classify(outcome, writes=tool is not None and tool.writes)
        timed_out = injection is not None and injection.kind is FaultKind.TIMEOUT and not injection.suppressed
        took_s = tool.timeout_s if timed_out and tool is not None else LATENCY_S
        clock.advance(took_s)
        self.usd += tool.cost_usd if tool is not None else 0.0
        writes = tool is not None and tool.writes
        self.steps.append(
            Step(
                episode=self._episode,
                n=len(self.steps),
                call=call.id,
                tool=call.tool,
                arguments=call.arguments,
                context=call.context,
                attempt=call.attempt,
                purpose=want.purpose,
                strategy=want.strategy,
                path_of=want.path_of,
                at_s=round(sent_s, 6),
                took_s=took_s,
                key=call.key,
                expected_outcome=call.expected,
                observed_outcome=outcome,
                verification=_NOT_DONE if writes else _NOT_APPLICABLE,
                uncertainty_signal=Uncertainty.MISSING,
                sources=call.sources,
                executed=injection is None or injection.suppressed or injection.executed,
                injection=injection,
                effects=tuple(effects[logged:]) if len(effects) > logged else (),
            )
        )
        return Done(outcome, sent_s, clock.now())


def _copied(value: Any) -> Any:
    """Copy a JSON value, so that what was recorded cannot be changed by whoever holds the copy."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _shown(tool: Tool) -> Tool:
    """Copy a tool with its schemas, which all episodes of a process share."""
    return replace(tool, parameters=_copied(tool.parameters), returns=_copied(tool.returns))


def _finite(value: Any) -> bool:
    """Whether a JSON value holds neither NaN nor an infinity."""
    kind = type(value)
    if kind is dict:
        parts = value.values()
    elif kind is list or kind is tuple:
        parts = value
    else:
        return kind is not float or value - value == 0.0
    for part in parts:  # without a call per leaf: every answer of every episode comes by here
        kind = type(part)
        if kind is float:
            if part - part != 0.0:
                return False
        elif (kind is dict or kind is list or kind is tuple) and not _finite(part):
            return False
    return True
