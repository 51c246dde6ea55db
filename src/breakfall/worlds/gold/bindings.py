"""Bindings inferred from literal gold calls: an argument that equals a value in an earlier result is bound to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from breakfall.vocab import Found
from breakfall.vocab import pointer as pointers

_TEXT_LENGTH = 3
_TRIVIAL = 10
"""Numbers below this are counts, levels and flags more often than they are found; only an id may be so small."""

_ID = re.compile(r"(.*_)?id", re.IGNORECASE)


class Results:
    """The scalars of the results so far, with where each was found."""

    def __init__(self) -> None:
        self._places: list[tuple[str, str, Any]] = []

    def add(self, step: str, value: Any) -> None:
        """Take in what a step answered."""
        self._places.extend((step, pointer, held) for pointer, held in leaves(value, ""))

    def bound(self, name: str, value: Any, said: str) -> Any:
        """Bind a value to the latest result that holds it, unless the user said it or it is too common to tell.

        Args:
            name: The argument's name.
            value: Its literal value; parts of records and lists are bound one by one.
            said: What the user has said by then, in lower case.
        """
        if isinstance(value, dict):
            return {key: self.bound(key, item, said) for key, item in value.items()}
        if isinstance(value, list):
            return [self.bound(name, item, said) for item in value]
        if not _telling(name, value) or stated(value, said):
            return value
        return self.found(value) or value

    def found(self, value: Any) -> Found | None:
        """Return the latest place that holds a value."""
        for step, pointer, held in reversed(self._places):
            if type(held) is type(value) and held == value and (not _small(value) or _ID.fullmatch(_last(pointer))):
                return Found(step, pointer)
        return None

    def worded(self, text: str) -> Found | None:
        """Return the latest place whose value reads like `text`, however it is typed."""
        if len(text) < _TEXT_LENGTH:
            return None
        for step, pointer, held in reversed(self._places):
            if not isinstance(held, bool) and str(held).lower() == text.lower():
                return Found(step, pointer)
        return None


def found_in(value: Any) -> Iterator[Found]:
    """Yield the bindings to earlier results inside bound arguments."""
    if isinstance(value, Found):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from found_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from found_in(item)


def leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield the scalars of a result with their JSON Pointers."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{at}/{pointers.escape(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{at}/{index}")
    else:
        yield at, value


def stated(value: Any, said: str) -> bool:
    """Whether the user said the value, a number also in the forms ``1,500`` and ``1500.00``."""
    if isinstance(value, str):
        return value.lower() in said
    forms = {str(value), f"{value:,}", f"{value:.2f}", f"{value:,.2f}"}
    if float(value).is_integer():
        forms |= {str(int(value)), f"{int(value):,}"}
    return any(re.search(rf"(?<![\d.,]){re.escape(form)}(?!\d|[.,]\d)", said) for form in forms)


def _telling(name: str, value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= _TEXT_LENGTH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not _small(value) or bool(_ID.fullmatch(name))


def _small(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < _TRIVIAL and float(value).is_integer()


def _last(pointer: str) -> str:
    return pointer.rsplit("/", 1)[-1]
