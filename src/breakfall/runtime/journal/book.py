"""The write journal: what is about to be sent, what came of it, and who must look it up."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import StoreError, UsageError
from breakfall.runtime.journal import rules
from breakfall.runtime.journal.entry import (
    OPEN,
    SETTLED,
    Begun,
    Claim,
    Entry,
    InFlightElsewhere,
    Note,
    Operation,
    Owner,
    Send,
    State,
    Unsettled,
    canonical,
)
from breakfall.runtime.journal.store import Store
from breakfall.vocab import Applied, Json, Ok, Outcome, Settlement

T = TypeVar("T")
W = TypeVar("W")
R = TypeVar("R")

Lookup: TypeAlias = Callable[[Entry, Send], Settlement | None]
"""Looks up what one send did; None where no reader can tell."""
AsyncLookup: TypeAlias = Callable[[Entry, Send], Awaitable[Settlement | None]]

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.001, 0.1


class Summary(Struct, frozen=True, kw_only=True):
    """What a reconciliation came to: the keys of the entries by the state that they are in now."""

    succeeded: tuple[str, ...] = ()
    not_applied: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    needs_person: tuple[str, ...] = ()


class Journal:
    """A write journal over a store; threads may share one, a forked child opens its own.

    Args:
        store: Where the entries are.
        now: The time in seconds, the same for everybody who shares the store.
        max_lookups: After how many look-ups that do not tell a person is needed.
    """

    def __init__(self, store: Store, *, now: Callable[[], float], max_lookups: int = 5) -> None:
        self._store = store
        self._now = now
        self._max_lookups = max_lookups

    @property
    def name(self) -> str:
        """Where the journal is, for messages."""
        return self._store.name

    def begin(self, operation: Operation, send: Send) -> Begun:
        """Store the intent to send a write, durably, or learn why it must not be sent now.

        Whoever is given a claim sends at once and ends it with `finish` or `settle`, also when interrupted (as a
        failure that may have been applied); else the write stays held until the journal is closed.

        Args:
            operation: The logical write.
            send: What would go out first.

        Raises:
            KeyReused: The key belongs to another operation.
            UsageError: The arguments are no JSON.
            StoreError: The journal cannot be read or written; nothing may be sent.
        """
        for arguments in (operation.arguments, send.arguments):
            _check_arguments(operation.tool, arguments)

        def rule(entry: Entry | None, held: bool, me: Owner) -> tuple[Entry, Begun]:
            return rules.begin(entry, held, operation, send, me, self._now())

        return self._store.change(operation.key, rule)

    def dispatch(self, claim: Claim, send: Send, known: Settlement | None = None) -> Claim:
        """Store, durably, that the write of a claim is sent again, on the same tool or another path.

        Args:
            claim: What `begin` gave.
            send: What is about to go out.
            known: That the sends before were not applied (by a look-up, or by the tool's own answer); None if nobody
                knows: then only a repeat that the server itself recognises is let through.

        Returns:
            The claim to finish this send with; a late result of an earlier send is finished with the earlier claim.

        Raises:
            RunError: The claim is out of date, or an earlier send may have taken effect.
            StoreError: The journal cannot be written; nothing may be sent.
        """
        _check_arguments(send.tool, send.arguments)
        return self._store.change(
            claim.key, lambda entry, held, me: rules.dispatch(entry, claim, send, known, self._now())
        )

    def finish(self, claim: Claim, outcome: Outcome) -> Entry:
        """Store how a send ended, also one that was given up before and answers late.

        A failure that may have been applied leaves the entry to whoever begins or reconciles next.

        Raises:
            StoreError: The journal cannot be written; the next start looks the write up.
        """
        problem = ""
        if isinstance(outcome, Ok):
            outcome, problem = _storable(outcome)

        def rule(entry: Entry | None, held: bool, me: Owner) -> tuple[Entry, Entry]:
            after = rules.finish(self._there(entry, claim), claim, outcome, self._now())
            if problem and after.state is State.SUCCEEDED:
                after = replace(after, error=problem)
            return after, after

        return self._store.change(claim.key, rule)

    def settle(self, claim: Claim, settlement: Settlement | None) -> Entry:
        """Store what looking up every send of the entry said; None: there is no reader that could tell.

        Raises:
            StoreError: The journal cannot be written.
        """

        def rule(entry: Entry | None, held: bool, me: Owner) -> tuple[Entry, Entry]:
            there = self._there(entry, claim)
            after = rules.settle(there, claim, settlement, self._now(), max_lookups=self._max_lookups)
            return after, after

        return self._store.change(claim.key, rule)

    def wait(self, operation: Operation, send: Send, timeout_s: float) -> Begun:
        """Begin an operation, waiting while another owner holds it; then it is still `InFlightElsewhere`."""
        return _drive(self._waiting(operation, send, timeout_s), time.sleep)

    async def wait_async(self, operation: Operation, send: Send, timeout_s: float) -> Begun:
        """Do what `wait` does without blocking the event loop."""
        return await _adrive(self._waiting(operation, send, timeout_s), anyio.sleep)

    def reconcile(self, lookup: Lookup) -> Summary:
        """Look up every write whose owner died or gave up; call it at start, and whenever that may have happened.

        Args:
            lookup: Reads what one send did. If it raises, the outcome stays unknown.
        """

        def guarded(asked: tuple[Entry, Send]) -> Settlement | None:
            try:
                return lookup(*asked)
            except Exception as error:
                return _failed_lookup(error)

        return _drive(self._reconciling(), guarded)

    async def reconcile_async(self, lookup: AsyncLookup) -> Summary:
        """Do what `reconcile` does with readers that are awaited."""

        async def guarded(asked: tuple[Entry, Send]) -> Settlement | None:
            try:
                return await lookup(*asked)
            except Exception as error:
                return _failed_lookup(error)

        return await _adrive(self._reconciling(), guarded)

    def get(self, key: str) -> Entry | None:
        """Read one entry."""
        return self._store.get(key)

    def entries(self, states: Sequence[State] = (), *, run: str | None = None, tool: str | None = None) -> list[Entry]:
        """List the entries of these states (all if none are named), run and tool, the oldest change first."""
        return self._store.entries(states=states, run=run, tool=tool)

    def held(self, entry: Entry) -> bool:
        """Whether somebody alive holds the entry; one in flight that nobody holds waits to be looked up."""
        return self._store.held(entry)

    def find(self, start: str) -> Entry:
        """Find an entry by the start of its key.

        Raises:
            UsageError: No entry or more than one fits.
        """
        found = self._store.entries(prefix=start)
        exact = [entry for entry in found if entry.key == start]
        if len(found) == 1 or exact:
            return (exact or found)[0]
        if not found:
            raise UsageError(f"{self.name}: no entry's key starts with {start!r}; `breakfall journal` lists them")
        some = ", ".join(entry.key for entry in found[:3])
        raise UsageError(f"{self.name}: {len(found)} keys start with {start!r} ({some}, …); give more of the key")

    def resolve(self, key: str, state: State, *, by: str, note: str, value: Json = None) -> Entry:
        """Settle an entry by a person's word.

        Raises:
            UsageError: There is no such entry, it is being run, the state is no settled one, or nobody is named.
        """
        if not by.strip():
            raise UsageError("whoever resolves an entry gives their name")

        def rule(entry: Entry | None, held: bool, me: Owner) -> tuple[Entry, Entry]:
            if entry is None:
                raise UsageError(f"{self.name}: no entry {key!r}; `breakfall journal` lists them")
            after = rules.resolve(entry, held, state, Note(at_s=self._now(), by=by, text=note), value)
            return after, after

        return self._store.change(key, rule)

    def prune(self, before_s: float) -> int:
        """Drop settled entries that last changed before a time; return how many.

        A dropped write is forgotten: begun again, it runs again. What is not settled is never dropped.
        """
        return self._store.prune(before_s, SETTLED)

    def close(self) -> None:
        """Close the store; what is still held is from now on held by nobody, as after a kill."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _there(self, entry: Entry | None, claim: Claim) -> Entry:
        if entry is None:
            raise StoreError(f"{self.name}: a result came for operation {claim.key}, which is no longer in the journal")
        return entry

    def _waiting(self, operation: Operation, send: Send, timeout_s: float) -> Generator[float, object, Begun]:
        """Yield how long to sleep until the operation can be begun or the time is over."""
        left_s, wait_s = timeout_s, _FIRST_WAIT_S
        while True:
            entry = self._store.get(operation.key)
            if entry is None or entry.state not in OPEN or not self._store.held(entry) or left_s <= 0:
                begun = self.begin(operation, send)
                if left_s <= 0 or not isinstance(begun, InFlightElsewhere):
                    return begun
            yield min(wait_s, left_s)
            left_s -= wait_s
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _reconciling(self) -> Generator[tuple[Entry, Send], Settlement | None, Summary]:
        """Yield each send that must be looked up; it is answered with what the look-up said."""
        came_to: dict[State, list[str]] = {state: [] for state in State}
        for listed in self._store.entries(states=OPEN):
            taken = self._take(listed.key)
            if taken is None:
                continue
            said: Settlement | None = Settlement(applied=Applied.UNKNOWN, evidence="the look-up was cut off")
            try:
                said = yield from _look_up(taken.entry)
            finally:
                after = self.settle(taken.claim, said)
            came_to[after.state].append(after.key)
        return Summary(
            succeeded=tuple(came_to[State.SUCCEEDED]),
            not_applied=tuple(came_to[State.NOT_APPLIED]),
            unknown=tuple(came_to[State.UNKNOWN]),
            needs_person=tuple(came_to[State.NEEDS_PERSON]),
        )

    def _take(self, key: str) -> Unsettled | None:
        def rule(entry: Entry | None, held: bool, me: Owner) -> tuple[Entry | None, Unsettled | None]:
            taken = rules.take(entry, held, me, self._now())
            return taken if taken is not None else (entry, None)

        return self._store.change(key, rule)


def _drive(flow: Generator[W, R, T], perform: Callable[[W], R]) -> T:
    """Run a flow to its end, doing what it wants with `perform`."""
    try:
        want = next(flow)
        while True:
            want = flow.send(perform(want))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


async def _adrive(flow: Generator[W, R, T], perform: Callable[[W], Awaitable[R]]) -> T:
    """Run a flow to its end, awaiting `perform` for what it wants."""
    try:
        want = next(flow)
        while True:
            want = flow.send(await perform(want))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


def _look_up(entry: Entry) -> Generator[tuple[Entry, Send], Settlement | None, Settlement | None]:
    """Yield the sends of an entry until one turns out to be applied; return what they come to."""
    found: list[Settlement | None] = []
    for send in entry.sends:
        said = yield entry, send
        if said is not None and said.applied is Applied.YES:
            return said
        found.append(said)
    return rules.combined(found)


def _failed_lookup(error: Exception) -> Settlement:
    return Settlement(applied=Applied.UNKNOWN, evidence=f"the look-up failed: {type(error).__name__}: {error}")


def _check_arguments(tool: str, arguments: dict[str, Json]) -> None:
    try:
        canonical(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the arguments of {tool} are no JSON, so that the write cannot be named: {error}; pass plain values"
        ) from None


def _storable(outcome: Ok) -> tuple[Ok, str]:
    """Return the outcome with a value that can be stored, and what was wrong with it: a success must be recorded."""
    try:
        canonical(outcome.value)
    except (TypeError, ValueError, RecursionError) as error:
        return Ok(value=None), f"its value is no JSON and could not be stored ({error}); a replay gives none"
    return outcome, ""
