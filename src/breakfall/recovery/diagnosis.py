"""The diagnosis: what a failure is, whether the request left, whether a write is in doubt, and the evidence."""

from __future__ import annotations

from msgspec import Struct

from breakfall.vocab import FaultKind


class Diagnosis(Struct, frozen=True):
    """What one failure comes to."""

    kind: FaultKind | None
    """None: the tool's own refusal."""
    evidence: str
    """What shows it, in one short sentence."""
    sent: bool = True
    """Whether the request may have left."""
    in_doubt: bool = False
    """Whether a write may have happened although no answer says so."""
