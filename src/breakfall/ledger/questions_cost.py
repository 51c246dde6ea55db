"""What intents cost, and which steps cost far more than others of the same intent."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from breakfall.ledger.questions import LIMIT, Filter, StepLine, lines_of, summed
from breakfall.ledger.store import Ledger

TIMES_MEDIAN = 3.0
"""A step with so many times the median tokens of its intent is an outlier."""

_FEW = 5
"""Below this many steps an intent has no outliers: there is no usual."""


class Spending(Struct, frozen=True, kw_only=True):
    """What the steps of one intent cost; tokens are those in and out."""

    intent: str
    steps: int
    counted: int
    """Steps whose tokens are known; the rest is about these."""
    tokens: int
    tokens_cached: int
    usd: float
    median: int
    p95: int
    highest: int
    ratio: float
    """The highest over the median."""
    outliers: int
    """Steps of at least so many times the median as asked."""


class Outlier(Struct, frozen=True, kw_only=True):
    """A step that cost far more than is usual for its intent."""

    step: StepLine
    median: int
    ratio: float


_SPENT = """
    SELECT s.intent, CAST(SUM(s.steps) AS BIGINT) AS steps, CAST(SUM(s.counted) AS BIGINT) AS counted,
        CAST(SUM(s.tokens) AS BIGINT) AS tokens, CAST(SUM(s.tokens_cached) AS BIGINT) AS cached, SUM(s.usd) AS usd
    FROM {source} s {where} GROUP BY s.intent HAVING SUM(s.counted) > 0 ORDER BY 4 DESC, s.intent LIMIT :limit
"""
_NTH = "SELECT s.tokens FROM bf_steps s {where} ORDER BY s.tokens {way} LIMIT 1 OFFSET :nth"
_ABOVE = "SELECT COUNT(*) FROM bf_steps s {where}"


def spending(ledger: Ledger, which: Filter, *, times: float = TIMES_MEDIAN, limit: int = LIMIT) -> list[Spending]:
    """Sum tokens and cost by intent, the dearest first; of the same intent all steps should cost about the same.

    Args:
        ledger: The ledger.
        which: Which steps count.
        times: How many times the median makes an outlier.
        limit: At most so many intents.
    """
    found = []
    rows = _by_intent(ledger, which, limit)
    names = ledger.names({row[0] for row in rows})
    for intent, steps, counted, tokens, cached, usd in rows:
        median, p95, highest = (_nth(ledger, which, intent, counted, share) for share in (0.5, 0.95, 1.0))
        far = counted >= _FEW and median
        found.append(
            Spending(
                intent=names[intent],
                steps=steps,
                counted=counted,
                tokens=tokens,
                tokens_cached=cached,
                usd=usd,
                median=median,
                p95=p95,
                highest=highest,
                ratio=round(highest / median, 2) if median else 0.0,
                outliers=_count_above(ledger, which, intent, median * times) if far else 0,
            )
        )
    return found


def outliers(ledger: Ledger, which: Filter, *, times: float = TIMES_MEDIAN, limit: int = LIMIT) -> list[Outlier]:
    """List the steps with the most tokens over the median of their intent.

    Args:
        ledger: The ledger.
        which: Which steps count.
        times: How many times the median makes an outlier.
        limit: At most so many steps, and so many intents.
    """
    found: list[tuple[float, int, int]] = []
    for intent, _, counted, *_ in _by_intent(ledger, which, limit):
        median = _nth(ledger, which, intent, counted, 0.5)
        if counted >= _FEW and median:
            where, values = which.where("s.intent = :intent_id", "s.tokens >= :above")
            asked = values | {"intent_id": intent, "above": median * times, "limit": limit}
            found += [
                (-tokens / median, number, median) for number, tokens in ledger.db.rows(_FAR + where + _FARTHEST, asked)
            ]
    far = sorted(found)[:limit]
    lines = {line.id: line for line in lines_of(ledger, [number for _, number, _ in far])}
    return [Outlier(step=lines[number], median=median, ratio=round(-ratio, 2)) for ratio, number, median in far]


_FAR = "SELECT s.id, s.tokens FROM bf_steps s "
_FARTHEST = " ORDER BY s.tokens DESC, s.id LIMIT :limit"


def _by_intent(ledger: Ledger, which: Filter, limit: int) -> list[tuple[Any, ...]]:
    source, where, values = summed(which)
    return ledger.db.rows(_SPENT.format(source=source, where=where), values | {"limit": limit})


def _nth(ledger: Ledger, which: Filter, intent: int, count: int, share: float) -> int:
    """Return the tokens that `share` of the steps of an intent do not exceed (nearest rank)."""
    rank = max(0, min(count - 1, -int(-count * share // 1) - 1))
    where, values = which.where("s.intent = :intent_id", "s.tokens IS NOT NULL")
    way, nth = ("", rank) if rank < count / 2 else ("DESC", count - 1 - rank)
    return int(ledger.db.rows(_NTH.format(where=where, way=way), values | {"intent_id": intent, "nth": nth})[0][0])


def _count_above(ledger: Ledger, which: Filter, intent: int, above: float) -> int:
    where, values = which.where("s.intent = :intent_id", "s.tokens >= :above")
    return int(ledger.db.rows(_ABOVE.format(where=where), values | {"intent_id": intent, "above": above})[0][0])
