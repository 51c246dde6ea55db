"""Run the proof: a fresh service and network for each client, the same orders and faults, and then count the rows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from breakfall.demos.orders.book import orders
from breakfall.demos.orders.count import Result, looked_up_in, result, rows_in
from breakfall.demos.orders.worker import told_in
from breakfall.errors import RunError, unknown_name
from breakfall.seeds import Stream, stream

CLIENTS = ("bare", "tenacity", "stamina", "breakfall")
_LONGEST_S = 300.0
"""A client that takes longer is stuck."""


class Report(Struct, frozen=True, kw_only=True):
    """What the proof showed; `breakfall demo orders --json` prints it."""

    version: int = 1
    command: str
    seed: int
    orders: int
    can_be_placed: int
    results: tuple[Result, ...]
    not_installed: tuple[str, ...] = ()
    """Clients that were left out because their library is not there."""

    @property
    def holds(self) -> bool:
        """Whether breakfall kept its word: nothing twice, nothing false, and a word about every order."""
        ours = [one for one in self.results if one.client.startswith("breakfall")]
        return all(not one.more and not one.false and sum(one.said.values()) == self.orders for one in ours)


def play(
    *,
    count: int = 2_000,
    kills: int = 10,
    seed: int = 0,
    clients: Sequence[str] = CLIENTS,
    tell: Callable[[str], None] = lambda text: None,
) -> Report:
    """Run every client, and breakfall once more while it is killed again and again.

    Args:
        count: Orders that each client places.
        kills: How often the last client is killed.
        seed: Orders, faults and kill times.
        clients: Which clients.
        tell: Is told what is being done.
    """
    wanted = orders(seed, count)
    unknown = [name for name in clients if name not in CLIENTS]
    if unknown:
        raise unknown_name("client", unknown[0], CLIENTS, "breakfall demo orders --help")
    there = [name for name in clients if name in ("bare", "breakfall") or find_spec(name) is not None]
    plays = [(name, 0) for name in there] + ([("breakfall", kills)] if kills and "breakfall" in there else [])
    results = []
    for name, times in plays:
        tell(f"{name}{f', killed {times} times' if times else ''}: {count} orders …")
        with tempfile.TemporaryDirectory(prefix="breakfall-orders-") as made:
            folder = Path(made)
            with network(folder / "orders.db", seed) as port:
                begun = time.monotonic()
                done = _run([name, str(port), str(seed), str(count), str(folder)], times, stream(seed, "kills"))
                seconds = time.monotonic() - begun
            told = told_in(folder / "told.jsonl")
            title = f"{name}, killed" if times else name
            stands = rows_in(folder / "orders.db")
            fared = result(title, wanted, stands, told)
            looked_up = looked_up_in(folder / "writes.db")
            results.append(replace(fared, kills=done, seconds=round(seconds, 1), looked_up=looked_up))
    return Report(
        command=f"breakfall demo orders --orders {count} --kills {kills} --seed {seed}",
        seed=seed,
        orders=count,
        can_be_placed=sum(order.can_be_placed for order in wanted),
        results=tuple(results),
        not_installed=tuple(name for name in clients if name not in there),
    )


@contextmanager
def network(database: Path, seed: int) -> Iterator[int]:
    """Start a service and the network before it; give the port that clients see."""
    with _server("service", str(database)) as service, _server("proxy", str(service), str(seed)) as port:
        yield port


@contextmanager
def _server(module: str, *arguments: str) -> Iterator[int]:
    """Start a server of the demo, which ends when its standard input closes."""
    process = _start(module, *arguments)
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise RunError(f"the demo's {module} did not start; what it says stands above")
        yield int(port)
    finally:
        process.communicate()


def _run(arguments: list[str], kills: int, draw: Stream) -> int:
    """Run a client until it ends by itself; kill it with SIGKILL at drawn times before; return how often."""
    for done in range(kills + 1):
        process = _start("worker", *arguments)
        assert process.stdout is not None
        try:
            process.stdout.readline()  # it is ready
            process.wait(draw.between(0.05, 0.6) if done < kills else _LONGEST_S)
        except subprocess.TimeoutExpired:
            if done == kills:
                raise RunError(f"the demo's client {arguments[0]} is stuck after {_LONGEST_S:g} s") from None
        finally:
            process.kill()
            process.communicate()
        if process.returncode == 0:
            return done
        if done == kills:
            raise RunError(f"the demo's client {arguments[0]} failed; what it says stands above")
    return kills


def _start(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"breakfall.demos.orders.{module}", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
