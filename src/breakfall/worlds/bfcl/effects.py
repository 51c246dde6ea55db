"""Effects: what a write is called in the effect log, so that equal effects of equivalent paths count as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from breakfall.vocab import AppliedEffect
from breakfall.worlds.bfcl import facts
from breakfall.worlds.bfcl.paths import canonical
from breakfall.worlds.gold import effects as gold_effects
from breakfall.worlds.gold.effects import EffectKey, target_of

_NOT_TARGET = frozenset({"access_token"})
_OF_SESSION = frozenset(f"GorillaFileSystem.{tool}" for tool in facts.SESSION)


def effect_of(owner: str, tool: str, arguments: Mapping[str, Any], folder: str) -> EffectKey:
    """Name the effect of a write, and what it is done to: its arguments, and for files the folder.

    Args:
        owner: The class that the tool belongs to.
        tool: The tool.
        arguments: Its arguments.
        folder: Where the file system stands before the call, else "".
    """
    tool, arguments = canonical(tool, arguments)
    plain = {name: value for name, value in arguments.items() if name not in _NOT_TARGET}
    return f"{owner}.{tool}", folder + target_of(plain)


def compare(
    log: Sequence[AppliedEffect], gold: Counter[EffectKey]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the missing, the duplicate and the wrong effects of a log; where the session stands does not count."""
    return gold_effects.compare(log, gold, _OF_SESSION)
