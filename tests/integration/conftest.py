"""Runs over the small worlds and agents of `toys`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from breakfall import catalog
from breakfall.bench.matrix import Spec
from breakfall.ledger.line import encode_episode, segment_paths
from breakfall.ledger.read import Stored, read_all

TOYS = Path(__file__).parent / "toys"


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `toys` importable, as the current directory of a user is."""
    monkeypatch.syspath_prepend(TOYS)
    catalog.world.cache_clear()
    catalog.agent.cache_clear()
    return TOYS


@pytest.fixture
def spec(toys: Path) -> Callable[..., Spec]:
    def make(**fields: object) -> Spec:
        fixed: dict[str, object] = {"worlds": ("toys:Numbers",), "tasks": "6", "seeds": 2, **fields}
        return Spec(**fixed)  # type: ignore[arg-type]

    return make


@pytest.fixture
def lines() -> Callable[[Path], dict[str, bytes]]:
    """Each episode's bytes by its name, wherever they stand, without what seals them."""

    def read(folder: Path) -> dict[str, bytes]:
        found = {}
        for item in read_all(folder):
            if isinstance(item, Stored):
                sealed = item.segment.read_bytes()[item.offset : item.offset + item.length]
                raw = re.sub(rb',"seq":\d+,"chain":"[0-9a-f]{32}"}\n', b"}\n", sealed)
                assert raw == encode_episode(item.steps, item.end)
                found[item.end.episode] = raw
            else:
                found[item.key.id] = item.reason.encode()
        return found

    return read


@pytest.fixture
def segments() -> Callable[[Path], list[str]]:
    return lambda folder: [path.name for path in segment_paths(folder)]
