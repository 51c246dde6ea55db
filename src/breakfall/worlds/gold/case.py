"""Cases: one task of a benchmark with its gold calls, replayed once for what they lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from breakfall.vocab import Answer, Applied, AppliedEffect, Settlement
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.effects import EffectKey, target_of
from breakfall.worlds.gold.session import Ran, Refused, Session, asking
from breakfall.worlds.gold.tools import mirrored


class Executed(Struct, frozen=True, kw_only=True):
    """One call that really ran, with its true result."""

    tool: str
    """As the benchmark names it, also where a form or the gateway took the request."""
    arguments: dict[str, Any]
    ran: Ran


class Finding(Struct, frozen=True, kw_only=True):
    """What a benchmark's own criteria say of a finished episode."""

    state: tuple[str, ...] = ()
    """What is wrong with the state, or with the calls that ran."""
    answer: tuple[str, ...] = ()
    """What the answer lacks."""
    forbidden: tuple[str, ...] = ()
    """Effects that the task forbids."""
    notes: tuple[str, ...] = ()
    """What else is to be known, such as criteria that were not scored."""


class Ended(Struct, frozen=True, kw_only=True):
    """A finished episode, as the criteria see it."""

    session: Session
    executed: Sequence[Executed]
    effects: Sequence[AppliedEffect]
    answer: Answer
    issued: Sequence[GoldCall]
    """Calls that were made and never ran."""
    gold: dict[str, bytes]
    """The records that gold changes, as gold leaves them."""


class Criteria(Protocol):
    """How a benchmark judges one task."""

    def find(self, ended: Ended) -> Finding:
        """Judge a finished episode."""
        ...


class Replay(Struct, frozen=True, kw_only=True):
    """What the gold calls lead to."""

    ran: tuple[Ran, ...]
    """What each call came to."""
    contexts: tuple[dict[str, Any], ...]
    """What else was known before each call."""
    changes: dict[str, bytes]
    effects: Counter[EffectKey]
    """How often each effect is applied."""
    settlements: tuple[Settlement | None, ...]
    """What the reader of each write says after it."""
    untold: frozenset[str]
    """Writes whose reader is wrong for at least one of the calls, so that this task has none for them."""


class Case:
    """One task: what it says, its gold calls, its initial state and its criteria.

    Args:
        id: The benchmark's own name of the task.
        split: The split that it was taken from.
        template: What kind of task it is.
        instruction: What the user wants and knows.
        calls: Gold's calls; the domain's look-ups are put before them.
        said: Texts that the answer must give.
        initial: A session in the initial state; nobody may run it, only forks of it.
        criteria: The benchmark's own judgement.
        domain: The facts of its domain.
        feasible: Whether the request can be granted.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the field's name everywhere else
        split: str,
        template: str,
        instruction: str,
        calls: Sequence[GoldCall],
        said: Sequence[str],
        initial: Session,
        criteria: Criteria,
        domain: Domain,
        feasible: bool = True,
    ) -> None:
        self.id = id
        self.split = split
        self.template = template
        self.instruction = instruction
        self.calls = (*_opening(domain, initial, calls, instruction), *calls)
        self.said = tuple(said)
        self.initial = initial
        self.criteria = criteria
        self.domain = domain
        self.feasible = feasible

    @cached_property
    def known(self) -> dict[str, Any]:
        """What the user can also state, so that another path is open where the domain has one."""
        return self.domain.known(asking(self.initial.fork()), self.calls)

    @cached_property
    def replay(self) -> Replay:
        """What the gold calls lead to, from one run of them."""
        return _replayed(self)


def _opening(domain: Domain, initial: Session, calls: Sequence[GoldCall], instruction: str) -> list[GoldCall]:
    """Return the domain's look-ups, none where gold names something that is not there."""
    try:
        return domain.opening(asking(initial.fork()), calls, instruction)
    except Refused:
        return []


class EffectLog:
    """The effect log of one session: a write that changed the database, or one that the database does not show.

    Args:
        domain: The facts of the domain.
        session: The session, before its first call.
    """

    def __init__(self, domain: Domain, session: Session) -> None:
        self._domain = domain
        self._session = session
        self._held = session.changes()
        self.entries: list[AppliedEffect] = []

    def note(self, tool: str, asked: str, arguments: dict[str, Any], ran: Ran) -> bool:
        """Log a write that just ran, if it took effect, and say whether it did.

        Args:
            tool: The benchmark's tool.
            asked: The tool that was called, which may be a mirror of it.
            arguments: Its arguments.
            ran: What it came to.
        """
        if tool in self._domain.unseen:
            applied = ran.error is None and all(entry.name != tool for entry in self.entries)
        else:
            now = self._session.changes()
            applied, self._held = now != self._held, now
        if applied:
            target = target_of({name: value for name, value in arguments.items() if name not in self._domain.unread})
            self.entries.append(AppliedEffect(name=tool, target=target, details=arguments, tool=asked))
        return applied


def _replayed(case: Case) -> Replay:
    domain, session = case.domain, case.initial.fork()
    log = EffectLog(domain, session)
    ran: list[Ran] = []
    contexts: list[dict[str, Any]] = []
    settlements: list[Settlement | None] = []
    untold: set[str] = set()
    for call in case.calls:
        contexts.append(domain.context(asking(session.fork()), call, case.calls))
        before = _asked(domain, session, call)
        came = session.run(call.tool, dict(call.arguments))
        if call.tool in domain.writes or call.tool in domain.irreversible:
            log.note(call.tool, call.tool, call.arguments, came)
        after = _asked(domain, session, call)
        ran.append(came)
        settlements.append(after)
        told = before and after and before.applied is Applied.NO and after.applied is Applied.YES
        if call.tool in domain.readers and came.error is None and not told:
            untold.add(call.tool)
    return Replay(
        ran=tuple(ran),
        contexts=tuple(contexts),
        changes=session.changes(),
        effects=Counter((entry.name, entry.target) for entry in log.entries),
        settlements=tuple(settlements),
        untold=frozenset(untold),
    )


def _asked(domain: Domain, session: Session, call: GoldCall) -> Settlement | None:
    """Ask the reader of a write, if it has one, on a fork: nothing of it stays."""
    reader = domain.readers.get(call.tool)
    arguments = reader.arguments(call.arguments, {}) if reader else None
    if reader is None or arguments is None:
        return None
    ran = session.fork().run(mirrored(reader.tool), arguments)
    return None if ran.error is not None else reader.judge(ran.value, call.arguments, 0.0)
