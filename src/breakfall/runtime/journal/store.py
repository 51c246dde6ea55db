"""Where entries are kept: what a backend must do, and how an entry is written down."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar
from weakref import WeakSet

import msgspec

from breakfall.errors import StoreError, UsageError
from breakfall.runtime.journal.entry import Entry, Owner, State

T = TypeVar("T")

Rule: TypeAlias = Callable[[Entry | None, bool, Owner], tuple[Entry | None, T]]
"""(the stored entry, whether its owner lives, who asks) -> (the entry to store, what to return). It may run twice."""

FORMAT = 1
"""Version of the tables and of the entries in them; a newer breakfall reads older entries."""


class Store(Protocol):
    """A durable map from keys to entries, shared by threads and processes."""

    @property
    def name(self) -> str:
        """Where it is, for messages; no password."""
        ...

    def change(self, key: str, rule: Rule[T]) -> T:
        """Read an entry, store what the rule makes of it, and return what the rule returns, as one atomic step.

        When this returns, the entry survives a kill of the process and of the machine. If it raises, nothing has
        changed, unless the commit itself was cut off: then either.

        Raises:
            StoreError: It cannot be read or written.
        """
        ...

    def get(self, key: str) -> Entry | None:
        """Read one entry."""
        ...

    def held(self, entry: Entry) -> bool:
        """Whether the entry's owner lives."""
        ...

    def entries(
        self, *, states: Sequence[State] = (), run: str | None = None, tool: str | None = None, prefix: str = ""
    ) -> list[Entry]:
        """List entries, the oldest change first: of these states (all if none), run, tool and start of the key."""
        ...

    def prune(self, before_s: float, states: Sequence[State]) -> int:
        """Drop the entries of these states that last changed before a time; return how many."""
        ...

    def close(self) -> None:
        """Let go of everything, and so of life: what this process holds is from now on held by nobody."""
        ...


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Entry)
HOST = socket.gethostname()


def encode(entry: Entry) -> str:
    """Write an entry down."""
    return _ENCODER.encode(entry).decode()


def decode(body: str, name: str, key: str) -> Entry:
    """Read what `encode` wrote.

    Raises:
        StoreError: It is something else.
    """
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise StoreError(
            f"{name}: entry {key!r} is damaged: {error}. Restore the journal from a copy, or resolve that operation "
            "by hand and start a new journal"
        ) from None


class Inherited(Protocol):
    """Something whose open file a forked child has too, so that the child would keep its dead parent alive."""

    def forget(self) -> None:
        """Close this process's copy of the file, and touch nothing else."""
        ...


_INHERITED: WeakSet[Inherited] = WeakSet()


def forget_in_children(held: Inherited) -> None:
    """Close `held` in every process that is forked from now on."""
    _INHERITED.add(held)


def _forget_all() -> None:
    for held in list(_INHERITED):
        held.forget()


os.register_at_fork(after_in_child=_forget_all)


def check_usable(name: str, pid: int, closed: bool) -> None:
    """Refuse a store that was closed, or that a forked child has from its parent.

    Raises:
        UsageError: It is.
    """
    if pid != os.getpid():
        raise UsageError(
            f"{name}: this journal was opened by process {pid} and is used in its forked child {os.getpid()}; open it "
            "again in the child"
        )
    if closed:
        raise UsageError(f"{name}: this journal was closed; open it again")


def conditions(
    states: Sequence[State], run: str | None, tool: str | None, prefix: str, mark: str
) -> tuple[str, list[str]]:
    """Build the WHERE clause of a listing and its parameters; `mark` is the backend's placeholder."""
    clauses, values = [], [state.value for state in states]
    if states:
        clauses.append(f"state IN ({', '.join([mark] * len(states))})")
    for column, value in (("run", run), ("tool", tool)):
        if value is not None:
            clauses.append(f"{column} = {mark}")
            values.append(value)
    if prefix:
        clauses.append(f"substr(key, 1, {len(prefix)}) = {mark}")
        values.append(prefix)
    return " AND ".join(clauses) or "TRUE", values
