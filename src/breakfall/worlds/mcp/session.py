"""Sessions on an MCP server: each has a state of its own, and the writes that led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from breakfall.vocab import pointer as pointers
from breakfall.worlds.gold.fork import frozen
from breakfall.worlds.gold.session import Ran, parsed
from breakfall.worlds.mcp.file import McpFile
from breakfall.worlds.mcp.server import Answer, Server


class McpStates:
    """The states of one server.

    Args:
        server: The server.
        file: What the world's file says.
        writes: Whether a tool may change the state.
        probe: A read without arguments, which makes the server write the state's file.
    """

    def __init__(self, server: Server, file: McpFile, writes: Callable[[str], bool], probe: str) -> None:
        self.server = server
        self.file = file
        self.writes = writes
        self._probe = probe
        self._numbers = count()
        self._current: McpSession | None = None
        self._initial: dict[str, dict[str, bytes]] = {}

    def ask(self, session: McpSession, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool in a session's state."""
        self._enter(session)
        return self._ran(self.server.call(tool, arguments | self._keyed(session)))

    def changes(self, session: McpSession) -> dict[str, bytes]:
        """Return what differs from the initial state: records of the state's file, else the writes that succeeded."""
        if not self.file.state.file:
            return {f"write/{nth}": form for nth, form in enumerate(session.succeeded)}
        self._enter(session)
        initial = self._initial[session.task]
        now = self._records(session)
        return {place: now.get(place, b"") for place in {**initial, **now} if initial.get(place) != now.get(place)}

    def _enter(self, session: McpSession) -> None:
        state = self.file.state
        if session.generation == self.server.generation and (session.key or session is self._current):
            return
        if state.by == "key":
            session.key = state.key.format(task=session.task, nth=next(self._numbers))
        else:
            self._current = session
            if state.by == "restart":
                self.server.restart()
            else:
                given = {name: _filled(value, session.task) for name, value in state.arguments.items()}
                self.server.call(state.tool, given)
        session.generation = self.server.generation
        if state.file:
            self.server.call(self._probe, self._keyed(session))
            if session.task not in self._initial:
                self._initial[session.task] = self._records(session)
        for tool, arguments in session.journal:
            self.server.call(tool, arguments | self._keyed(session))

    def _keyed(self, session: McpSession) -> dict[str, Any]:
        return {self.file.state.argument: session.key} if session.key else {}

    def _records(self, session: McpSession) -> dict[str, bytes]:
        digest = sha256(session.key.encode()).hexdigest()
        path = self.file.state.file.replace("{scratch}", self.server.scratch).replace("{sha256}", digest)
        whole = msgspec.json.decode(Path(path).read_bytes())
        return dict(_flat(pointers.get(whole, pointers.parse(self.file.state.tables)), self.file.state.ignore))

    def _ran(self, answer: Answer) -> Ran:
        value = answer.value
        with suppress(LookupError):  # a refusal may come without the frame around it
            value = pointers.get(value, pointers.parse(self.file.value))
        if answer.failed:
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            return Ran(error=text.removeprefix("Error: "))
        return Ran(parsed(value) if isinstance(value, str) else value)


class McpSession:
    """One state of the server.

    Args:
        states: The server's states.
        task: The task's id, which may be part of a state's name.
    """

    def __init__(self, states: McpStates, task: str) -> None:
        self._states = states
        self.task = task
        self.key = ""
        self.generation = -1
        """Of the process that has this state."""
        self.journal: list[tuple[str, dict[str, Any]]] = []
        """The writes that led here."""
        self.succeeded: list[bytes] = []
        """Those of them that were not refused, with their answers, in canonical form."""

    def fork(self) -> McpSession:
        """Return a session of its own in this one's present state; it is led there when it is first used."""
        new = McpSession(self._states, self.task)
        new.journal, new.succeeded = list(self.journal), list(self.succeeded)
        return new

    def run(self, tool: str, arguments: dict[str, Any]) -> Ran:
        """Call a tool."""
        ran = self._states.ask(self, tool, arguments)
        if self._states.writes(tool):
            self.journal.append((tool, arguments))
            if ran.error is None:
                self.succeeded.append(frozen([tool, arguments, ran.value]))
        return ran

    def changes(self) -> dict[str, bytes]:
        """Return what differs from the initial state."""
        return self._states.changes(self)


def _filled(value: Any, task: str) -> Any:
    return value.replace("{task}", task) if isinstance(value, str) else value


def _flat(tables: dict[str, Any], ignore: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for name, table in tables.items():
        if name in ignore:
            continue
        if isinstance(table, dict):
            for key, record in table.items():
                yield f"{name}/{key}", frozen(record)
        else:
            yield name, frozen(table)
