"""A small MCP server for tests: a desk of notes in memory, with annotations, a reset tool and one tool that dies."""

from __future__ import annotations

import os

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("desk", version="1.2")
NOTES: dict[str, str] = {}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get_note(key: str) -> str:
    """Read a note."""
    return NOTES.get(key, "nothing")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_notes() -> dict[str, str]:
    """List all notes."""
    return dict(NOTES)


@server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
def put_note(key: str, text: str) -> str:
    """Write a note."""
    NOTES[key] = text
    return f"{key} is written"


@server.tool()
def append_note(key: str, text: str) -> str:
    """Add to a note."""
    if key not in NOTES:
        raise ToolError(f"no note {key}")
    NOTES[key] += text
    return NOTES[key]


@server.tool()
def reset() -> str:
    """Remove all notes."""
    NOTES.clear()
    return "empty"


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(1)


if __name__ == "__main__":
    server.run("stdio")
