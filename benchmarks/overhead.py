"""What recovery adds to a healthy call, beside tenacity, stamina and redress, and to a write beside bare SQLite.

    python benchmarks/overhead.py [--json]

*Read*: a function that returns a small dict, sync and async, through a `Toolbox` with recovery alone (no ledger, no
journal), and *whole*: its answer validated against an output schema and every attempt put into a step sink. Each
figure is the median over rounds of the mean of many calls, less the bare call's; the spread is the middle half of the
rounds. The rounds of all contestants alternate, so that a busy machine slows them alike.

*Write*: a guarded write with a new operation each time, journalled durably before and after, beside two bare durable
SQLite commits of as many bytes; on tmpfs where there is one.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import stamina
import tenacity

from breakfall.runtime.declare import natural, tool
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Step

CALLS, ROUNDS = 2_000, 21
WRITES, WRITE_ROUNDS = 200, 15
VALUE = {"order_id": "O1", "status": "shipped"}
SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
    "required": ["order_id", "status"],
    "additionalProperties": False,
}
ENTRY_BYTES = 450
"""About what the journal stores of a write."""
Spent = dict[str, list[float]]
Told = dict[str, dict[str, float]]


def bare(order_id: str) -> dict[str, str]:
    """Stand for the tool."""
    return VALUE


async def abare(order_id: str) -> dict[str, str]:
    """Stand for the async tool."""
    return VALUE


class Sink:
    """Takes Steps, and keeps how many."""

    def __init__(self) -> None:
        self.count = 0

    def step(self, step: Step) -> None:
        """Take one step."""
        self.count += 1


def guarded(function: Callable[..., Any], *, whole: bool) -> Callable[..., Any]:
    """Put a function into a toolbox: recovery alone, or with validation and a step sink."""
    declared = tool("read", name="get", returns=SCHEMA if whole else None)(function)
    return Toolbox(declared, ledger=Sink() if whole else None)[declared]


by_tenacity = tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_exponential())
by_stamina = stamina.retry(on=Exception, attempts=3)


def by_redress(function: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """Wrap with redress's retry decorator and its default classifier."""
    import redress

    policy = (redress.AsyncRetryPolicy if is_async else redress.RetryPolicy)(
        classifier=redress.default_classifier, strategy=redress.decorrelated_jitter(), max_attempts=3
    )
    if is_async:

        async def call_async(order_id: str) -> Any:
            return await policy.call(lambda: function(order_id))

        return call_async
    return lambda order_id: policy.call(lambda: function(order_id))


def contestants(function: Callable[..., Any], *, is_async: bool) -> dict[str, Callable[..., Any]]:
    """List what wraps a function."""
    found = {
        "bare": function,
        "breakfall": guarded(function, whole=False),
        "breakfall whole": guarded(function, whole=True),
        "tenacity": by_tenacity(function),
        "stamina": by_stamina(function),
    }
    if find_spec("redress") is not None:
        found["redress"] = by_redress(function, is_async=is_async)
    return found


def sync_round(call: Callable[[str], object]) -> float:
    """Time one round; µs a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call("O1")
    return (time.perf_counter() - start) / CALLS * 1e6


async def async_round(call: Callable[[str], Awaitable[object]]) -> float:
    """Time one round; µs a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        await call("O1")
    return (time.perf_counter() - start) / CALLS * 1e6


def measure_reads() -> dict[str, Told]:
    """Measure healthy reads."""
    sync, async_ = contestants(bare, is_async=False), contestants(abare, is_async=True)
    spent: dict[str, Spent] = {kind: {name: [] for name in sync} for kind in ("sync", "async")}

    async def rounds() -> None:
        for _ in range(ROUNDS):
            for name in sync:
                spent["sync"][name].append(sync_round(sync[name]))
                spent["async"][name].append(await async_round(async_[name]))

    asyncio.run(rounds())
    return {
        kind: {name: _told(each, less=statistics.median(by_name["bare"])) for name, each in by_name.items()}
        for kind, by_name in spent.items()
    }


def measure_writes(folder: Path) -> Told:
    """Measure durable guarded writes, each a new operation."""

    @tool("write", idempotency=natural())
    def put(n: int) -> int:
        return n

    spent: Spent = {"two bare commits": [], "breakfall": []}
    numbers = iter(range(10**9))
    with Toolbox(put, journal=folder / "writes.db") as box, closing(_table(folder / "bare.db")) as connection:
        guarded_put = box[put]
        body = "x" * ENTRY_BYTES

        def two_commits(n: int) -> None:
            for statement in ("INSERT INTO entries VALUES (?1, ?2)", "UPDATE entries SET body = ?2 WHERE key = ?1"):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(statement, (f"key-{n}", body))
                connection.execute("COMMIT")

        for _ in range(WRITE_ROUNDS):
            for name, write in (("two bare commits", two_commits), ("breakfall", guarded_put)):
                start = time.perf_counter()
                for _ in range(WRITES):
                    write(next(numbers))
                spent[name].append((time.perf_counter() - start) / WRITES * 1e6)
    return {name: _told(each, less=0.0) for name, each in spent.items()}


def _table(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, body TEXT)")
    return connection


def _told(spent: list[float], *, less: float) -> dict[str, float]:
    quarters = statistics.quantiles(spent)
    return {"added_us": round(statistics.median(spent) - less, 2), "spread_us": round(quarters[2] - quarters[0], 2)}


def main() -> None:
    """Measure and print."""
    reads = measure_reads()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        writes = measure_writes(Path(folder))
    if "--json" in sys.argv:
        print(json.dumps({"reads": reads, "writes": writes, "tmpfs": memory.is_dir()}))
        return
    print(f"µs that one healthy read costs over the bare call ({ROUNDS} rounds of {CALLS} calls)")
    for kind, by_name in reads.items():
        for name, figures in by_name.items():
            if name != "bare":
                print(f"  {kind:<6} {name:<16} {figures['added_us']:>7.2f}  ± {figures['spread_us']:.2f}")
    if "redress" not in reads["sync"]:
        print("  redress is not installed")
    where = "tmpfs" if memory.is_dir() else "the temporary folder"
    print(f"µs of one durable write on {where} ({WRITE_ROUNDS} rounds of {WRITES} writes)")
    for name, figures in writes.items():
        print(f"  {name:<23} {figures['added_us']:>7.2f}  ± {figures['spread_us']:.2f}")


if __name__ == "__main__":
    main()
