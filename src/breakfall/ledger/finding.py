"""What a check of a ledger says: findings, and the ends of segments."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Flaw(StrEnum):
    """What is wrong with a line or a segment."""

    CHANGED = "changed"
    REMOVED = "removed"
    REORDERED = "reordered"
    ADDED = "added"
    DAMAGED = "damaged"
    TORN = "torn"
    """Not written whole, so never acknowledged: what a kill leaves. The next writer cuts it off."""


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written."""

    flaw: Flaw
    segment: str
    seq: int | None = None
    """The line's number in its segment, from 0 for the header."""
    what: str
    """Which step it is, as far as anything tells."""
    why: str

    @property
    def grave(self) -> bool:
        """Whether something that was acknowledged is not there, or is not what it was."""
        return self.flaw is not Flaw.TORN


class Head(Struct, frozen=True, kw_only=True):
    """The end of a segment: kept elsewhere, it shows later whether anything up to it was rewritten."""

    segment: str
    seq: int
    chain: str


class Witness(Struct, frozen=True, kw_only=True):
    """What something outside a segment remembers of one of its lines."""

    seq: int
    chain: str
    who: str
    """ "the index", "the segment after it"."""


class Checked(Struct, frozen=True, kw_only=True):
    """What a check came to."""

    segments: int
    lines: int
    steps: int
    unchained: tuple[str, ...]
    """Segments of format 1, of which only the form can be checked."""
    findings: tuple[Finding, ...]
    heads: tuple[Head, ...]

    @property
    def sound(self) -> bool:
        """Whether everything acknowledged is there as it was written."""
        return not any(finding.grave for finding in self.findings)
