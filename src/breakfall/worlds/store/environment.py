"""One episode's store: its tools over a private state, its effect log, its checker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from breakfall.vocab import (
    Answer,
    AppliedEffect,
    Clock,
    Failed,
    IdempotencyKind,
    Ok,
    Outcome,
    Step,
    Task,
    Tool,
    Verdict,
)
from breakfall.worlds.store.base import base, ids_of
from breakfall.worlds.store.calendar import CACHE_AGE_S, stamp
from breakfall.worlds.store.catalogue import Entry
from breakfall.worlds.store.check import check
from breakfall.worlds.store.desk import Desk, Refusal
from breakfall.worlds.store.records import Order
from breakfall.worlds.store.state import State

_encode = msgspec.json.Encoder(order="sorted").encode


class Remembered(msgspec.Struct, frozen=True):
    """What a server keeps for an idempotency key: the arguments, the answer, and when."""

    arguments: bytes
    answer: bytes
    at_s: float


class StoreEnvironment:
    """The store opened for one task.

    Args:
        task: The task to check against.
        entries: The tools of the condition.
        tools: The same as their caller sees them.
        clock: Where the time comes from.
    """

    __slots__ = ("_clock", "_entries", "_keys", "_log", "_state", "_task", "_touched_at", "tools")

    def __init__(self, task: Task, entries: Mapping[str, Entry], tools: Mapping[str, Tool], clock: Clock) -> None:
        self.tools = tools
        self._task = task
        self._entries = entries
        self._clock = clock
        self._state = State(base())
        self._log: list[AppliedEffect] = []
        self._keys: dict[tuple[str, str], Remembered] = {}
        self._touched_at: float | None = None

    @property
    def effects(self) -> Sequence[AppliedEffect]:
        """The effect log so far, in order; it only grows."""
        return self._log

    @property
    def state(self) -> State:
        """The state as it is now."""
        return self._state

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool on the state. A refusal is a `Failed`; it never raises for what the caller sent."""
        return self.run(tool, arguments)

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer as `call` would, on a copy of the state: nothing is applied and nothing logged."""
        entry = self._accept(tool, arguments)
        if isinstance(entry, Failed):
            return entry
        return _answer(entry, Desk(self._state.copy(), stamp(self._clock.now()), [], tool), arguments)

    def run(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Do what `call` does, for callers that do not wait."""
        entry = self._accept(tool, arguments)
        if isinstance(entry, Failed):
            return entry
        now = self._clock.now()
        if not entry.tool.writes:
            return _answer(entry, Desk(self._state, stamp(now), self._log, tool), arguments)
        if entry.tool.idempotency.kind is IdempotencyKind.KEY:
            return self._keyed(entry, arguments, now)
        return self._apply(entry, arguments, now)

    def _accept(self, tool: str, arguments: Any) -> Entry | Failed:
        entry = self._entries.get(tool)
        if entry is None:
            known = ", ".join(self._entries)
            return _refused(Refusal(404, "no_such_tool", f"no tool {tool!r}; there are: {known}"))
        try:
            if entry.schema.is_valid(arguments):
                if entry.tool.writes:
                    _encode(arguments)  # what is written down must be text that can be written down
                return entry
            problems = entry.schema.problems(arguments)
        except (ValueError, TypeError, RecursionError) as error:
            problems = [f"arguments: not JSON: {error!r}"]
        return _refused(Refusal(422, "invalid_arguments", "; ".join(problems)))

    def _apply(self, entry: Entry, arguments: dict[str, Any], now: float) -> Outcome:
        state = self._state
        state.begin()
        outcome = _answer(entry, Desk(state, stamp(now), self._log, entry.tool.name), arguments)
        if type(outcome) is Failed:
            state.rollback()
        elif state.commit():
            self._touched_at = now
        return outcome

    def _keyed(self, entry: Entry, arguments: dict[str, Any], now: float) -> Outcome:
        idempotency = entry.tool.idempotency
        key = arguments.get(str(idempotency.parameter))
        if key is None:
            return self._apply(entry, arguments, now)
        place, sent = (entry.tool.name, key), _encode(arguments)
        kept = self._keys.get(place)
        if kept is not None and now - kept.at_s < (idempotency.window_s or 0.0):
            if kept.arguments != sent:
                text = f"key {key!r} was used for another call; send a new key, or the same arguments"
                return _refused(Refusal(409, "key_reused", text))
            return Ok(value=msgspec.json.decode(kept.answer), replayed=True)
        outcome = self._apply(entry, arguments, now)
        if isinstance(outcome, Ok):
            self._keys[place] = Remembered(sent, _encode(outcome.value), now)
        return outcome

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Return what a read would have answered before the episode's last change, None if the same or unknown.

        For a write, asked before it runs: its answer with the order as it is now; None for what makes something new.
        """
        entry = self._accept(tool, arguments)
        if isinstance(entry, Failed):
            return None
        if entry.tool.writes:
            return self._unchanged(entry, arguments)
        if self._touched_at is None:
            return None
        at = stamp(self._touched_at - CACHE_AGE_S)
        before = _answer(entry, Desk(self._state.before(), at, [], tool), arguments)
        now = _answer(entry, Desk(self._state, at, [], tool), arguments)
        return before.value if isinstance(before, Ok) and before != now else None

    def _unchanged(self, entry: Entry, arguments: dict[str, Any]) -> Any | None:
        if entry.shows is None:
            return None
        after = _answer(entry, Desk(self._state.copy(), stamp(self._clock.now()), [], entry.tool.name), arguments)
        order = self._state.find(Order, arguments["order_id"])
        if order is None or isinstance(after, Failed):
            return None
        shown = entry.shows(order)
        return shown if shown != after.value else None

    def ids(self, kind: str) -> Sequence[str]:
        """Return the existing ids of a kind, such as "order"; none for a kind that the store does not know."""
        made = [key for key, of in self._state.created.items() if of == kind]
        return (*ids_of(kind), *made) if made else ids_of(kind)

    def next_turn(self) -> None:
        """Nothing changes: the store does not hear the user."""

    def check(self, answer: Answer, steps: Sequence[Step]) -> Verdict:
        """Judge the finished episode by the effect log, the final state and the answer."""
        return check(self._task, self._state, self._log, answer)


def _refused(refusal: Refusal) -> Failed:
    body = {"error": {"code": refusal.code, "message": refusal.text}}
    return Failed(
        message=f"{refusal.code}: {refusal.text}",
        status=refusal.status,
        body=msgspec.json.encode(body).decode(),
        headers={"content-type": "application/json"},
    )


def _answer(entry: Entry, desk: Desk, arguments: dict[str, Any]) -> Outcome:
    try:
        return Ok(value=entry.run(desk, arguments))
    except Refusal as refusal:
        return _refused(refusal)
