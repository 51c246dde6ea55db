"""A memory as it is shown: every belief with its interval and what it rests on, and what two memories differ in."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from breakfall.memory.beliefs import Believed, Memory, Retries, Switches, comes_back, observed_kinds, tools_of, works
from breakfall.memory.constraints import CONSTRAINTS, Constraint
from breakfall.memory.fallbacks import Proposal, Standing, fallbacks, proposals
from breakfall.vocab import FaultKind

_DIGITS = 6


class Estimate(Struct, frozen=True, kw_only=True):
    """A probability with its 95 % interval, the Beta distribution that it comes from, and what that rests on."""

    mean: float
    low: float
    high: float
    alpha: float
    beta: float
    own: float
    shared: float


class FailureRow(Struct, frozen=True, kw_only=True):
    """Whether a repeat is answered after a kind of failure of a tool."""

    tool: str
    kind: FaultKind
    counts: Retries
    recovers: Estimate


class PathRow(Struct, frozen=True, kw_only=True):
    """Whether another path answers."""

    source: str
    target: str
    declared: bool
    standing: Standing | None
    """None for a path that an agent took although nobody declared it."""
    counts: Switches
    works: Estimate


class View(Struct, frozen=True, kw_only=True):
    """All that a memory says."""

    episodes: float
    cold: bool
    """Nothing was learned yet: every belief is Beta(1, 1), the interval 0.025 to 0.975."""
    failures: list[FailureRow]
    paths: list[PathRow]
    proposals: list[Proposal]
    constraints: tuple[Constraint, ...]


class Change(Struct, frozen=True, kw_only=True):
    """One belief in which two memories differ; None where one of them has no evidence."""

    what: str
    """"tool kind", or "tool → tool of another path"."""
    before: Estimate | None
    after: Estimate | None
    apart: bool
    """Whether the intervals do not meet."""


def view(memory: Memory, tool: str | None = None) -> View:
    """Show a memory, or what it says of one tool."""
    return View(
        episodes=round(memory.episodes, _DIGITS),
        cold=memory.cold,
        failures=[row for row in _failures(memory) if tool in (None, row.tool)],
        paths=[row for row in _paths(memory) if tool in (None, row.source, row.target)],
        proposals=[pair for pair in proposals(memory) if tool in (None, pair.source, pair.target)],
        constraints=CONSTRAINTS,
    )


def changes(before: Memory, after: Memory) -> list[Change]:
    """Return the beliefs that differ, those first whose intervals are apart."""
    old, new = _estimates(before), _estimates(after)
    found = []
    for what in sorted(old.keys() | new.keys()):
        one, other = old.get(what), new.get(what)
        if one != other:
            apart = one is not None and other is not None and (one.high < other.low or other.high < one.low)
            found.append(Change(what=what, before=one, after=other, apart=apart))
    return sorted(found, key=lambda change: not change.apart)


def _estimates(memory: Memory) -> dict[str, Estimate]:
    failures = {f"{row.tool} {row.kind}": row.recovers for row in _failures(memory)}
    return failures | {f"{row.source} → {row.target}": row.works for row in _paths(memory) if _seen(row.works)}


def _failures(memory: Memory) -> list[FailureRow]:
    return [
        FailureRow(
            tool=tool,
            kind=kind,
            counts=memory.retries.get(tool, {}).get(kind, Retries()),
            recovers=_estimate(comes_back(memory, tool, kind)),
        )
        for tool in tools_of(memory)
        for kind in observed_kinds(memory, tool)
    ]


def _paths(memory: Memory) -> Sequence[PathRow]:
    declared = [
        PathRow(
            source=path.source,
            target=path.target,
            declared=True,
            standing=path.standing,
            counts=path.switches,
            works=_estimate(path.works),
        )
        for path in fallbacks(memory)
    ]
    known = {(row.source, row.target) for row in declared}
    taken = [
        PathRow(
            source=source,
            target=target,
            declared=False,
            standing=None,
            counts=counts,
            works=_estimate(works(memory, source, target)),
        )
        for source, rows in memory.switches.items()
        for target, counts in rows.items()
        if (source, target) not in known
    ]
    return sorted((*declared, *taken), key=lambda row: (row.source, row.target))


def _estimate(believed: Believed) -> Estimate:
    beta, interval = believed.beta, believed.beta.interval
    return Estimate(
        mean=round(beta.mean, _DIGITS),
        low=round(interval.low, _DIGITS),
        high=round(interval.high, _DIGITS),
        alpha=round(beta.alpha, _DIGITS),
        beta=round(beta.beta, _DIGITS),
        own=round(believed.own, _DIGITS),
        shared=round(believed.shared, _DIGITS),
    )


def _seen(estimate: Estimate) -> bool:
    return bool(estimate.own or estimate.shared)
