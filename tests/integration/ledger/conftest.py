"""One story in a ledger of each kind: a folder and a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from breakfall.ledger.store import Ledger, open_ledger
from breakfall.ledger.writer import LedgerWriter
from breakfall.vocab import Effect, Ok, Step, Uncertainty, Verification, VerificationStatus

BEGUN_S = 1_700_000_000.0 - 1_700_000_000 % 3600


def step(episode: str, n: int, **fields: Any) -> Step:
    """Make a step of a run."""
    fixed: dict[str, Any] = {
        "episode": episode,
        "n": n,
        "call": f"c{n}",
        "tool": "get_order",
        "arguments": {"order_id": f"O{n}"},
        "at_s": float(n),
        "took_s": 0.5,
        "expected_outcome": f"the order O{n}",
        "observed_outcome": Ok(value={"status": "paid"}),
        "verification": Verification(status=VerificationStatus.NOT_APPLICABLE),
        "uncertainty_signal": Uncertainty.NONE,
        "effect": Effect.READ,
        "agent": "shop",
        "agent_version": "1.0",
        "unix_s": BEGUN_S + n,
    }
    return Step(**fixed | fields)


@pytest.fixture
def make() -> Callable[..., Step]:
    return step


@pytest.fixture(params=["folder", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be written: one of each kind."""
    if request.param == "folder":
        return str(tmp_path / "ledger")
    address: str = request.getfixturevalue("postgres")
    return address


@pytest.fixture
def write(where: str) -> Callable[..., None]:
    """Write steps into the ledger at `where`, as one process does."""

    def put(steps: Sequence[Any], **options: Any) -> None:
        if "://" in where:
            from breakfall.ledger.postgres_writer import PostgresWriter

            writer: Any = PostgresWriter(where, **options)
        else:
            writer = LedgerWriter(where, **options)
        with writer:
            for one in steps:
                (writer.step if isinstance(one, Step) else writer.line)(one)

    return put


@pytest.fixture
def told(where: str, write: Callable[..., None]) -> Callable[[Sequence[Step]], Any]:
    """Write steps and open the ledger for questions."""

    @contextmanager
    def opened(steps: Sequence[Step]) -> Iterator[Ledger]:
        write(steps)
        with open_ledger(where) as ledger:
            yield ledger

    return opened
