"""Plausible false values: of the same type and form as the true one, valid in its place, and never equal to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from breakfall.faults.shape import STATUSES, Leaf, What
from breakfall.seeds import Stream

T = TypeVar("T")
Ids: TypeAlias = Callable[[str], Sequence[str]]
"""The existing ids of a kind, as `Environment.ids` gives them."""

_FACTORS = (1.1, 0.9, 1.5, 0.5, 2.0, 10.0, 0.1)
_STEPS = (1, -1, 2, -2, 3, -3, 5, 10)
_DAYS = (1, -1, 2, -2, 3, -3, 7, -7, 14, 30)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_DIGITS = re.compile(r"[0-9]{1,15}")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXACT_INTEGERS = 2**53
_SECONDS_PER_DAY = 86_400


def other(leaf: Leaf, value: Any, draw: Stream, ids: Ids) -> Any | None:
    """Return another value that could well stand in this place, or None if there is none."""
    if not leaf.what.load_bearing:
        return None
    if leaf.choices:
        return first_valid(leaf, value, rotated(leaf.choices, draw))
    if leaf.what is What.ID:
        return first_valid(leaf, value, _other_ids(leaf, value, draw, ids))
    return first_valid(leaf, value, _MAKERS[leaf.what](value, draw))


def similar(what: What, value: Any, draw: Stream) -> Iterator[Any]:
    """Yield values of the same form, in a drawn order, whatever the schema says."""
    yield from _MAKERS[what](value, draw)


def first_valid(leaf: Leaf, value: Any, candidates: Iterable[Any]) -> Any | None:
    """Take the first candidate that differs and that the place's schema admits.

    A true value that breaks its own schema binds the false one only to its type.
    """
    kind = type(value)
    checked = leaf.is_valid(value)
    for candidate in candidates:
        if type(candidate) is not kind or candidate == value or (kind is float and not isfinite(candidate)):
            continue
        if not checked or leaf.is_valid(candidate):
            return candidate
    return None


def rotated(options: Sequence[T], draw: Stream) -> Iterator[T]:
    """Go once around all options, from a drawn one on."""
    if options:
        start = draw.below(len(options))
        for index in range(len(options)):
            yield options[(start + index) % len(options)]


def _other_ids(leaf: Leaf, value: Any, draw: Stream, ids: Ids) -> Iterator[Any]:
    """Existing ids of the same kind; only where a guess named the kind, also ids that merely look right."""
    known = ids(leaf.of) if leaf.of else ()
    for name in rotated(known, draw):
        yield int(name) if isinstance(value, int) and name.isdecimal() else name
    if not known and not leaf.declared:
        yield from _MAKERS[What.CODE if isinstance(value, str) else What.NUMBER](value, draw)


def _amounts(value: Any, draw: Stream) -> Iterator[Any]:
    """Numbers of the same scale: whole cents stay whole, decimals keep their places."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        if abs(value) < _EXACT_INTEGERS:
            yield from (round(value * factor) for factor in rotated(_FACTORS, draw))
        yield from (value + step for step in (100, 1, -1))
    elif isinstance(value, float):
        places = max(2, _decimals(value))
        yield from (round(value * factor, places) for factor in rotated(_FACTORS, draw))
        yield from (round(value + step, places) for step in (1.0, -1.0))
    elif isinstance(value, str) and (found := _NUMBER.search(value)):
        true = Decimal(found[0])
        for factor in rotated(_FACTORS, draw):
            new = (true * Decimal(str(factor))).quantize(true)
            yield f"{value[: found.start()]}{new}{value[found.end() :]}"
        yield f"{value[: found.start()]}{true + 1}{value[found.end() :]}"


def _counts(value: Any, draw: Stream) -> Iterator[Any]:
    """Counts near by; none turns negative that was not."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield from (value + step for step in rotated(_STEPS, draw) if value < 0 or value + step >= 0)
    else:
        yield from _codes(value, draw)


def _numbers(value: Any, draw: Stream) -> Iterator[Any]:
    """Numbers of the same size: whole ones near by, others scaled with their decimals kept."""
    if isinstance(value, float) and not value.is_integer():
        places = _decimals(value)
        yield from (round(value * factor, places) for factor in rotated(_FACTORS, draw))
        yield round(value + 10.0**-places, places)
    else:
        yield from _counts(value, draw)


def _decimals(value: float) -> int:
    """Count the decimal places that a number is written with."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def _dates(value: Any, draw: Stream) -> Iterator[Any]:
    """Times some days off, written as the true one is."""
    for days in rotated(_DAYS, draw):
        yield from shifted(value, days)


def shifted(value: Any, days: int) -> Iterator[Any]:
    """Yield the time moved by days, if it can be read and moved: an ISO text, or seconds or milliseconds."""
    if isinstance(value, str) and _ISO_DATE.match(value):
        try:
            yield (date.fromisoformat(value[:10]) + timedelta(days=days)).isoformat() + value[10:]
        except (ValueError, OverflowError):
            return
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value + days * _SECONDS_PER_DAY * (1000 if value > 1e11 else 1)


def _statuses(value: Any, draw: Stream) -> Iterator[Any]:
    """Other statuses, in the true one's case."""
    for status in rotated(STATUSES, draw):
        yield _in_case(status, value)


def _in_case(status: str, like: Any) -> str:
    if isinstance(like, str) and like.isupper():
        return status.upper()
    return status.capitalize() if isinstance(like, str) and like[:1].isupper() else status


def _emails(value: Any, draw: Stream) -> Iterator[Any]:
    """Addresses of somebody else at the same host."""
    if isinstance(value, str):
        name, at, host = value.partition("@")
        yield from (f"{name}{mark}{at}{host}" for mark in rotated(("1", ".2", "_old", "77"), draw))


def _flags(value: Any, draw: Stream) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value


def _codes(value: Any, draw: Stream) -> Iterator[Any]:
    """Texts of the same form with one of their numbers changed."""
    if not isinstance(value, str):
        return
    runs = list(_DIGITS.finditer(value))
    for run in rotated(runs, draw):
        for step in rotated(_STEPS, draw):
            digits = str((int(run[0]) + step) % 10 ** len(run[0])).zfill(len(run[0]))
            yield f"{value[: run.start()]}{digits}{value[run.end() :]}"


_MAKERS: dict[What, Callable[[Any, Stream], Iterator[Any]]] = {
    What.MONEY: _amounts,
    What.QUANTITY: _counts,
    What.DATE: _dates,
    What.STATUS: _statuses,
    What.EMAIL: _emails,
    What.NUMBER: _numbers,
    What.FLAG: _flags,
    What.CODE: _codes,
}
