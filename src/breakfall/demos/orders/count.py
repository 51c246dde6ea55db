"""Count: what stands in the database, against what was wanted and against what the client says."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from breakfall.demos.orders.book import Order
from breakfall.demos.orders.clients import Said, Told
from breakfall.runtime.journal import State, open_journal
from breakfall.runtime.journal.rules import A_LOOK_UP


class Result(Struct, frozen=True, kw_only=True):
    """How one client fared."""

    client: str
    once: int
    """Orders that can be placed and stand exactly once."""
    more: int
    """Orders that stand more than once."""
    extra_rows: int
    missing: int
    """Orders that can be placed and do not stand."""
    said: dict[str, int]
    """What the client says of how many orders."""
    false: int
    """Orders of which the client says what is not so: placed and it does not stand, not placed and it stands."""
    handed_over: int
    """Orders of which the client says that they are not placed, or that nobody knows."""
    looked_up: int = 0
    """Orders that a look-up finished, because their answer was lost."""
    kills: int = 0
    seconds: float = 0.0


def rows_in(database: Path) -> Counter[str]:
    """Count the rows of each reference."""
    with closing(sqlite3.connect(database)) as connection:
        return Counter(reference for (reference,) in connection.execute("SELECT reference FROM orders"))


def looked_up_in(journal: Path) -> int:
    """Count the writes of a journal that a look-up settled as done."""
    if not journal.exists():
        return 0
    with open_journal(journal) as opened:
        return sum(entry.settled_by == A_LOOK_UP for entry in opened.entries([State.SUCCEEDED]))


def result(client: str, wanted: Sequence[Order], rows: Mapping[str, int], told: Mapping[str, Told]) -> Result:
    """Fold rows and words into a result."""
    placeable = [order.reference for order in wanted if order.can_be_placed]
    stands = {order.reference: rows.get(order.reference, 0) for order in wanted}
    said = Counter(one.said for one in told.values())
    return Result(
        client=client,
        once=sum(stands[reference] == 1 for reference in placeable),
        more=sum(number > 1 for number in stands.values()),
        extra_rows=sum(number - 1 for number in stands.values() if number > 1),
        missing=sum(stands[reference] == 0 for reference in placeable),
        said={kind.value: said[kind] for kind in Said},
        false=sum(_is_false(one, stands[one.reference]) for one in told.values()),
        handed_over=said[Said.NOT_PLACED] + said[Said.UNKNOWN],
    )


def _is_false(told: Told, stands: int) -> bool:
    if told.said is Said.UNKNOWN:
        return False
    return (stands > 0) is not (told.said is Said.PLACED)
