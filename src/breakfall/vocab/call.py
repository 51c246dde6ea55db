"""Calls, directives and hand-overs: what is asked of a tool, and what to do when it fails."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from breakfall.vocab.outcome import Outcome
from breakfall.vocab.tool import Path, Reader


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One logical call of a tool.

    `id` names the call in its episode; the attempts made for it share the id.
    """

    id: str
    tool: str
    arguments: dict[str, Any]
    expected: str = ""
    """The expected outcome: what the call is for."""
    context: dict[str, Any] = {}
    """What the caller knows besides the arguments; paths may need it."""
    sources: dict[str, str] = {}
    """Where arguments came from: argument name -> "<call id>#<JSON Pointer>"."""
    key: str | None = None
    """Idempotency key of the logical operation."""
    attempt: int = 1


class Retry(Struct, frozen=True, kw_only=True, tag=True):
    """Send the same call again, after a wait."""

    after_s: float = 0.0
    why: str = ""


class Switch(Struct, frozen=True, kw_only=True, tag=True):
    """Take another path."""

    path: Path
    why: str = ""


class Verify(Struct, frozen=True, kw_only=True, tag=True):
    """Look up what the write did before anything else."""

    reader: Reader
    after_s: float = 0.0
    why: str = ""


class Ask(Struct, frozen=True, kw_only=True, tag=True):
    """Ask a person."""

    question: str
    why: str = ""


class Stop(Struct, frozen=True, kw_only=True, tag=True):
    """Give up this call and hand over."""

    reason: str


Directive: TypeAlias = Retry | Switch | Verify | Ask | Stop


class Tried(Struct, frozen=True, kw_only=True):
    """One attempt that was made for a call, on whichever path."""

    tool: str
    outcome: Outcome
    at_s: float


class Fact(Struct, frozen=True, kw_only=True):
    """One call in a hand-over: which tool, with which arguments, in which call."""

    call: str
    tool: str
    arguments: dict[str, Any]
    note: str = ""


class SafeKind(StrEnum):
    """What a person may do without making anything worse."""

    LOOK_UP = "look_up"
    """Read with a tool what became of a write."""
    CHECK_RECORD = "check_record"
    """See in the system of record what became of a write, because no tool can read it."""
    RENEW_CREDENTIALS = "renew_credentials"
    """Give a tool credentials or a permission that it accepts."""
    REPEAT_READS = "repeat_reads"
    """Read anew, and send no write again that is done."""


class SafeAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One safe next action: for which tool and call, and which tool looks it up."""

    do: SafeKind
    tool: str = ""
    call: str = ""
    reader: str = ""


class Handoff(Struct, frozen=True, kw_only=True):
    """The packet for a person: what was wanted, what is so, what nobody knows, and what may be done safely."""

    goal: str
    reason: str
    done: tuple[Fact, ...] = ()
    """Writes that took effect."""
    unknown: tuple[Fact, ...] = ()
    """Writes of which nobody knows whether they took effect."""
    tried: tuple[str, ...] = ()
    """Paths that were tried in vain, as "tool: failure class × times"."""
    safe_next_actions: tuple[SafeAction | str, ...] = ()
    """What may be done now; a text is an action that an agent worded itself."""


class Answer(Struct, frozen=True, kw_only=True):
    """How an agent ended its task."""

    text: str = ""
    facts: dict[str, Any] = {}
    """What the answer states, by the names that the task asks for."""
    sources: dict[str, str] = {}
    """Where the facts came from: name -> "<call id>#<JSON Pointer>"."""
    steered: dict[str, Any] = {}
    """What decisions were made by: "<call id>#<JSON Pointer>" -> the value that was read there."""
    handoff: Handoff | None = None
