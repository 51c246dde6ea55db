"""An MCP server as a child process, called from synchronous code through the official SDK."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio.from_thread import BlockingPortal
from msgspec import Struct

from breakfall.errors import RunError, UsageError

_START_S = 30.0
_CALL_S = 60.0


class Answer(Struct, frozen=True):
    """What a call of a tool came to, as the server sent it."""

    value: Any
    """The structured content, else the text, read as JSON where it is a record or a list."""
    failed: bool


class Server:
    """One server process at a time; it is started when first needed, also after a fork of this process.

    Args:
        command: What starts it; ``{scratch}`` in a word is a folder that is removed at the end.
        environment: Variables for it, beside those that the SDK hands on; ``{scratch}`` as above.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        if find_spec("mcp") is None:
            raise UsageError("worlds of MCP servers need the SDK; install it with: pip install 'breakfall[mcp]'")
        self._command = tuple(command)
        self._environment = dict(environment)
        self._owner = 0
        self._portal: BlockingPortal
        self._running: AbstractContextManager[Any] | None = None
        self._session: Any = None
        self.scratch = ""
        self.generation = 0
        """Goes up when a process ended, and its state with it."""

    @property
    def session(self) -> Any:
        """The SDK's session; starts the server if it does not run in this process."""
        if self._owner != os.getpid():
            self._owner, self._running = os.getpid(), None
            self._folder = tempfile.TemporaryDirectory(prefix="breakfall-mcp-", ignore_cleanup_errors=True)
            self.scratch = self._folder.name
            self._portal = _portal()
            atexit.register(self.close)
        if self._running is None:
            self._start()
        return self._session

    def tools(self) -> list[Any]:
        """List the server's tools, all pages of them."""
        session = self.session

        async def pages() -> list[Any]:
            found: list[Any] = []
            page = await session.list_tools()
            found += page.tools
            while page.next_cursor:
                page = await session.list_tools(params=PaginatedRequestParams(cursor=page.next_cursor))
                found += page.tools
            return found

        from mcp.types import PaginatedRequestParams

        return self._portal.call(pages)

    def name(self) -> str:
        """Return what the server says that it is."""
        info = self.session.server_info
        return f"{info.name} {info.version}"

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool.

        Raises:
            RunError: The server broke the protocol, or did not answer.
        """
        from mcp.shared.exceptions import MCPError
        from mcp.types import INVALID_PARAMS

        session = self.session

        async def ask() -> Any:
            with anyio.fail_after(_CALL_S):
                return await session.call_tool(tool, arguments)

        try:
            result = self._portal.call(ask)
        except Exception as error:
            if isinstance(error, MCPError) and error.code == INVALID_PARAMS:
                return Answer(error.message, failed=True)
            self.restart()  # whatever state it had is gone
            raise RunError(f"MCP server {self._words}: {tool}: {type(error).__name__}: {error}") from error
        return Answer(_value(result), bool(result.is_error))

    def restart(self) -> None:
        """End the process; the next call starts a fresh one, of the next generation."""
        self.generation += 1
        if self._running is not None and self._owner == os.getpid():
            self._running.__exit__(None, None, None)
        self._running = None

    def close(self) -> None:
        """End the process and remove the scratch folder."""
        if self._owner == os.getpid():
            self.restart()
            self._folder.cleanup()

    @property
    def _words(self) -> str:
        return shlex.join(self._command)

    def _start(self) -> None:
        from mcp.client.session import ClientSession
        from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

        command = [word.replace("{scratch}", self.scratch) for word in self._command]
        command[0] = sys.executable if command[0] == "python" else command[0]
        own = {name: value.replace("{scratch}", self.scratch) for name, value in self._environment.items()}
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env={**get_default_environment(), **own}
        )

        @asynccontextmanager
        async def running() -> AsyncIterator[Any]:
            with Path(self.scratch, "stderr.log").open("a") as log:  # a server's own words are not ours to show
                async with stdio_client(parameters, errlog=log) as streams, ClientSession(*streams) as session:
                    with anyio.fail_after(_START_S):
                        await session.initialize()
                    yield session

        manager = self._portal.wrap_async_context_manager(running())
        try:
            self._session = manager.__enter__()
        except Exception as error:
            raise UsageError(f"MCP server {self._words}: cannot be started: {_cause(error)}") from error
        self._running = manager


def _portal() -> BlockingPortal:
    """Start a loop in a thread that does not keep the process from ending."""
    found: list[BlockingPortal] = []
    ready = threading.Event()

    async def serve() -> None:
        async with BlockingPortal() as portal:
            found.append(portal)
            ready.set()
            await portal.sleep_until_stopped()

    threading.Thread(target=anyio.run, args=(serve,), name="breakfall-mcp", daemon=True).start()
    ready.wait()
    return found[0]


def _value(result: Any) -> Any:
    if result.structured_content is not None:
        return result.structured_content
    text = "\n".join(part.text for part in result.content if part.type == "text")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
