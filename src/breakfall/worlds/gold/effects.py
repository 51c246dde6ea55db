"""Effects: a log held against gold's, so that equal effects of equivalent paths count as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from breakfall.vocab import AppliedEffect

EffectKey: TypeAlias = tuple[str, str]
"""(name, target) of an effect."""


def target_of(arguments: Mapping[str, Any]) -> str:
    """Write what a call is done to: its arguments, in one form whatever their order, ``2.0`` as ``2``."""
    plain = {name: _plain(value) for name, value in sorted(arguments.items())}
    return msgspec.json.encode(plain, enc_hook=str).decode()


def compare(
    log: Sequence[AppliedEffect], gold: Counter[EffectKey], passed_over: Collection[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the missing, the duplicate and the wrong effects of a log.

    An effect that gold has and the log has more often is a duplicate, once per extra time; one that gold does not
    have is wrong.

    Args:
        log: The effect log.
        gold: How often gold applies each effect.
        passed_over: Names of effects that are neither wanted nor unwanted.
    """
    applied = Counter((effect.name, effect.target) for effect in log if effect.name not in passed_over)
    wanted = Counter({key: count for key, count in gold.items() if key[0] not in passed_over})
    missing = [f"{name} {target}" for name, target in (wanted - applied).elements()]
    extra = applied - wanted
    duplicate = [f"{name} {target}" for name, target in extra.elements() if (name, target) in wanted]
    wrong = [f"{name} {target}" for name, target in extra.elements() if (name, target) not in wanted]
    return tuple(missing), tuple(duplicate), tuple(wrong)


def _plain(value: Any) -> Any:
    return int(value) if type(value) is float and value.is_integer() else value
