"""Effects: what a write is called in the effect log, so that equal effects of equivalent paths count as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from breakfall.vocab import AppliedEffect
from breakfall.worlds.bfcl import facts
from breakfall.worlds.bfcl.paths import canonical

EffectKey: TypeAlias = tuple[str, str]
"""(name, target) of an effect."""

_NOT_TARGET = frozenset({"access_token"})


def effect_of(owner: str, tool: str, arguments: Mapping[str, Any], folder: str) -> EffectKey:
    """Name the effect of a write, and what it is done to: its arguments, and for files the folder.

    Args:
        owner: The class that the tool belongs to.
        tool: The tool.
        arguments: Its arguments.
        folder: Where the file system stands before the call, else "".
    """
    tool, arguments = canonical(tool, arguments)
    plain = {name: _plain(value) for name, value in sorted(arguments.items()) if name not in _NOT_TARGET}
    return f"{owner}.{tool}", folder + msgspec.json.encode(plain, enc_hook=str).decode()


def _plain(value: Any) -> Any:
    return int(value) if type(value) is float and value.is_integer() else value


def compare(
    log: Sequence[AppliedEffect], gold: Counter[EffectKey]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the missing, the duplicate and the wrong effects of a log; where the session stands does not count.

    An effect that gold has and the log has more often is a duplicate, once per extra time; one that gold does not
    have is wrong.
    """
    applied = Counter((effect.name, effect.target) for effect in log if not _of_session(effect.name))
    wanted = Counter({key: count for key, count in gold.items() if not _of_session(key[0])})
    missing = [f"{name} {target}" for name, target in (wanted - applied).elements()]
    extra = applied - wanted
    duplicate = [f"{name} {target}" for name, target in extra.elements() if (name, target) in wanted]
    wrong = [f"{name} {target}" for name, target in extra.elements() if (name, target) not in wanted]
    return tuple(missing), tuple(duplicate), tuple(wrong)


def _of_session(name: str) -> bool:
    return name.rsplit(".", 1)[-1] in facts.SESSION
