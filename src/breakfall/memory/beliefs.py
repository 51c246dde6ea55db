"""What a memory holds, and what follows from it: counts, and the Beta distributions that they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from breakfall.memory.beta import Beta
from breakfall.vocab import OBSERVABLE, FaultKind

FORMAT = 1
"""A memory gains fields with defaults and never loses one; anything else raises this number."""

SHARE = 0.5
"""What an observation of a neighbour counts beside one of the tool itself."""
SHARED_AT_MOST = 4.0
"""What all observations of neighbours together count at most."""
HALF = 0.5
SURE = 0.05


class Retries(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often a tool that had failed answered a repeat of the same call within the episode, and how often not."""

    recovered: float = 0.0
    stayed: float = 0.0


class Switches(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of calls that took another path."""

    answered: float = 0.0
    failed: float = 0.0
    """A fault struck the other path, too."""
    unfit: float = 0.0
    """It refused the call, or its answer was not what the original tool gives."""


class Agreement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a second read about the same thing gave all values of a first one."""

    agreed: float = 0.0
    differed: float = 0.0


class Memory(Struct, frozen=True, kw_only=True):
    """All that was learned. Counts are sums over episodes; without decay they do not depend on the order."""

    format: int = FORMAT
    episodes: float = 0.0
    """How many episodes it rests on, weighed as their evidence is."""
    retries: dict[str, dict[str, Retries]] = {}
    """Tool -> fault kind."""
    switches: dict[str, dict[str, Switches]] = {}
    """Tool -> the tool of another path."""
    agreements: dict[str, dict[str, Agreement]] = {}
    """Reading tool -> another reading tool."""
    domains: dict[str, str] = {}
    """Tool -> fault domain, where it was declared."""
    declared: dict[str, list[str]] = {}
    """Tool -> the tools of its declared paths, sorted."""
    learned: dict[str, int] = {}
    """Segment -> how many of its bytes were learned, so that nothing is learned twice."""

    @property
    def cold(self) -> bool:
        """Whether nothing was learned of any failure yet: every belief is Beta(1, 1)."""
        return not self.retries and not self.switches


class Believed(Struct, frozen=True, kw_only=True):
    """A belief and what it rests on."""

    beta: Beta
    own: float
    """Observations of this tool, or of this pair."""
    shared: float
    """What the observations of its neighbours were counted as."""


Row = TypeVar("Row", Retries, Switches, Agreement)
Table = Mapping[str, Mapping[str, Row]]


def merged(one: Memory, other: Memory) -> Memory:
    """Add two memories; what both learned from the same segment was learned twice, so the caller keeps them apart."""
    declared = {
        tool: sorted({*one.declared.get(tool, ()), *other.declared.get(tool, ())})
        for tool in sorted(one.declared.keys() | other.declared.keys())
    }
    return Memory(
        episodes=one.episodes + other.episodes,
        retries=_added(one.retries, other.retries),
        switches=_added(one.switches, other.switches),
        agreements=_added(one.agreements, other.agreements),
        domains=_least(one.domains, other.domains),
        declared=declared,
        learned=dict(
            sorted({k: max(one.learned.get(k, 0), n) for k, n in (one.learned | other.learned).items()}.items())
        ),
    )


def faded(memory: Memory, factor: float) -> Memory:
    """Return the memory with every count times `factor`."""
    return replace(
        memory,
        episodes=memory.episodes * factor,
        retries=_scaled(memory.retries, factor),
        switches=_scaled(memory.switches, factor),
        agreements=_scaled(memory.agreements, factor),
    )


def forgotten(memory: Memory, *, tool: str | None = None, kind: FaultKind | None = None) -> Memory:
    """Return the memory without what it learned of a tool, of a fault kind, or of a tool's failures of one kind.

    Naming neither forgets all evidence. What was read stays marked as learned, so it does not come back.
    """
    retries = {
        name: {k: row for k, row in rows.items() if not ((tool in (None, name)) and (kind in (None, k)))}
        for name, rows in memory.retries.items()
    }
    kept = replace(memory, retries={name: rows for name, rows in retries.items() if rows})
    if kind is not None:
        return kept
    return replace(kept, switches=_without(memory.switches, tool), agreements=_without(memory.agreements, tool))


def comes_back(memory: Memory, tool: str, kind: FaultKind) -> Believed:
    """Return what is believed of the probability that a repeat of a call that failed so is answered in the episode."""
    row = _row(memory.retries, tool, kind, Retries())
    near = [
        rows[kind]
        for name, rows in memory.retries.items()
        if kind in rows and name != tool and _near(memory, name, tool)
    ]
    return _believed(row.recovered, row.stayed, sum(r.recovered for r in near), sum(r.stayed for r in near))


def works(memory: Memory, source: str, target: str) -> Believed:
    """Return what is believed of the probability that `target` answers where `source` failed.

    A path that also answers refuses for reasons of the task; one that never answered may be declared wrongly, so its
    refusals count against it.
    """
    row = _row(memory.switches, source, target, Switches())
    near = [
        other
        for name, rows in memory.switches.items()
        for to, other in rows.items()
        if (name, to) != (source, target) and _alike(memory, name, source) and _alike(memory, to, target)
    ]
    against = row.failed + (0.0 if row.answered else row.unfit)
    return _believed(row.answered, against, sum(r.answered for r in near), sum(r.failed for r in near))


def wrong(memory: Memory, source: str, target: str) -> bool:
    """Whether the evidence says that this path is none: it never answered, and chance is no good explanation.

    Faults on the path say nothing against it. Refusals and unfit answers do: the path is wrong when, after them, the
    chance that it serves at least half of the calls is at most 5 %.
    """
    row = _row(memory.switches, source, target, Switches())
    return not row.answered and 1.0 - Beta(1.0, 1.0 + row.unfit).below(HALF) <= SURE


def observed_kinds(memory: Memory, tool: str) -> list[FaultKind]:
    """Return the kinds of failure of which something was seen, at the tool or at its neighbours."""
    return [kind for kind in OBSERVABLE if (found := comes_back(memory, tool, kind)).own or found.shared]


def tools_of(memory: Memory) -> list[str]:
    """Return every tool that the memory knows, sorted."""
    return sorted({*memory.domains, *memory.retries, *memory.switches, *memory.declared})


def _believed(yes: float, no: float, near_yes: float, near_no: float) -> Believed:
    """Add the neighbours' evidence as a few observations in the proportion in which they were made."""
    near = near_yes + near_no
    shared = min(near * SHARE, SHARED_AT_MOST)
    lent = shared / near if near else 0.0
    return Believed(beta=Beta(1.0 + yes + lent * near_yes, 1.0 + no + lent * near_no), own=yes + no, shared=shared)


def _near(memory: Memory, one: str, other: str) -> bool:
    """Whether two tools share a declared backend."""
    domain = memory.domains.get(one)
    return domain is not None and domain == memory.domains.get(other)


def _alike(memory: Memory, one: str, other: str) -> bool:
    return one == other or _near(memory, one, other)


def _row(table: Table[Row], first: str, second: str, none: Row) -> Row:
    return table.get(first, {}).get(second, none)


def _added(one: Table[Row], other: Table[Row]) -> dict[str, dict[str, Row]]:
    return {
        first: {
            second: _sum(row for table in (one, other) if (row := table.get(first, {}).get(second)) is not None)
            for second in sorted(one.get(first, {}).keys() | other.get(first, {}).keys())
        }
        for first in sorted(one.keys() | other.keys())
    }


def _sum(rows: Iterable[Row]) -> Row:
    first, *rest = rows
    kind = type(first)
    return kind(**{name: sum(getattr(row, name) for row in (first, *rest)) for name in kind.__struct_fields__})


def _scaled(table: Table[Row], factor: float) -> dict[str, dict[str, Row]]:
    return {
        first: {
            second: type(row)(**{name: getattr(row, name) * factor for name in row.__struct_fields__})
            for second, row in rows.items()
        }
        for first, rows in table.items()
    }


def _without(table: Table[Row], tool: str | None) -> dict[str, dict[str, Row]]:
    if tool is None:
        return {}
    kept = {
        first: {second: row for second, row in rows.items() if second != tool}
        for first, rows in table.items()
        if first != tool
    }
    return {first: rows for first, rows in kept.items() if rows}


def _least(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Join the domains; where two memories name a tool's domain differently, the name that sorts first holds."""
    joined = {tool: min(one.get(tool, domain), domain) for tool, domain in other.items()}
    return dict(sorted({**one, **joined}.items()))
