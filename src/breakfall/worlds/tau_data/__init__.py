"""τ-bench's data, tools and tasks (registry package `tau-trait`): retail, airline and telehealth."""

import re

from breakfall.worlds.gold.domain import Domain
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.airline import AIRLINE
from breakfall.worlds.tau2.retail import RETAIL
from breakfall.worlds.tau_data.package import Package
from breakfall.worlds.tau_data.source import DataSource
from breakfall.worlds.tau_data.telehealth import TELEHEALTH

__all__ = ["airline", "retail", "telehealth"]

_ERROR = re.compile(r"Error\b")
_PROSE = re.compile(
    r"Error\b|Cannot |Invalid date format|Please provide |No patient found|No medical record found"
    r"|Provider \S+ (does not|is not|already) |Appointment \S+ is already |.* not found\.$"
)
"""What telehealth refuses with; an empty list ("No appointments found") is an answer."""


def retail() -> GoldWorld:
    """Load the retail world."""
    return _world("retail", RETAIL)


def airline() -> GoldWorld:
    """Load the airline world."""
    return _world("airline", AIRLINE)


def telehealth() -> GoldWorld:
    """Load the telehealth world."""
    return _world("telehealth", TELEHEALTH, _PROSE)


def _world(name: str, domain: Domain, refusal: re.Pattern[str] = _ERROR) -> GoldWorld:
    return GoldWorld(DataSource(Package(name), domain, refusal))
