"""The Protocols that others implement: World, Environment, Agent, Toolbox, Clock, Recorder, StepSink, Syncing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from breakfall.vocab.call import Answer
from breakfall.vocab.fault import FaultKind
from breakfall.vocab.outcome import Outcome
from breakfall.vocab.step import EpisodeEnd, Step
from breakfall.vocab.task import AppliedEffect, Task, Verdict
from breakfall.vocab.tool import Tool

NATIVE = "native"
ALTERNATIVES = "alternatives"


class Clock(Protocol):
    """Time in seconds; a virtual clock sleeps without waiting."""

    def now(self) -> float:
        """Return the seconds since the clock's start."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...


class Belief(Protocol):
    """What is believed of tools before the evidence of a task; None where nothing was learned."""

    def persistence(self, tool: str, kind: FaultKind) -> float | None:
        """Return the probability that a failure of this kind of this tool is there to stay."""
        ...

    def switch_works(self, source: str, target: str) -> float | None:
        """Return the probability that `target` answers where `source` failed; 0 where it is no path at all."""
        ...


class Environment(Protocol):
    """A world opened for one task: its tools over one private state."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that this task may use, by name."""
        ...

    @property
    def effects(self) -> Sequence[AppliedEffect]:
        """The effect log so far, in order; it only grows."""
        ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on the true state. A refusal is a `Failed`; it never raises for what the caller sent."""
        ...

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Return what this read would have answered before the episode's last change, or None if unknown.

        For a write, asked before it runs: what its answer would be, showing the state before; None if there is none.
        """
        ...

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer as `call` would, on a copy of the state: nothing is applied and nothing logged."""
        ...

    def ids(self, kind: str) -> Sequence[str]:
        """Return the existing ids of a kind (`x-kind: id:order` in a schema), for plausible false values."""
        ...

    def next_turn(self) -> None:
        """The user has spoken again: what follows belongs to the next turn."""
        ...

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        """Judge the finished episode; `steps` tells which calls really ran."""
        ...


class World(Protocol):
    """Tools over state, tasks, and a checker."""

    @property
    def name(self) -> str:
        """The world's name, as in `--world`."""
        ...

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that it offers, the default first: `NATIVE`, `ALTERNATIVES`."""
        ...

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its fixed splits, the default first."""
        ...

    def tasks(self, split: str, limit: int | None) -> Sequence[Task]:
        """Return the first `limit` tasks of a split, always the same ones in the same order (all if None)."""
        ...

    def tools(self, condition: str) -> Mapping[str, Tool]:
        """Return the tools of a condition by name."""
        ...

    def open(self, task: Task, condition: str, clock: Clock) -> Environment:
        """Open a fresh, private environment for one episode."""
        ...

    def data_hash(self) -> str:
        """Return a hash of the data and code version that results depend on."""
        ...


class Toolbox(Protocol):
    """What an agent holds: its tools, behind whatever recovers, records and injects."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools, by name."""
        ...

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
        """Call a tool and return how it ended, after whatever recovery the toolbox's policy allows.

        Args:
            tool: The tool's name.
            arguments: Its arguments.
            expected: What the call is for.
            context: What else the caller knows that another path may need.
            sources: Where arguments came from: name -> "<call id>#<JSON Pointer>".
            again: The caller means to write the same again; else an equal write that just succeeded is answered with
                its result, marked `replayed`, and does not run.
        """
        ...

    @property
    def last_call(self) -> str:
        """The id of the last call, for `sources`."""
        ...

    async def say(self, text: str) -> str | None:
        """End the turn with a message to the user; return the user's next message, or None if there is none."""
        ...

    def handoff(self, reason: str) -> Any:
        """Build the `Handoff` packet from what the toolbox saw."""
        ...


@runtime_checkable
class Agent(Protocol):
    """Anything that does a task with a toolbox."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        """Do the task and return the answer."""
        ...


class Recorder(Protocol):
    """Where the lines of an episode go."""

    def episode(self, steps: Sequence[Step], end: EpisodeEnd) -> None:
        """Store one finished episode whole; when this returns, it survives a kill of the process."""
        ...


class StepSink(Protocol):
    """Where single Steps go, one by one as they are made."""

    def step(self, step: Step) -> None:
        """Store one step. Called from several threads and tasks; a sink makes sure of its own order."""
        ...


@runtime_checkable
class Syncing(StepSink, Protocol):
    """A sink that can put on disk what it has acknowledged; what nothing undoes waits for that."""

    def sync(self) -> None:
        """Return once everything acknowledged so far is on disk."""
        ...
