"""breakfall breaks an agent's tools on purpose and measures how the agent falls."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from breakfall.runtime.declare import key, look_up, natural, tool, via
    from breakfall.runtime.recover import recover
    from breakfall.runtime.stopped import CallStopped
    from breakfall.runtime.wrap import Toolbox

__version__ = "0.1.0"

__all__ = ["CallStopped", "Toolbox", "__version__", "key", "look_up", "natural", "recover", "tool", "via"]

_HOMES = {
    "CallStopped": "breakfall.runtime.stopped",
    "Toolbox": "breakfall.runtime.wrap",
    "key": "breakfall.runtime.declare",
    "look_up": "breakfall.runtime.declare",
    "natural": "breakfall.runtime.declare",
    "recover": "breakfall.runtime.recover",
    "tool": "breakfall.runtime.declare",
    "via": "breakfall.runtime.declare",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are asked for: importing breakfall alone does nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'breakfall' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
