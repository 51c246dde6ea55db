"""Silent faults: well-formed answers that are false, and the exact places where they are.

Each takes the true answer and returns the false one, or None where the fault cannot strike: an answer without a value
that could be missing, earlier or other. What the world handed out is never changed; only what lies on the way to a
false value is copied.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from breakfall.faults.aging import aged
from breakfall.faults.plausible import Ids, other, rotated
from breakfall.faults.shape import Place, Shape, What
from breakfall.seeds import Stream
from breakfall.vocab import Arguments, Corruption, Ok
from breakfall.vocab.pointer import Pointer, escape, get, removed, replaced


class Falsified(Struct, frozen=True):
    """An answer as it is shown, and where it differs from the true one."""

    outcome: Ok
    corruptions: tuple[Corruption, ...]


def partial_data(answer: Ok, shape: Shape, draw: Stream) -> Falsified | None:
    """Leave out list items or a record's fields."""
    records: list[tuple[str, ...]] = []
    lists: list[tuple[str, ...]] = []
    _containers(answer.value, (), records, lists)
    if not records and not lists:
        return None
    if lists and (not records or draw.uniform() < 0.5):
        at = draw.choice(lists)
        names = [str(index) for index in range(len(get(answer.value, at)))]
        gone = draw.sample(names, draw.integer(1, max(1, len(names) // 2)))
        gone.sort(key=int, reverse=True)  # the last first, so that the positions of the others still hold
    else:
        at = draw.choice(records)
        names = _telling_fields(shape, answer.value, at)
        gone = draw.sample(names, draw.integer(1, max(1, len(names) // 3)))
    shown, corruptions = answer.value, []
    for name in gone:
        where = (*at, name)
        corruptions.append(Corruption(pointer=_text(where), true=get(answer.value, where), shown=None, removed=True))
        shown = removed(shown, where)
    return Falsified(Ok(value=shown, replayed=answer.replayed), tuple(corruptions))


def stale_value(answer: Ok, shape: Shape, draw: Stream, earlier: Any | None, *, ages: bool = True) -> Falsified | None:
    """Show what the answer was before the last change; where the world knows no other, an aged answer.

    Args:
        answer: The true answer.
        shape: What its places hold.
        draw: Where to draw from.
        earlier: The world's earlier answer, None if it has none.
        ages: Whether the answer may age: that of a write tells of what is new, so nothing was there before.
    """
    places = shape.places(answer.value)
    if earlier is not None:
        changes = differences(answer.value, earlier)
        stamps = {_text(place.at) for place in places if place.leaf.what is What.AS_OF}
        if any(change.pointer not in stamps for change in changes):
            return Falsified(Ok(value=earlier, replayed=answer.replayed), tuple(changes))
    changed = aged(answer.value, places, draw) if ages else []
    return _with(answer, changed) if changed else None


def factual_error(answer: Ok, shape: Shape, draw: Stream, ids: Ids, arguments: Arguments) -> Falsified | None:
    """Replace one load-bearing value by a plausible other of the same type.

    What merely echoes an argument is replaced only where nothing else can be: the caller knows it already.
    """
    candidates = [place for place in shape.places(answer.value) if place.leaf.what.load_bearing]
    asked = [value for value in arguments.values() if isinstance(value, str)]
    news = [place for place in candidates if place.value not in asked]
    echoes = [place for place in candidates if place.value in asked]
    for place in (*rotated(news, draw), *rotated(echoes, draw)):
        false = other(place.leaf, place.value, draw, ids)
        if false is not None:
            return _with(answer, [(place, false)])
    return None


def false_success(pretended: Ok) -> Falsified:
    """Say success for a write that was not applied: nothing of the answer is true."""
    shown = pretended.value
    return Falsified(pretended, () if shown is None else (Corruption(pointer="", true=None, shown=shown),))


def differences(true: Any, shown: Any, at: str = "") -> list[Corruption]:
    """List the places where `shown` differs from `true`, each as deep as both have it."""
    if isinstance(true, dict) and isinstance(shown, dict):
        found = []
        for name in {**true, **shown}:
            where = f"{at}/{escape(name)}"
            if name not in shown:
                found.append(Corruption(pointer=where, true=true[name], shown=None, removed=True))
            elif name not in true:
                found.append(Corruption(pointer=where, true=None, shown=shown[name]))
            else:
                found += differences(true[name], shown[name], where)
        return found
    if isinstance(true, list) and isinstance(shown, list):
        return _list_differences(true, shown, at)
    same = true == shown and isinstance(true, bool) == isinstance(shown, bool)
    return [] if same else [Corruption(pointer=at, true=true, shown=shown)]


def _list_differences(true: list[Any], shown: list[Any], at: str) -> list[Corruption]:
    """Compare lists: where one merely lacks items of the other, name those; else compare place by place."""
    lacking, added = _left_over(true, shown), _left_over(shown, true)
    if lacking is not None:
        return [Corruption(pointer=f"{at}/{i}", true=true[i], shown=None, removed=True) for i in lacking]
    if added is not None:
        return [Corruption(pointer=f"{at}/{i}", true=None, shown=shown[i]) for i in added]
    found = []
    for index, (one, two) in enumerate(zip(true, shown, strict=False)):
        found += differences(one, two, f"{at}/{index}")
    for index in range(len(shown), len(true)):
        found.append(Corruption(pointer=f"{at}/{index}", true=true[index], shown=None, removed=True))
    for index in range(len(true), len(shown)):
        found.append(Corruption(pointer=f"{at}/{index}", true=None, shown=shown[index]))
    return found


def _left_over(longer: list[Any], shorter: list[Any]) -> list[int] | None:
    """Return the positions in `longer` of what `shorter` lacks, or None if it is not `longer` with items left out."""
    left, taken = [], 0
    for index, item in enumerate(longer):
        if taken < len(shorter) and item == shorter[taken]:
            taken += 1
        else:
            left.append(index)
    return left if taken == len(shorter) else None


def _with(answer: Ok, changes: list[tuple[Place, Any]]) -> Falsified:
    """Show the answer with some values replaced."""
    shown, corruptions = answer.value, []
    for place, false in changes:
        shown = replaced(shown, place.at, false)
        corruptions.append(Corruption(pointer=_text(place.at), true=place.value, shown=false))
    return Falsified(Ok(value=shown, replayed=answer.replayed), tuple(corruptions))


def _containers(value: Any, at: tuple[str, ...], records: list[tuple[str, ...]], lists: list[tuple[str, ...]]) -> None:
    """Collect where the records and lists stand that have anything to lose."""
    if isinstance(value, dict) and value:
        records.append(at)
        for name, part in value.items():
            _containers(part, (*at, name), records, lists)
    elif isinstance(value, list) and value:
        lists.append(at)
        for index, part in enumerate(value):
            _containers(part, (*at, str(index)), records, lists)


def _telling_fields(shape: Shape, value: Any, at: Pointer) -> list[str]:
    """Name the fields of a record whose loss matters; all of them if none does."""
    for part in at:
        shape = shape.item() if isinstance(value, list) else shape.field(str(part))
        value = get(value, (part,))
    names = list(value)
    idle = {place.at[0] for place in shape.places(value) if len(place.at) == 1 and not place.leaf.what.load_bearing}
    return [name for name in names if name not in idle] or names


def _text(at: tuple[str, ...]) -> str:
    return "".join("/" + escape(part) for part in at)
