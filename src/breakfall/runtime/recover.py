"""Guard one callable, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from breakfall.recovery.policy import Policy
from breakfall.runtime.declare import Declared, tool
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Effect

P = ParamSpec("P")
R = TypeVar("R")


def recover(
    function: Callable[P, R],
    effect: Effect | str,
    *others: Declared[Any, Any],
    policy: Policy | str = "balanced",
    **how: Any,
) -> Callable[P, R]:
    """Guard one callable, without a toolbox of one's own.

    Args:
        function: What to call; the guarded function has its signature and colour.
        effect: "read", "write" or "irreversible".
        others: The readers and paths that it names.
        policy: As for `Toolbox`.
        how: The further arguments of `tool`.
    """
    declared = tool(effect, **how)(function)
    return Toolbox(*others, declared, policy=policy)[declared]
