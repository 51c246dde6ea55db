"""Journal entries: one logical write, what was sent for it, and what is known of its outcome."""

from __future__ import annotations

from enum import StrEnum
from math import isfinite
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.vocab import Idempotency, Json


class State(StrEnum):
    """What is known of a write."""

    IN_FLIGHT = "in_flight"
    """It was, or is about to be, sent."""
    UNKNOWN = "unknown"
    """It was sent, and nobody knows whether it took effect: it must be looked up."""
    SUCCEEDED = "succeeded"
    NOT_APPLIED = "not_applied"
    """It did not take effect: it may be sent."""
    NEEDS_PERSON = "needs_person"
    """It cannot be looked up, the look-ups do not tell, or two sources contradict each other."""


OPEN = (State.IN_FLIGHT, State.UNKNOWN)
"""The states in which nobody knows the outcome yet."""
SETTLED = (State.SUCCEEDED, State.NOT_APPLIED)


class Operation(Struct, frozen=True, kw_only=True):
    """One logical write; `key` names it, so that a new plan or another process meets the same entry.

    The key is the caller's own idempotency key, or `runtime.flow.operation_key` of the rest.
    """

    key: str
    run: str
    tool: str
    arguments: dict[str, Json]
    epoch: int = 0


class Send(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One time that the write goes out, on its own tool or another path; the journal sets `n` and `at_s`."""

    tool: str
    arguments: dict[str, Json]
    key: str | None = None
    """The idempotency key that the server gets."""
    idempotency: Idempotency = Idempotency()
    in_transit_s: float = 0.0
    """How long after it was sent the request may still take effect; "not applied" is not believed before."""
    n: int = 0
    at_s: float = 0.0


class Owner(Struct, frozen=True, kw_only=True):
    """Who runs an operation: one opened journal in one process."""

    id: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Note(Struct, frozen=True, kw_only=True):
    """Something that a person who looks at the entry should know."""

    at_s: float
    by: str
    text: str


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the journal holds of one operation. Seconds are those of the journal's clock."""

    operation: Operation
    state: State
    claim: int
    """How often somebody took hold of it; an older hold can no longer send."""
    owner: Owner | None = None
    """Who holds it, while somebody runs it or looks it up."""
    sends: tuple[Send, ...] = ()
    """What may have taken effect (or did); what is known not to have is no longer here."""
    attempts: int = 0
    """How often it was sent in all."""
    lookups: int = 0
    """Look-ups that did not tell."""
    value: Json = None
    error: str = ""
    """The last failure."""
    settled_by: str = ""
    """What settled it: "the call", "a look-up", or the name of a person."""
    created_s: float
    updated_s: float
    notes: tuple[Note, ...] = ()

    @property
    def key(self) -> str:
        """The operation's key."""
        return self.operation.key

    def __str__(self) -> str:
        where = f"{self.operation.tool} (key {self.key}, run {self.operation.run or '-'})"
        return f"{where}: {self.state.value}" + (f", held by {self.owner}" if self.owner else "")


class Claim(Struct, frozen=True, kw_only=True):
    """The hold that one caller has on an entry: `number` is the entry's `claim`, `send` the send it answers for."""

    key: str
    number: int
    send: int


class Fresh(Struct, frozen=True, kw_only=True):
    """The intent is stored: the caller sends the write, once, and then calls `finish`."""

    claim: Claim


class Unsettled(Struct, frozen=True, kw_only=True):
    """An earlier owner died or gave up: the caller looks `entry.sends` up and calls `settle` before it sends."""

    claim: Claim
    entry: Entry


class Replayed(Struct, frozen=True, kw_only=True):
    """It has already taken effect, with this value: nothing is sent."""

    value: Json
    entry: Entry


class InFlightElsewhere(Struct, frozen=True, kw_only=True):
    """A live owner runs it or looks it up: `wait`."""

    entry: Entry


class NeedsPerson(Struct, frozen=True, kw_only=True):
    """Only a person can say what became of it."""

    entry: Entry


Begun: TypeAlias = Fresh | Unsettled | Replayed | InFlightElsewhere | NeedsPerson


class KeyReused(UsageError):
    """One key was given to two different operations."""


def canonical(value: Json) -> bytes:
    """Write a JSON value so that equal values have equal bytes: names sorted, 10.0 as 10.

    Raises:
        ValueError: It holds NaN, an infinity or a broken text, which JSON cannot say.
        TypeError: It holds something that is no JSON value.
    """
    return _ENCODER.encode(_plain(value))


_ENCODER = msgspec.json.Encoder(order="sorted")
_EXACT_BELOW = 2.0**53


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {name: _plain(part) for name, part in value.items()}
    if kind is list or kind is tuple:
        return [_plain(part) for part in value]
    if kind is float:
        if not isfinite(value):
            raise ValueError(f"{value} is no JSON value")
        return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value
    return value
