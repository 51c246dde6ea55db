"""One client as a process of its own: places the orders that it has not told of yet, and writes down what it says.

python -m breakfall.demos.orders.worker NAME PORT SEED COUNT FOLDER
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from breakfall.demos.orders.book import Order, orders
from breakfall.demos.orders.clients import Client, Said, Told, client

THREADS = 16
PASSES = 3
"""How often a client comes back for orders of which it knows that nothing was ordered."""


def told_in(path: Path) -> dict[str, Told]:
    """Read what a client has said so far; a line that a kill cut short is no line."""
    found: dict[str, Told] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            told = msgspec.json.decode(line, type=Told)
        except msgspec.DecodeError:
            continue
        found[told.reference] = told
    return found


class Notes:
    """The file of what a client says, one line an order."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._file.write(b"\n")  # a line that a kill cut short ends here
        self._lock = threading.Lock()

    def write(self, told: Told) -> None:
        """Write one line, whole."""
        with self._lock:
            self._file.write(msgspec.json.encode(told) + b"\n")
            self._file.flush()


def place_all(buyer: Client, wanted: list[Order], path: Path, *, passes: int) -> None:
    """Place the orders; a client that knows that nothing was ordered comes back for them later."""
    notes = Notes(path)
    for _ in range(passes):
        known = told_in(path)
        left = [one for one in wanted if one.reference not in known or known[one.reference].said is Said.NOT_PLACED]
        with ThreadPoolExecutor(THREADS) as pool:
            for told in pool.map(buyer.place, left):
                notes.write(told)


def main() -> None:
    """Place the orders that the command line describes."""
    name, port, seed, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    with client(name, port, Path(folder)) as buyer:
        print("ready", flush=True)
        # Who cannot tell "failed" from "not placed" must not come back, or every doubt becomes a second order.
        passes = PASSES if name == "breakfall" else 1
        place_all(buyer, orders(seed, count), Path(folder) / "told.jsonl", passes=passes)


if __name__ == "__main__":
    main()
