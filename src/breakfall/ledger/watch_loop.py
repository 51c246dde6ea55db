"""Loops: the same calls again and again, with the same results."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from breakfall.vocab import Ok, Step

LONGEST = 4
"""Calls in the longest round that is looked for."""
_BYTES = 8


def signature(step: Step) -> bytes:
    """Return what two steps share that do the same and get the same."""
    outcome = step.observed_outcome
    got = outcome.value if isinstance(outcome, Ok) else [outcome.failure_class, outcome.status, outcome.message]
    what = [step.tool, step.arguments, isinstance(outcome, Ok), got]
    return blake2b(msgspec.json.encode(what, order="deterministic"), digest_size=_BYTES).digest()


def kept(repeats: int) -> int:
    """Return how many signatures are worth keeping."""
    return LONGEST * repeats


def round_of(recent: Sequence[bytes], repeats: int) -> int | None:
    """Return how many calls a round has that was just made for the `repeats`-th time in a row; None if there is none.

    Args:
        recent: The signatures of the latest calls, the latest last.
        repeats: From how many times on it is a loop.
    """
    for length in range(1, LONGEST + 1):
        span = length * repeats
        tail = recent[-span:]
        if len(tail) == span and all(tail[place] == tail[place % length] for place in range(span)):
            return length
    return None
