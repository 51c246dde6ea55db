"""Learning: a fold over episodes, one pass, in any order; with a half-life the newest count most."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from breakfall.errors import UsageError
from breakfall.memory.beliefs import Agreement, Memory, Retries, Row, Switches, faded, merged
from breakfall.memory.evidence import chains, compared, retried, switched
from breakfall.vocab import Step, Tool

OPEN_EPISODES = 4096
"""Episodes of a stream of steps that are held at a time; an older one is taken to be over."""
_HEAVIEST = 2.0**40

_Counts = dict[tuple[str, str], list[float]]


class Learner:
    """Adds episodes to a memory.

    Args:
        memory: What was learned before; it is not changed.
        half_life: After so many further episodes an episode's evidence counts half; None: all count the same.

    Raises:
        UsageError: `half_life` is not positive.
    """

    def __init__(self, memory: Memory | None = None, *, half_life: float | None = None) -> None:
        if half_life is not None and not half_life > 0:
            raise UsageError(f"half-life is {half_life}, must be a positive number of episodes")
        self._before = memory if memory is not None else Memory()
        self._growth = 2.0 ** (1.0 / half_life) if half_life is not None else 1.0
        self._begin()

    def _begin(self) -> None:
        self._weight: float = 1.0
        self._episodes: float = 0.0
        self._retries: _Counts = {}
        self._switches: _Counts = {}
        self._agreements: _Counts = {}
        self._domains: dict[str, str] = {}
        self._declared: dict[str, set[str]] = {}
        self._learned: dict[str, int] = {}

    def know(self, tools: Mapping[str, Tool]) -> None:
        """Take in what tools declare: fault domains and other paths."""
        for name, tool in tools.items():
            self._domains[name] = min(tool.fault_domain, self._domains.get(name, tool.fault_domain))
            self._declared.setdefault(name, set()).update(path.tool for path in tool.paths if path.tool in tools)

    def episode(self, steps: Sequence[Step], tools: Mapping[str, Tool]) -> None:
        """Take in one episode whole: its steps in order, and the tools of its world as far as they are known."""
        self._weight *= self._growth
        if self._weight > _HEAVIEST:  # old evidence fades to nothing before numbers grow too large
            self._before = self.memory()
            self._begin()
            self._weight = self._growth
        weight = self._weight
        self._episodes += weight
        found = chains(steps, tools)
        for tool, kind, recovered in retried(steps, found):
            self._add(self._retries, (tool, kind.value), 0 if recovered else 1, weight)
        for source, target, served in switched(steps, found, tools):
            self._add(self._switches, (source, target), ("answered", "failed", "unfit").index(served), weight)
        for one, other, agreed in compared(steps, tools):
            self._add(self._agreements, (one, other), 0 if agreed else 1, weight)

    def read(self, segment: str, size_bytes: int) -> None:
        """Note how much of a segment was learned."""
        self._learned[segment] = size_bytes

    def memory(self) -> Memory:
        """Return the memory with all that was taken in."""
        new = Memory(
            episodes=self._episodes,
            retries=_table(self._retries, Retries),
            switches=_table(self._switches, Switches),
            agreements=_table(self._agreements, Agreement),
            domains=dict(sorted(self._domains.items())),
            declared={tool: sorted(paths) for tool, paths in sorted(self._declared.items()) if paths},
            learned=self._learned,
        )
        if self._weight == 1.0:
            return merged(self._before, new)
        return merged(faded(self._before, 1.0 / self._weight), faded(new, 1.0 / self._weight))

    @staticmethod
    def _add(counts: _Counts, place: tuple[str, str], column: int, weight: float) -> None:
        row = counts.get(place)
        if row is None:
            row = counts[place] = [0.0, 0.0, 0.0]
        row[column] += weight


def episodes(steps: Iterable[Step], open_at_most: int = OPEN_EPISODES) -> Iterator[list[Step]]:
    """Sort a stream of steps, as production writes them, into episodes; those that rest longest are over first."""
    held: OrderedDict[str, list[Step]] = OrderedDict()
    for step in steps:
        held.setdefault(step.episode, []).append(step)
        held.move_to_end(step.episode)
        if len(held) > open_at_most:
            yield held.popitem(last=False)[1]
    yield from held.values()


def _table(counts: _Counts, kind: type[Row]) -> dict[str, dict[str, Row]]:
    table: dict[str, dict[str, Row]] = {}
    names = kind.__struct_fields__
    for (first, second), row in sorted(counts.items()):
        table.setdefault(first, {})[second] = kind(**dict(zip(names, row, strict=False)))
    return table
