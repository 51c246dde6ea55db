"""The file that makes a world of an MCP server: how to start it, where its state is, what its tools do, the tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from breakfall.errors import UsageError
from breakfall.worlds.gold.tables import GoldTask


class State(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an episode gets a state of its own."""

    by: Literal["restart", "tool", "key"] = "restart"
    """A fresh process; a tool that resets; or an argument of every call that names the state."""
    tool: str = ""
    """For `tool`: the tool."""
    arguments: dict[str, Any] = {}
    """For `tool`: its arguments; ``{task}`` in a text is the task's id."""
    argument: str = ""
    """For `key`: the argument."""
    key: str = "breakfall/{task}/{nth}"
    """For `key`: its value; ``{task}`` is the task's id, ``{nth}`` makes it new."""
    file: str = ""
    """Where the server keeps the state as JSON: ``{scratch}`` is the scratch folder, ``{sha256}`` the key's hash."""
    probe: str = ""
    """A read without arguments that makes the server write the file; empty: the first that there is."""
    tables: str = ""
    """JSON Pointer to the tables in that file; empty: the whole of it."""
    ignore: tuple[str, ...] = ()
    """Tables of the file that are no state, such as a log of calls."""

    def __post_init__(self) -> None:
        """Refuse a way that lacks what it needs."""
        if self.by == "tool" and not self.tool:
            raise ValueError("state.by is 'tool', which needs state.tool")
        if self.by == "key" and not self.argument:
            raise ValueError("state.by is 'key', which needs state.argument")


class Expect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reader's answer shows after the write: at a JSON Pointer, a value or one of the write's arguments."""

    at: str
    value: Any = None
    argument: str = ""


class Look(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reader of a write."""

    tool: str
    arguments: dict[str, str] = {}
    """Argument -> its name among the write's."""
    expect: tuple[Expect, ...]
    """All of them must hold."""


class ToolFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says of a tool; it outweighs the server's annotations."""

    effect: Literal["read", "write", "irreversible", ""] = ""
    natural: bool | None = None
    unseen: bool = False
    """A write that no state shows, such as a message."""
    domain: str = ""
    reader: Look | None = None


class McpFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = {}
    state: State = field(default_factory=State)
    value: str = ""
    """JSON Pointer to the tool's value in what the server sends; empty: all of it."""
    hide: tuple[str, ...] = ()
    """Tools that no agent may call."""
    tools: dict[str, ToolFacts] = {}
    tasks: tuple[GoldTask, ...] = ()
    tasks_file: str = ""
    """A JSON list of further tasks, beside this file."""


def load(path: str) -> tuple[McpFile, tuple[GoldTask, ...], bytes]:
    """Read the file, its tasks, and the bytes of all that was read.

    Raises:
        UsageError: A file cannot be read or is not of this form; the message names the place.
    """
    if not path:
        raise UsageError("the world 'mcp' needs its file: --world mcp=FILE.toml")
    raw = _bytes(Path(path))
    try:
        found = msgspec.toml.decode(raw, type=McpFile)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    tasks = found.tasks
    if found.tasks_file:
        more = _bytes(Path(path).parent / found.tasks_file)
        raw += more
        try:
            tasks += msgspec.json.decode(more, type=tuple[GoldTask, ...])
        except msgspec.DecodeError as error:
            raise UsageError(f"{found.tasks_file}: {error}") from None
    if not tasks:
        raise UsageError(f"{path}: has no tasks; write [[tasks]] or name a tasks_file")
    return found, tasks, raw


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
