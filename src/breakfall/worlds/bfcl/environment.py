"""An episode of a BFCL task: private instances, called by name, with the log of what really ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from breakfall.vocab import Answer, Applied, AppliedEffect, Effect, Failed, Ok, Outcome, Step, Tool, Verdict
from breakfall.worlds.bfcl import facts, state
from breakfall.worlds.bfcl.effects import effect_of
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.package import Package
from breakfall.worlds.bfcl.tools import mirrored
from breakfall.worlds.bfcl.verdict import Executed, state_problem, verdict


class _Entry(Struct, frozen=True):
    """A call that ran, as `earlier` needs it to build a past state again."""

    tool: str
    arguments: dict[str, Any]
    changed: bool


class BfclEnvironment:
    """One episode; `World.open` makes it.

    Args:
        package: The installed package.
        case: The task's row.
        stages: The tools offered from each turn on, the first from turn 0.
    """

    def __init__(self, package: Package, case: Case, stages: Sequence[tuple[int, Mapping[str, Tool]]]) -> None:
        self._package = package
        self._case = case
        self._later = list(stages[1:])
        self._tools = dict(stages[0][1])
        self._offered = MappingProxyType(self._tools)
        self._live = dict(case.pristine)
        self._owned: set[str] = set()
        self._held = dict(case.initial)
        self._effects: list[AppliedEffect] = []
        self._executed: list[Executed] = []
        self._journal: list[_Entry] = []
        self._turn = 0
        self._problems: list[str] = []

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that the task offers now, by name: one mapping that follows the turns."""
        return self._offered

    @property
    def effects(self) -> Sequence[AppliedEffect]:
        """The effect log: one entry per call that changed the state."""
        return self._effects

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on the true state; what the class refuses or raises is a native failure."""
        known = self._tools.get(tool)
        if known is None:
            return _no_tool(tool)
        name, method = self._method(tool)
        instance = self._own(name)
        folder = state.folder_of(instance)
        ran = state.run(instance, method, arguments)
        changed = known.effect is not Effect.READ and self._log(name, tool, arguments, folder)
        self._executed.append(Executed(tool=tool, arguments=arguments, turn=self._turn, ran=ran))
        self._journal.append(_Entry(method, arguments, changed))
        return _outcome(ran, changed)

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Return what a read would have answered before the last change of its class, None if nothing changed.

        The past state is built again from the calls that ran, without the last change. A write's answer shows the
        state before where a field of it shows state at all.
        """
        known = self._tools.get(tool)
        name, method = self._method(tool)
        if known is None or method in facts.DRAWS_FROM_GENERATOR:
            return None
        if known.effect is not Effect.READ:
            return self._before(name, method, arguments)
        entries = [entry for entry in self._journal if self._case.owner[entry.tool] == name]
        changes = [index for index, entry in enumerate(entries) if entry.changed and entry.tool not in facts.SESSION]
        if not changes:
            return None
        past = state.clone(self._case.pristine[name])
        for index, entry in enumerate(entries):
            if index != changes[-1]:
                state.run(past, entry.tool, entry.arguments)
        ran = state.run(past, method, arguments)
        return None if ran.error else ran.value

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer as `call` would, on a clone: nothing is applied, logged or drawn."""
        if tool not in self._tools:
            return _no_tool(tool)
        name, method = self._method(tool)
        return _outcome(state.run(state.clone(self._live[name]), method, arguments), changed=False)

    def ids(self, kind: str) -> Sequence[str]:
        """Return the existing ids of a kind, such as ``ticket``; also with the prefix ``id:``."""
        listing = _IDS.get(kind.removeprefix("id:"))
        if listing is None or listing[0] not in self._live:
            return ()
        return [str(key) for key in listing[1](self._live[listing[0]])]

    def next_turn(self) -> None:
        """End the turn: its state is judged now, as BFCL does, and held-out tools may become available."""
        if self._turn + 1 >= len(self._case.messages):
            return  # the user has nothing more to say
        self._problems += self._state_problems()
        self._turn += 1
        while self._later and self._later[0][0] <= self._turn:
            self._tools.clear()
            self._tools.update(self._later.pop(0)[1])

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        """Judge the episode by BFCL's checkers, on the live state and on the calls that really ran."""
        return verdict(
            self._package,
            self._case,
            executed=self._executed,
            effects=self._effects,
            turns=self._turn + 1,
            problems=(*self._problems, *self._state_problems()),
            tools=self._offered,
            steps=steps,
        )

    def _state_problems(self) -> tuple[str, ...]:
        problem = state_problem(self._package, self._case, self._live, self._turn)
        return (problem,) if problem else ()

    def _method(self, tool: str) -> tuple[str, str]:
        method = mirrored(tool)
        return self._case.owner.get(method, ""), method

    def _own(self, name: str) -> Any:
        """Return the episode's own instance of a class, cloned when it is first called."""
        if name not in self._owned:
            self._owned.add(name)
            self._live[name] = state.clone(self._live[name])
        return self._live[name]

    def _log(self, name: str, tool: str, arguments: dict[str, Any], folder: str) -> bool:
        now = state.frozen(self._live[name])
        if now == self._held[name]:
            return False
        self._held[name] = now
        effect, target = effect_of(name, mirrored(tool), arguments, folder)
        self._effects.append(AppliedEffect(name=effect, target=target, details=arguments, tool=tool))
        return True

    def _before(self, name: str, method: str, arguments: dict[str, Any]) -> Any | None:
        shows = facts.SHOWS_STATE.get(method)
        ran = state.run(state.clone(self._live[name]), method, arguments)
        if shows is None or ran.error or not isinstance(ran.value, dict):
            return None
        old = {field: _at(self._live[name], place) for field, place in shows.items() if field in ran.value}
        return {**ran.value, **old}


def _at(instance: Any, place: str) -> Any:
    first, *rest = place.split("/")
    value = getattr(instance, first)
    for part in rest:
        value = value[part]
    return state.jsonable(value)


def _no_tool(tool: str) -> Failed:
    return Failed(message=f"there is no tool {tool!r}", native=True)


def _outcome(ran: state.Ran, changed: bool) -> Outcome:
    if ran.error is None:
        return Ok(value=ran.value)
    applied = Applied.YES if changed else Applied.NO  # startEngine stops the engine and then refuses
    return Failed(message=ran.error, native=True, exception=ran.exception, applied=applied)


_IDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ticket": ("TicketAPI", lambda api: [ticket["id"] for ticket in api.ticket_queue if "id" in ticket]),
    "tweet": ("TwitterAPI", lambda api: api.tweets),
    "user": ("MessageAPI", lambda api: api.user_map.values()),
    "order": ("TradingBot", lambda api: api.orders),
    "stock": ("TradingBot", lambda api: api.stocks),
    "booking": ("TravelAPI", lambda api: api.booking_record),
    "card": ("TravelAPI", lambda api: api.credit_card_list),
    "airport": ("TravelAPI", lambda api: api.list_all_airports()),
}
"""Kind -> the class that knows its ids, and how."""
