"""What a call's flow wants done, and how it is answered."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from msgspec import Struct

from breakfall.vocab import Call, Outcome, Response, Tool


class Attempt(Struct, frozen=True, kw_only=True):
    """Send this call, and answer with `Done`."""

    call: Call
    tool: Tool | None
    path_of: str | None = None
    strategy: Response | None = None
    purpose: str = ""


class Sleep(Struct, frozen=True):
    """Let the seconds pass, and answer with the time."""

    seconds: float


class Question(Struct, frozen=True):
    """Ask a person, and answer with what they said, or with an empty text if nobody is there."""

    text: str


class Late(Struct, frozen=True):
    """Look for attempts of this call that timed out: answer with `Running`, the `Done` of one that ended, or None."""

    call: str


class Reread(Struct, frozen=True):
    """Read a tool's schema again, because the tool says that it changed; answer with the tool, or None."""

    tool: str


class Running(Struct, frozen=True):
    """An attempt that timed out still runs here, and may yet do what it was sent for."""


class Done(Struct, frozen=True):
    """How an attempt ended, and when it was sent and answered, in seconds of the task's clock."""

    outcome: Outcome
    sent_s: float
    now_s: float


Want: TypeAlias = Attempt | Sleep | Question | Late | Reread
Reply: TypeAlias = Done | Running | Tool | float | str | None
Flow: TypeAlias = Generator[Want, Reply, Outcome]
