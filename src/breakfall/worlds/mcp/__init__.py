"""Any MCP server as a world, made from a file."""

from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.mcp.source import McpSource

__all__ = ["mcp"]


def mcp(path: str = "") -> GoldWorld:
    """Load the world that a TOML file describes, and start its server.

    Raises:
        UsageError: The file is not of the form, or the server cannot be started.
    """
    return GoldWorld(McpSource(path))
