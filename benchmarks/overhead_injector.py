"""The injector's cost per call over a bare call of a trivial environment: at p = 0 and with the paper's profile.

    python benchmarks/overhead_injector.py

Every figure is the least of several medians taken in turn, so that what else the machine does falls on all rows
alike. The caps are off: with them on, most faults of these long runs would be suppressed, which is cheaper.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from breakfall.faults.inject import Injector
from breakfall.faults.profile import PROFILES, Profile
from breakfall.faults.scenario import Blockade
from breakfall.vocab import Effect, Ok, Outcome, Tool

CALLS = 2_000
ROUNDS = 15
REPEATS = 5
VALUE = {"order_id": "O1001", "status": "shipped", "total": 41.5, "placed_on": "2025-03-14", "quantity": 2}
RETURNS = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "x-kind": "id:order"},
        "status": {"type": "string", "enum": ["pending", "shipped", "delivered"]},
        "total": {"type": "number", "x-kind": "money"},
        "placed_on": {"type": "string", "format": "date"},
        "quantity": {"type": "integer", "x-kind": "quantity"},
    },
}
PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
ARGUMENTS = {"order_id": "O1001"}
UNCAPPED = 10**9


class Trivial:
    """An environment of one tool that always gives the same answer."""

    def __init__(self) -> None:
        tool = Tool(
            name="get_order",
            description="Read an order.",
            parameters=PARAMETERS,
            returns=RETURNS,
            effect=Effect.READ,
            fault_domain="orders",
        )
        self.tools = {"get_order": tool}
        self.effects = ()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer."""
        return Ok(value=VALUE)

    async def pretend(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Answer."""
        return Ok(value=VALUE)

    def earlier(self, tool: str, arguments: dict[str, Any]) -> Any | None:
        """Know of nothing earlier."""
        return None

    def ids(self, kind: str) -> Sequence[str]:
        """List three orders."""
        return ("O1001", "O1002", "O1003")

    def next_turn(self) -> None:
        """Do nothing."""


async def seconds_per_call(call: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> float:
    """Return the median over the rounds of the mean time of a call."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            await call("get_order", ARGUMENTS)
        rounds.append((time.perf_counter() - start) / CALLS)
    return statistics.median(rounds)


def injector(profile: Profile) -> Injector:
    """Stand an injector without caps before a trivial environment."""
    free = replace(profile, max_total=UNCAPPED, max_in_row=UNCAPPED)
    return Injector(Trivial(), free, Blockade(), seed=1, world="bench", task="t1")


async def main() -> None:
    """Measure and print the table."""
    rows: dict[str, tuple[Callable[[str, dict[str, Any]], Awaitable[Any]], float | None]] = {
        "bare call": (Trivial().call, None),
        "injector, p = 0 (clean)": (injector(PROFILES["clean"]).call, 5.0),
        "injector, p = 0.05 (light)": (injector(PROFILES["light"]).call, None),
        "injector, p = 0.4 (paper)": (injector(PROFILES["paper"]).call, 10.0),
    }
    best = dict.fromkeys(rows, float("inf"))
    for _ in range(REPEATS):
        for name, (call, _) in rows.items():
            best[name] = min(best[name], await seconds_per_call(call))
    table = Table("what", "µs per call", "µs over bare", "target")
    bare = best["bare call"]
    for name, (_, target) in rows.items():
        over = (best[name] - bare) * 1e6
        mark = "" if target is None else f"≤ {target:g} {'✓' if over <= target else 'missed'}"
        table.add_row(name, f"{best[name] * 1e6:.2f}", f"{over:.2f}", mark)
    Console().print(table)


if __name__ == "__main__":
    anyio.run(main)
