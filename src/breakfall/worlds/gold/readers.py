"""Readers built from one question: does this answer show that the write took effect?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from breakfall.vocab import Applied, Arguments, Found, Reader, Settlement
from breakfall.vocab import pointer as pointers
from breakfall.vocab.tool import MapArguments

Tell: TypeAlias = Callable[[Any, Arguments], "Settlement | None"]
"""(the reader's value, arguments of the write) -> what became of the write; None: it was not applied."""

NO = Settlement(applied=Applied.NO)
UNKNOWN = Settlement(applied=Applied.UNKNOWN)


def yes(value: Any, evidence: str) -> Settlement:
    """Say that the write was applied, what its answer was as far as it can be told, and why."""
    return Settlement(applied=Applied.YES, value=value, evidence=evidence)


def reader(tool: str, tell: Tell, arguments: MapArguments) -> Reader:
    """Build a reader.

    Args:
        tool: The read.
        tell: What its value says of the write.
        arguments: Its arguments, from the write's.
    """

    def judge(value: Any, original: Arguments, first_sent_s: float) -> Settlement:
        try:
            return tell(value, original) or NO
        except (LookupError, TypeError, AttributeError):  # the answer lacks what would tell
            return UNKNOWN

    return Reader(tool=tool, arguments=arguments, judge=judge)


def gives(settlement: Settlement | None, found: Found, value: Any) -> bool:
    """Whether a look-up after a write gives what a later step takes from the write's own answer, `value`."""
    if settlement is None or settlement.applied is not Applied.YES:
        return False
    place = pointers.parse(found.pointer)
    try:
        return bool(pointers.get(settlement.value, place) == pointers.get(value, place))
    except (LookupError, TypeError):
        return False
