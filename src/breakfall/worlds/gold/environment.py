"""An episode on a forked database: the benchmark's tools called by name, with the log of what really ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from breakfall.vocab import Answer, Applied, AppliedEffect, Effect, Failed, Ok, Outcome, Step, Tool, Verdict
from breakfall.worlds.gold.case import Case, EffectLog, Ended, Executed
from breakfall.worlds.gold.domain import GoldCall, Mirror
from breakfall.worlds.gold.effects import compare
from breakfall.worlds.gold.session import Ran, Refused, Session, asking
from breakfall.worlds.gold.tools import mirrored


class GoldEnvironment:
    """One episode; `GoldWorld.open` makes it.

    Args:
        case: The task's case.
        tools: The tools that the task offers.
        mirrors: The reads that we add, by name.
        ids: Kind -> the ids of that kind in the loaded database.
    """

    def __init__(
        self,
        case: Case,
        tools: Mapping[str, Tool],
        mirrors: Mapping[str, Mirror],
        ids: Callable[[str], Sequence[str]],
    ) -> None:
        self._case = case
        self._tools = tools
        self._mirrors = mirrors
        self._ids = ids
        self._session = case.initial.fork()
        self._log = EffectLog(case.domain, self._session)
        self._changed: list[int] = []
        self.executed: list[Executed] = []
        """The calls that really ran, in the benchmark's own terms: reads that we add are left out."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that the task offers, by name."""
        return self._tools

    @property
    def effects(self) -> Sequence[AppliedEffect]:
        """The effect log: one entry per call that changed the database, and per transfer to a person."""
        return self._log.entries

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on the true state; what the benchmark's code refuses or raises is a native failure."""
        known = self._tools.get(tool)
        if known is None:
            return _no_tool(tool)
        ran = self._run(self._session, tool, arguments)
        if tool in self._mirrors:
            return _outcome(ran, changed=False)
        name = mirrored(tool)
        changed = known.effect is not Effect.READ and self._log.note(name, tool, arguments, ran)
        if changed:
            self._changed.append(len(self.executed))
        self.executed.append(Executed(tool=name, arguments=arguments, ran=ran))
        return _outcome(ran, changed)

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Return what a read would have answered before the episode's last change, None if nothing changed.

        The past state is built again from the writes that ran, without the last one. A write whose answer is the
        record that its reader reads shows the record as it is now, before the write runs.
        """
        known = self._tools.get(tool)
        if known is None:
            return None
        if known.effect is not Effect.READ:
            return self._before(mirrored(tool), arguments)
        if not self._changed:
            return None
        past = self._case.initial.fork()
        for index in self._changed[:-1]:
            past.run(self.executed[index].tool, dict(self.executed[index].arguments))
        ran = self._run(past, tool, arguments)
        return None if ran.error is not None else ran.value

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer as `call` would, on a fork: nothing is applied or logged."""
        if tool not in self._tools:
            return _no_tool(tool)
        return _outcome(self._run(self._session.fork(), tool, arguments), changed=False)

    def ids(self, kind: str) -> Sequence[str]:
        """Return the existing ids of a kind, such as ``order``; also with the prefix ``id:``."""
        return self._ids(kind.removeprefix("id:"))

    def next_turn(self) -> None:
        """These tasks have one turn: the user says it all at once."""

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        """Judge the episode by the benchmark's criteria, on the live state and on the calls that really ran."""
        issued = [GoldCall(tool=mirrored(step.tool), arguments=step.arguments) for step in steps if not step.executed]
        found = self._case.criteria.find(
            Ended(
                session=self._session,
                executed=self.executed,
                effects=self.effects,
                answer=answer,
                issued=issued,
                gold=self._case.replay.changes,
            )
        )
        missing, duplicate, wrong = compare(self.effects, self._case.replay.effects)
        if not found.state and self._case.feasible:  # another way to the same state is not wrong
            missing = wrong = ()
        return Verdict(
            passed=not found.state and not found.answer,
            state_ok=not found.state,
            answer_ok=not found.answer,
            missing_effects=missing,
            duplicate_effects=duplicate,
            wrong_effects=wrong,
            forbidden_effects=found.forbidden,
            notes=(*found.state, *found.answer, *found.notes),
        )

    def _run(self, session: Session, tool: str, arguments: dict[str, Any]) -> Ran:
        mirror = self._mirrors.get(tool)
        if mirror is None:
            return session.run(mirrored(tool), arguments)
        try:
            return Ran(mirror.run(asking(session), arguments))
        except Refused as refused:
            return refused.ran
        except (LookupError, TypeError) as error:
            return Ran(error=f"the request lacks or misstates something: {error}", exception=type(error).__name__)

    def _before(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        reader = self._case.domain.readers.get(tool)
        if reader is None or tool not in self._case.domain.echoes:
            return None
        asked = reader.arguments(arguments, {})
        if asked is None:
            return None
        ran = self._session.fork().run(reader.tool, asked)
        return None if ran.error is not None else ran.value


def _no_tool(tool: str) -> Failed:
    return Failed(message=f"there is no tool {tool!r}", native=True)


def _outcome(ran: Ran, changed: bool) -> Outcome:
    if ran.error is None:
        return Ok(value=ran.value)
    applied = Applied.YES if changed else Applied.NO
    return Failed(message=ran.error, native=True, exception=ran.exception, applied=applied)
