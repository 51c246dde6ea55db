"""One BFCL world for all tests of a module."""

from __future__ import annotations

import pytest

from breakfall.worlds.bfcl import BfclWorld


@pytest.fixture(scope="module")
def world() -> BfclWorld:
    return BfclWorld()
