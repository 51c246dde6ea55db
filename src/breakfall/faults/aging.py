"""Aging: which values of an answer could have been other earlier in the record's life, and what they were then.

Only what lives ages: a state goes back along the order in which its schema lists them, the time of a last update goes
back no further than to what came before it, stocks and balances were fuller, counts lower. Who somebody is, what was
bought, how and when something was made never changes, so an aged answer never tells what was not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from breakfall.faults.plausible import first_valid, shifted, similar
from breakfall.faults.shape import Place, What
from breakfall.seeds import Stream
from breakfall.vocab.pointer import get

_STATES = frozenset({"status", "state", "stage", "phase"})
_UPDATES = frozenset({"updated", "modified", "changed", "last"})
_FULLER = frozenset({"stock", "available", "hand", "inventory", "balance", "remaining"})
_LOWER = frozenset({"reserved", "count"})
_OWED = frozenset({"due"})
"""What is owed follows from other places of the answer."""
_EXITS = frozenset(
    {
        "cancelled", "canceled", "closed", "declined", "deleted", "expired", "failed", "inactive", "lost", "refunded",
        "rejected", "returned", "void", "voided",
    }
)  # fmt: skip
"""States that are reached from several others, so that the order does not tell which one came before."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_AMOUNTS = frozenset({What.QUANTITY, What.NUMBER, What.MONEY, What.FLAG})


def aged(value: Any, places: Sequence[Place], draw: Stream) -> list[tuple[Place, Any]]:
    """Return what of an answer was other earlier: one living value, and the times that went with it.

    Args:
        value: The answer.
        places: All its scalars.
        draw: Where to draw from.
    """
    days = -draw.integer(1, 3)
    start = draw.below(len(places)) if places else 0
    for place in (*places[start:], *places[:start]):
        earlier = _earlier(value, place, places, draw, days)
        if earlier is None:
            continue
        changes = [(place, earlier)]
        if _is_state(place):
            changes += _back([one for one in _siblings(place, places) if _is_update(one)], places, days)
        changed = {one.at for one, _ in changes}
        kept = [one for one in places if one.at not in changed]
        return changes + _back([one for one in kept if one.leaf.what is What.AS_OF], kept, days)
    return []


def _earlier(value: Any, place: Place, places: Sequence[Place], draw: Stream, days: int) -> Any | None:
    """Return what stood in a place earlier, or None if nothing else ever did as far as can be told."""
    if _is_state(place):
        return _earlier_state(place, _siblings(place, places))
    if _is_update(place):
        return _earlier_time(place, _siblings(place, places), days)
    words = _words(place)
    if place.leaf.what not in _AMOUNTS or words & _OWED:
        return None
    if words & _FULLER:
        return first_valid(place.leaf, place.value, _beyond(place, draw, more=True))
    if words & _LOWER and not _counts_a_list(value, place):
        return first_valid(place.leaf, place.value, _beyond(place, draw, more=False))
    return None


def _earlier_state(place: Place, siblings: Sequence[Place]) -> Any | None:
    """Return the state before, unless the rest of the record says that it was reached in no other way."""
    state, order = place.value, place.leaf.choices
    if state not in order or _is_exit(state):
        return None
    if any(_words(one) == {str(state).lower(), mark} for one in siblings for mark in ("at", "on", "date", "time")):
        return None  # such as delivered_at beside "delivered"
    if any(_is_update(one) and _floor(one, siblings) == one.value for one in siblings):
        return None  # the record is as it was made
    before = [one for one in order[: order.index(state)] if not _is_exit(one)]
    return first_valid(place.leaf, state, reversed(before))


def _earlier_time(place: Place, others: Sequence[Place], days: int) -> Any | None:
    """Return the time some days back, or as far as what already was allows; None if it cannot go back."""
    floor = _floor(place, others)
    times = [time for back in (days, -1) for time in shifted(place.value, back) if floor is None or time >= floor]
    return first_valid(place.leaf, place.value, times if floor is None else [*times, floor])


def _floor(place: Place, others: Sequence[Place]) -> Any | None:
    """Return the latest time among others that was not after this one."""
    times = [
        other.value
        for other in others
        if other.at != place.at
        and other.leaf.what is What.DATE
        and type(other.value) is type(place.value)
        and other.value <= place.value
    ]
    return max(times, default=None)


def _back(stamps: Sequence[Place], others: Sequence[Place], days: int) -> list[tuple[Place, Any]]:
    """Take times back as far as the others allow."""
    times = ((stamp, _earlier_time(stamp, others, days)) for stamp in stamps)
    return [(stamp, time) for stamp, time in times if time is not None]


def _beyond(place: Place, draw: Stream, *, more: bool) -> Iterator[Any]:
    """Yield similar values that are all more, or all less, and none below nothing."""
    true = _number(place.value)
    for candidate in similar(place.leaf.what, place.value, draw):
        number = _number(candidate)
        if number >= 0 and (number > true if more else number < true):
            yield candidate


def _number(value: Any) -> Decimal:
    found = _NUMBER.search(repr(value) if isinstance(value, float) else str(value))
    if isinstance(value, bool) or found is None:
        return Decimal(value is True)
    return Decimal(found[0])


def _counts_a_list(value: Any, place: Place) -> bool:
    """Whether the count is that of a list which stands beside it."""
    record = get(value, place.at[:-1])
    return isinstance(record, dict) and any(
        isinstance(part, list) and len(part) == place.value for part in record.values()
    )


def _siblings(place: Place, places: Sequence[Place]) -> list[Place]:
    return [one for one in places if one.at[:-1] == place.at[:-1] and one.at != place.at]


def _words(place: Place) -> set[str]:
    """Return the words of a place's name, in small letters."""
    name = next((part for part in reversed(place.at) if not part.isdigit()), "")
    return {word.lower() for word in _WORD.findall(name)}


def _is_state(place: Place) -> bool:
    return place.leaf.what is What.STATUS and bool(place.leaf.choices) and bool(_words(place) & _STATES)


def _is_update(place: Place) -> bool:
    return place.leaf.what is What.DATE and bool(_words(place) & _UPDATES)


def _is_exit(state: Any) -> bool:
    return str(state).lower() in _EXITS
