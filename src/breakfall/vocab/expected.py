"""What a step was for: free text, or intent, target and predicates that its outcome can be held against."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from breakfall.vocab import pointer as pointers


class Predicate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that must hold of the observed value: the part that `at` names compares so with `value`."""

    at: str = ""
    """JSON Pointer into the observed value; "" is the whole of it."""
    is_: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "exists"] = "exists"
    value: Any = None

    def __post_init__(self) -> None:
        """Refuse an `at` that is no pointer."""
        pointers.parse(self.at)

    def __str__(self) -> str:
        """Read like ``/state == 'closed'``."""
        where = self.at or "the value"
        return f"{where} exists" if self.is_ == "exists" else f"{where} {self.is_} {self.value!r}"


class Expected(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An expected outcome in parts.

    Steps of one `intent` are compared with each other, whatever their target.
    """

    intent: str
    """What is to be achieved, the same words each time: "close the issue"."""
    target: str = ""
    """What it is done to: "issue:42"."""
    predicate: tuple[Predicate, ...] = ()
    """All of them must hold."""

    def __str__(self) -> str:
        """Read like ``close the issue issue:42: /state == 'closed'``."""
        what = f"{self.intent} {self.target}".rstrip()
        return f"{what}: {' and '.join(map(str, self.predicate))}" if self.predicate else what


_VARIABLE = re.compile(
    r"""
      "[^"]*" | “[^”]*” | `[^`]*`   # quoted
    | \S+@\S+ | \w+://\S+           # addresses
    | [\w.:/\#-]*\d[\w.:/\#-]*      # numbers and ids
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=65536)
def intent_of(text: str) -> str:
    """Return the intent of a free text: its words without what varies from step to step.

    Quoted parts, addresses, numbers and ids become ``#``, so that "refund order O17" and "refund order O18" are one
    intent. Upper and lower case, and the full stop, make no difference.
    """
    return " ".join(_VARIABLE.sub("#", text).casefold().split()).rstrip(" .!")
