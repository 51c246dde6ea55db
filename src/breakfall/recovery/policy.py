"""Recovery policies: how far to go after a failure."""

from __future__ import annotations

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """What a policy allows; `decide` holds the rules."""

    name: str
    attempts: int = 1
    """Calls on one path before it counts as shut."""
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
    cooldown_s: float = 120.0
    """How long a path that is known shut is left alone."""


GIVE_UP = Policy(name="give-up")
RETRY = Policy(name="retry", attempts=3, blind=True)
RULES = Policy(name="rules", attempts=3, switch=True, verify=True)
