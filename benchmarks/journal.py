"""What one journalled write costs beside two bare durable commits of SQLite, in one run.

    python benchmarks/journal.py [--json] [--folder DIR]

A new key goes through `begin` and `finish`, each durable before it returns. The bare pair inserts one row of the same
size and updates it, each in a commit of its own, in a file with the same settings. "replayed" is `begin` of a key that
has succeeded. Each figure is the median over rounds of the mean of many; the spread is the middle half of the rounds.
Without --folder the files lie in /dev/shm where there is one (a RAM disk: no disk is waited for), else in the temporary
folder.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from breakfall.runtime.journal import Fresh, Journal, Operation, Replayed, Send, open_journal
from breakfall.vocab import Ok

WRITES, ROUNDS = 500, 21
RESULT = Ok(value={"order_id": "O-1042", "status": "placed", "total": "129.90"})


class Bare:
    """Two durable commits a write, and nothing else."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE writes (key TEXT PRIMARY KEY, state TEXT, body TEXT)")
        self._body = "x" * 500
        self.close = self._connection.close

    def write(self, key: str) -> None:
        """Insert and update one row."""
        self._connection.execute("INSERT INTO writes VALUES (?, 'in_flight', ?)", (key, self._body))
        self._connection.execute("UPDATE writes SET state = 'succeeded', body = ? WHERE key = ?", (self._body, key))


def asked(key: str) -> tuple[Operation, Send]:
    """Describe one write as the runtime does."""
    arguments = {"customer": "C-17", "sku": "A-100", "quantity": 2, "express": False}
    return (
        Operation(key=key, run="bench", tool="place_order", arguments=arguments),
        Send(tool="place_order", arguments=arguments, in_transit_s=10.0),
    )


def journalled(journal: Journal, key: str) -> None:
    """Run one new write through the journal."""
    begun = journal.begin(*asked(key))
    assert isinstance(begun, Fresh)
    journal.finish(begun.claim, RESULT)


def replayed(journal: Journal, key: str) -> None:
    """Begin a write that has succeeded."""
    assert isinstance(journal.begin(*asked(key)), Replayed)


def timed(write: Callable[[str], None], first: int) -> float:
    """Time one round; µs a write."""
    keys = [f"{n * 2654435761 % 2**32:08x}-{n}" for n in range(first, first + WRITES)]
    start = time.perf_counter()
    for key in keys:
        write(key)
    return (time.perf_counter() - start) / WRITES * 1e6


def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Interleave the rounds of all contestants, so that a busy machine slows them alike."""
    times: dict[str, list[float]] = {"two bare commits": [], "begin + finish": [], "replayed": []}
    with closing(Bare(folder / "bare.sqlite")) as bare, open_journal(folder / "journal.sqlite") as journal:
        for n in range(ROUNDS):
            times["two bare commits"].append(timed(bare.write, n * WRITES))
            times["begin + finish"].append(timed(lambda key: journalled(journal, key), n * WRITES))
            times["replayed"].append(timed(lambda key: replayed(journal, key), n * WRITES))
    return {
        name: {
            "us": round(statistics.median(spent), 1),
            "spread_us": round(statistics.quantiles(spent)[2] - statistics.quantiles(spent)[0], 1),
        }
        for name, spent in times.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", default="/dev/shm" if Path("/dev/shm").is_dir() else None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        result = measure(Path(folder))
    if options.json:
        print(json.dumps(result))
        return
    print(f"µs a durable write ({ROUNDS} rounds of {WRITES}, in {options.folder or 'the temporary folder'})")
    for name, figures in result.items():
        print(f"  {name:<17} {figures['us']:>8.1f}  ± {figures['spread_us']:.1f}")
    ratio = result["begin + finish"]["us"] / result["two bare commits"]["us"]
    print(f"  begin + finish is {ratio:.2f} × two bare commits")


if __name__ == "__main__":
    main()
