"""Both kinds of journal: a SQLite file and a schema of a private PostgreSQL server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new journal can be opened: one of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.sqlite")
    address: str = request.getfixturevalue("postgres")
    return address


class Nursery:
    """Other processes that run writes through one journal; see `worker.py`."""

    def __init__(self, where: str, effects: Path) -> None:
        self.effects = effects
        command = [sys.executable, str(Path(__file__).parent / "worker.py"), where, str(effects)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker process ended"
        assert not line.startswith("failed"), line
        return line.strip()

    def order(self, keys: list[str], seconds: float = 0.0, death: str = "-") -> None:
        """Start a process that runs these writes."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{','.join(keys)} {seconds} {death}\n")
        self.process.stdin.flush()

    def happened(self) -> list[str]:
        """The keys of the effects, in order."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return [line.split(" by ")[0] for line in lines]

    def close(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def nursery(where: str, tmp_path: Path) -> Iterator[Callable[[], Nursery]]:
    """Start processes over the journal at `where`."""
    made: list[Nursery] = []

    def make() -> Nursery:
        made.append(Nursery(where, tmp_path / "effects"))
        return made[-1]

    yield make
    for one in made:
        one.close()
