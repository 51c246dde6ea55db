"""The memory as `decide` reads it: numbers for failures and paths, in one of the modes of the ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from breakfall import seeds
from breakfall.memory.beliefs import Believed, Memory, comes_back, tools_of, works, wrong
from breakfall.vocab import OBSERVABLE, Belief, FaultKind

_LEAST = 1.0

Key = TypeVar("Key")
Number = TypeVar("Number")


class Mode(StrEnum):
    """How much of a memory is used."""

    OFF = "off"
    """Nothing of it."""
    STATIC = "static"
    """What needs no learning: the declared map and the constraints."""
    POSTERIOR = "posterior"
    """The map as the evidence leaves it, the constraints, and the learned numbers."""
    SHUFFLED = "shuffled"
    """As POSTERIOR, but each number stands at the place of another one: what the numbers themselves are worth."""

    @property
    def structured(self) -> bool:
        """Whether the map and the constraints are used."""
        return self is not Mode.OFF

    @property
    def numbered(self) -> bool:
        """Whether learned numbers are used, at their places or not."""
        return self in (Mode.POSTERIOR, Mode.SHUFFLED)


class Learned:
    """A `breakfall.vocab.Belief` over fixed numbers.

    Args:
        stays: (tool, kind) -> the probability that such a failure is there to stay.
        serves: (tool, tool of another path) -> the probability that the path answers; 0 where it is none.
    """

    __slots__ = ("_serves", "_stays")

    def __init__(self, stays: Mapping[tuple[str, FaultKind], float], serves: Mapping[tuple[str, str], float]) -> None:
        self._stays = stays
        self._serves = serves

    def persistence(self, tool: str, kind: FaultKind) -> float | None:
        """Return the probability that a failure of this kind of this tool is there to stay."""
        return self._stays.get((tool, kind))

    def switch_works(self, source: str, target: str) -> float | None:
        """Return the probability that `target` answers where `source` failed."""
        return self._serves.get((source, target))


def belief(memory: Memory, mode: Mode, *, seed: int = 0) -> Belief | None:
    """Return what a mode believes; None where it has no numbers.

    Nothing is believed of a pair with less evidence, its own and its neighbours', than one observation: there the
    policy's own prior holds.

    Args:
        memory: What was learned.
        mode: How much of it to use.
        seed: For SHUFFLED: which permutation.
    """
    if not mode.numbered:
        return None
    stays, serves = persistence(memory), switching(memory)
    if mode is Mode.SHUFFLED:
        stays = _shuffled(stays, seeds.stream(seed, "shuffled", "persistence"))
        serves = _shuffled(serves, seeds.stream(seed, "shuffled", "switching"))
    return Learned(stays, serves)


def persistence(memory: Memory) -> dict[tuple[str, FaultKind], float]:
    """Return the probability that a failure stays, for each tool and kind of which something was seen."""
    found = {(tool, kind): comes_back(memory, tool, kind) for tool in tools_of(memory) for kind in OBSERVABLE}
    return {place: 1.0 - believed.beta.mean for place, believed in found.items() if _seen(believed)}


def switching(memory: Memory) -> dict[tuple[str, str], float]:
    """Return the probability that a path answers, for each pair of which something was seen; 0 where it is none."""
    pairs = {(source, target) for source, targets in memory.declared.items() for target in targets}
    pairs |= {(source, target) for source, targets in memory.switches.items() for target in targets}
    found = {pair: works(memory, *pair) for pair in sorted(pairs)}
    return {
        pair: 0.0 if wrong(memory, *pair) else believed.beta.mean for pair, believed in found.items() if _seen(believed)
    }


def _seen(believed: Believed) -> bool:
    """Whether the evidence weighs as much as one observation of the pair itself."""
    return believed.own + believed.shared >= _LEAST


def _shuffled(numbers: Mapping[Key, Number], draw: seeds.Stream) -> dict[Key, Number]:
    values: Sequence[Number] = draw.shuffled(list(numbers.values()))
    return dict(zip(numbers, values, strict=True))
