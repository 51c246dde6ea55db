"""The fallback map: declared paths held against the evidence, and pairs of tools that could be declared."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from breakfall.memory.beliefs import Agreement, Believed, Memory, Switches, works, wrong

_AGREED = 3.0
"""In so many episodes a pair must have agreed before it is proposed."""


class Standing(StrEnum):
    """What the evidence says of a declared path."""

    WORKS = "works"
    """It answered."""
    UNTRIED = "untried"
    """Nothing tells."""
    SHUT = "shut"
    """It never answered, because faults struck it whenever it was taken."""
    DOUBTED = "doubted"
    """It never answered, and refused, or did not give what it should; not yet often enough to be sure."""
    WRONG = "wrong"
    """It never answers: the declaration is at fault. It is not taken any more."""


class Fallback(Struct, frozen=True, kw_only=True):
    """One declared path."""

    source: str
    target: str
    standing: Standing
    switches: Switches
    works: Believed


class Proposal(Struct, frozen=True, kw_only=True):
    """A pair that nobody declared and whose second tool always gave what the first gave; for a person to look at."""

    source: str
    target: str
    agreement: Agreement


def fallbacks(memory: Memory) -> list[Fallback]:
    """Return every declared path with what the evidence says of it."""
    return [
        Fallback(
            source=source,
            target=target,
            standing=_standing(memory, source, target),
            switches=memory.switches.get(source, {}).get(target, Switches()),
            works=works(memory, source, target),
        )
        for source, targets in sorted(memory.declared.items())
        for target in targets
    ]


def proposals(memory: Memory) -> list[Proposal]:
    """Return the undeclared pairs that agreed in at least three episodes and never differed; nothing adopts them."""
    return [
        Proposal(source=source, target=target, agreement=row)
        for source, rows in sorted(memory.agreements.items())
        for target, row in sorted(rows.items())
        if row.agreed >= _AGREED and not row.differed and not _known(memory, source, target)
    ]


def _known(memory: Memory, source: str, target: str) -> bool:
    """Whether the pair is declared, or fails together."""
    domain = memory.domains.get(source)
    together = domain is not None and domain == memory.domains.get(target)
    return together or target in memory.declared.get(source, ())


def _standing(memory: Memory, source: str, target: str) -> Standing:
    row = memory.switches.get(source, {}).get(target, Switches())
    if row.answered:
        return Standing.WORKS
    if wrong(memory, source, target):
        return Standing.WRONG
    if row.unfit:
        return Standing.DOUBTED
    return Standing.SHUT if row.failed else Standing.UNTRIED
