"""Expectations: what must hold of a tool's answer, so that a silent fault is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from msgspec import Struct

from breakfall.vocab import FaultKind
from breakfall.vocab import pointer as pointers
from breakfall.vocab.tool import Arguments, Json

Holds: TypeAlias = Callable[[Json, Arguments, float], bool]
"""(the value, the call's arguments, seconds since 1970) -> whether the expectation is met."""


class Expectation(Struct, frozen=True, kw_only=True):
    """A named invariant of a tool's answer, and the fault that a breach of it means."""

    name: str
    """What must hold, as a clause: "the price is at most 60 s old"."""
    kind: FaultKind
    holds: Holds
    """Where it raises for want of what it needs (lookup, type, value, arithmetic), that is a breach, too."""


class Breach(Struct, frozen=True):
    """An expectation that an answer does not meet."""

    expectation: Expectation
    why: str


def breach(value: Json, arguments: Arguments, expect: Sequence[Expectation], now_s: float) -> Breach | None:
    """Return the first expectation that the value does not meet.

    Args:
        value: What the tool answered.
        arguments: What it was asked.
        expect: What must hold.
        now_s: The time since 1970.
    """
    for expectation in expect:
        try:
            if expectation.holds(value, arguments, now_s):
                continue
            why = "it does not"
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            why = f"it cannot be told: {error}"
        return Breach(expectation, why)
    return None


def fresh(pointer: str, max_age_s: float) -> Expectation:
    """Expect the time at `pointer` to be at most `max_age_s` ago; a breach is a STALE_VALUE.

    Args:
        pointer: Where the time stands: ISO 8601 (UTC where it names no zone), or seconds or milliseconds since 1970.
        max_age_s: How old it may be.
    """
    place = pointers.parse(pointer)
    return Expectation(
        name=f"{pointer} is at most {max_age_s:g} s old",
        kind=FaultKind.STALE_VALUE,
        holds=lambda value, arguments, now_s: now_s - _time_s(pointers.get(value, place)) <= max_age_s,
    )


def adds_up(total: str, items: str, field: str) -> Expectation:
    """Expect the number at `total` to be the sum of a field over a list; a breach is PARTIAL_DATA.

    Args:
        total: Where the total stands.
        items: Where the list stands.
        field: The field of each item, a name or a pointer into the item.
    """
    total_at, items_at = pointers.parse(total), pointers.parse(items)
    part_at = pointers.parse(field if field.startswith("/") else f"/{pointers.escape(field)}")

    def holds(value: Json, arguments: Arguments, now_s: float) -> bool:
        parts = [_exact(pointers.get(item, part_at)) for item in _listed(pointers.get(value, items_at))]
        return _exact(pointers.get(value, total_at)) == sum(parts, Decimal(0))

    return Expectation(name=f"{total} is the sum of {field} over {items}", kind=FaultKind.PARTIAL_DATA, holds=holds)


def counts(count: str, items: str) -> Expectation:
    """Expect the number at `count` to be the length of the list at `items`; a breach is PARTIAL_DATA."""
    count_at, items_at = pointers.parse(count), pointers.parse(items)
    return Expectation(
        name=f"{count} is the number of {items}",
        kind=FaultKind.PARTIAL_DATA,
        holds=lambda value, arguments, now_s: (
            _exact(pointers.get(value, count_at)) == len(_listed(pointers.get(value, items_at)))
        ),
    )


def agrees(pointer: str, argument: str) -> Expectation:
    """Expect the value at `pointer` to be what the call asked for; a breach is a FACTUAL_ERROR.

    A call that does not give the argument expects nothing.

    Args:
        pointer: Where the value stands.
        argument: The argument's name.
    """
    place = pointers.parse(pointer)
    return Expectation(
        name=f"{pointer} is the {argument} that was asked for",
        kind=FaultKind.FACTUAL_ERROR,
        holds=lambda value, arguments, now_s: (
            arguments.get(argument) is None or pointers.get(value, place) == arguments[argument]
        ),
    )


_MILLISECONDS = 1e11
"""A number of seconds above this lies more than a thousand years ahead, so it is milliseconds."""


def _time_s(value: Any) -> float:
    """Read a time as seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is no time")
    if isinstance(value, str):
        at = datetime.fromisoformat(value)
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    return value / 1000.0 if value > _MILLISECONDS else float(value)


def _exact(value: Any) -> Decimal:
    """Read a number or a decimal text exactly as it is written: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is no number")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is no number") from None


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a {type(value).__name__} is no list")
    return value
