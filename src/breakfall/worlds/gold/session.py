"""Sessions: a benchmark's own tools over one private state of its database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

Ask: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""(tool, arguments) -> its value. Raises `Refused` where the tool refuses."""


class Ran(Struct, frozen=True):
    """What a call came to: its value as JSON, or what the tool refused with."""

    value: Any = None
    error: str | None = None
    exception: str | None = None
    text: str | None = None
    """The answer as the benchmark words it, where that is more than the value's JSON."""


class Session(Protocol):
    """Tools over a private state."""

    def fork(self) -> Session:
        """Return a session of its own in this one's present state."""
        ...

    def run(self, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool; whatever it does becomes a value."""
        ...

    def changes(self) -> dict[str, bytes]:
        """Return every record that differs from the database as it was loaded, in canonical form."""
        ...


class Refused(Exception):
    """A tool that a mirror asked refuses."""

    def __init__(self, ran: Ran) -> None:
        super().__init__(ran.error)
        self.ran = ran


def asking(session: Session) -> Ask:
    """Return a function that asks a session's tools."""

    def ask(tool: str, arguments: dict[str, Any]) -> Any:
        ran = session.run(tool, arguments)
        if ran.error is not None:
            raise Refused(ran)
        return ran.value

    return ask


def parsed(text: str) -> Any:
    """Read a text that is a JSON record or list; other texts stay as they are."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
