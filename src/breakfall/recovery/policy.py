"""Recovery policies: what a mistake costs, what is believed before evidence, and how far to go."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from breakfall.vocab import FaultKind


class Costs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each mistake costs, in units of one tool call."""

    call: float = 1.0
    premature_switch: float = 3.0
    """Leaving a path that would have come back, for one that may give less."""
    person: float = 30.0
    """A person's time for one hand-over."""
    second: float = 0.02
    """Waiting one second."""


def _persistence() -> dict[str, float]:
    return {
        FaultKind.TIMEOUT.value: 0.3,
        FaultKind.RATE_LIMIT.value: 0.15,
        FaultKind.SERVER_ERROR.value: 0.3,
        FaultKind.MALFORMED_RESPONSE.value: 0.3,
        FaultKind.AUTH_ERROR.value: 0.9,
        FaultKind.SCHEMA_DRIFT.value: 0.9,
        FaultKind.PARTIAL_DATA.value: 0.2,
        FaultKind.STALE_VALUE.value: 0.2,
        FaultKind.FACTUAL_ERROR.value: 0.3,
    }


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy allows and what it weighs; `decide` holds the rules."""

    name: str
    attempts: int = 1
    """Calls on one path at most."""
    base_s: float = 0.5
    cap_s: float = 20.0
    blind: bool = False
    """Repeat whatever failed, without asking what it was or whether it may have happened."""
    switch: bool = False
    verify: bool = False
    lookups: int = 6
    """Reads to settle one ambiguous write."""
    agreeing: int = 2
    """How many reads in a row must say "not applied" before a write is sent again."""
    confirm: Literal["never", "irreversible", "always"] = "never"
    """Which writes are looked up although their answer says that they are done; those with a reader can be."""
    confirm_share: float = 1.0
    """The share of those writes that is looked up."""
    cooldown_s: float = 120.0
    """How long a path that is known shut is left alone."""
    storm: int | None = None
    """Failures of one tool with one class after which calling it again, in whatever words, is refused."""
    replay: bool = False
    """Answer a repeated write with what the first one came to, unless something changed in between."""
    costs: Costs = Costs()
    persistence: dict[str, float] = field(default_factory=_persistence)
    """Fault kind -> the probability, before other evidence, that the first failure of a path means that it is shut."""
    strikes_again: float = 0.25
    """The probability that a fault that passes strikes the next call, too."""
    half_life_s: float = 30.0
    """Waiting so long halves that probability."""
    switch_works: float = 0.85
    """The probability, before evidence, that another path answers."""


GIVE_UP = Policy(name="give-up")
RETRY = Policy(name="retry", attempts=3, blind=True)
BALANCED = Policy(name="balanced", attempts=3, switch=True, verify=True, storm=12, replay=True)
CAUTIOUS = Policy(
    name="cautious",
    attempts=3,
    switch=True,
    verify=True,
    storm=8,
    replay=True,
    agreeing=3,
    lookups=9,
    costs=Costs(person=12.0, premature_switch=6.0),
)
EAGER = Policy(
    name="eager",
    attempts=6,
    switch=True,
    verify=True,
    storm=24,
    replay=True,
    costs=Costs(person=120.0, premature_switch=2.0),
)

CONFIRMING = replace(BALANCED, name="confirming", confirm="always")
"""Balanced, and believes no write before its reader says so."""

PRESETS = {policy.name: policy for policy in (GIVE_UP, RETRY, CAUTIOUS, BALANCED, EAGER, CONFIRMING)}
