"""What breakfall raises when it cannot go on.

A failing *tool* is a value (`breakfall.vocab.Failed`), never one of these:

    BreakfallError
    ├─ UsageError   exit 2   the caller can fix it: unknown name, bad file, bad plan
    ├─ RunError     exit 1   one episode could not finish; its siblings continue
    └─ StoreError   exit 3   a ledger or another stored file is damaged or cannot be written
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class BreakfallError(Exception):
    """The root of the tree; `exit_code` is what the command line returns."""

    exit_code: ClassVar[int] = 1


class UsageError(BreakfallError):
    """The caller asked for something that cannot be; the message says what would be right."""

    exit_code: ClassVar[int] = 2


class RunError(BreakfallError):
    """One episode could not finish; the message names the boundary that was crossed."""


class StoreError(BreakfallError):
    """A stored file is damaged, or could not be written."""

    exit_code: ClassVar[int] = 3


def unknown_name(what: str, name: str, known: Iterable[str], where: str) -> UsageError:
    """Build the error for a name that is not known, with the nearest known one.

    Args:
        what: The noun, such as "world".
        name: What the caller wrote.
        known: The names that would have been right.
        where: How the caller lists them, such as "breakfall bench --help".
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}."
    return UsageError(f"no {what} {name!r}; {hint} ({where})")
