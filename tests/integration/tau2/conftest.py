"""One world of each domain for all tests of a module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from breakfall import catalog
from breakfall.worlds.gold.world import GoldWorld


@pytest.fixture(scope="session")
def load() -> Callable[[str], GoldWorld]:
    @cache
    def world(domain: str) -> GoldWorld:
        found = catalog.world(f"tau2-{domain}")
        assert isinstance(found, GoldWorld)
        return found

    return world
