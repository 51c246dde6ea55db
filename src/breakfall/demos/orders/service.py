"""The order service: a small, real HTTP service over a SQLite database.

    python -m breakfall.demos.orders.service DATABASE

It does what it is asked: two equal requests to ``POST /orders`` are two orders. Look-ups read the database itself.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from breakfall.demos.orders.book import SOLD_OUT
from breakfall.demos.orders.serving import Handler, Server, serve

WINDOW_S = 60.0
"""How long an Idempotency-Key is known."""
_TABLES = """
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, reference TEXT NOT NULL, endpoint TEXT NOT NULL, item TEXT NOT NULL,
    quantity INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_reference ON orders (reference);
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, body BLOB NOT NULL, at_s REAL NOT NULL, id INTEGER NOT NULL);
"""


class Shelf:
    """The database; one writer at a time, and each order is committed before it is answered."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_TABLES)

    def place(self, order: dict[str, Any], endpoint: str) -> int:
        """Store one more order."""
        with self._lock:
            return self._insert(order, endpoint)

    def place_once(self, order: dict[str, Any], body: bytes, key: str) -> int | None:
        """Store an order unless its key is known; None if the key came with another body."""
        now_s = time.monotonic()
        with self._lock:
            known = self._connection.execute("SELECT body, at_s, id FROM keys WHERE key = ?", (key,)).fetchone()
            if known is not None and now_s - known[1] <= WINDOW_S:
                return int(known[2]) if known[0] == body else None
            with self._transaction():
                made = self._insert(order, "keyed")
                self._connection.execute("REPLACE INTO keys VALUES (?, ?, ?, ?)", (key, body, now_s, made))
            return made

    def put(self, order: dict[str, Any]) -> int:
        """Make the order of a reference be as asked."""
        with self._lock:
            query = "SELECT id FROM orders WHERE reference = ? AND endpoint = 'natural'"
            known = self._connection.execute(query, (order["reference"],)).fetchone()
            return int(known[0]) if known is not None else self._insert(order, "natural")

    def with_reference(self, reference: str) -> list[dict[str, Any]]:
        """List the orders of a reference that this service itself took."""
        query = "SELECT id, item, quantity FROM orders WHERE reference = ? AND endpoint != 'partner' ORDER BY id"
        with self._lock:
            rows = self._connection.execute(query, (reference,)).fetchall()
        return [{"id": row[0], "reference": reference, "item": row[1], "quantity": row[2]} for row in rows]

    def _insert(self, order: dict[str, Any], endpoint: str) -> int:
        row = (order["reference"], endpoint, order["item"], order["quantity"])
        query = "INSERT INTO orders (reference, endpoint, item, quantity) VALUES (?, ?, ?, ?)"
        return int(self._connection.execute(query, row).lastrowid or 0)

    def _transaction(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN")
        return self._connection  # commits, or rolls back, when its block ends


class Orders(Handler):
    """The service's endpoints."""

    shelf: Shelf

    def do_GET(self) -> None:
        """Answer ``GET /orders?reference=R``, past every cache."""
        url = urlsplit(self.path)
        wanted = parse_qs(url.query).get("reference")
        if url.path != "/orders" or not wanted:
            self._say(404, {"message": "no such page"})
        else:
            self._say(200, {"orders": self.shelf.with_reference(wanted[0])}, {"Cache-Control": "no-store"})

    def do_POST(self) -> None:
        """Take an order: ``/orders``, ``/v2/orders`` with an Idempotency-Key, or ``/partner/orders``."""
        body = self.body()
        order = self._order(body)
        if order is None:
            return
        if self.path == "/v2/orders":
            key = self.headers.get("Idempotency-Key")
            if not key:
                self._say(400, {"message": "the Idempotency-Key is missing"})
                return
            made = self.shelf.place_once(order, body, key)
            if made is None:
                self._say(422, {"message": "this Idempotency-Key came with another body before"})
                return
        elif self.path in ("/orders", "/partner/orders"):
            made = self.shelf.place(order, "partner" if self.path.startswith("/partner") else "plain")
        else:
            self._say(404, {"message": "no such page"})
            return
        self._say(201, {"id": made, "reference": order["reference"]})

    def do_PUT(self) -> None:
        """Take an order by its reference: ``PUT /orders/{reference}``."""
        order = self._order(self.body())
        if order is not None:
            self._say(200, {"id": self.shelf.put(order), "reference": order["reference"]})

    def _order(self, body: bytes) -> dict[str, Any] | None:
        order: dict[str, Any] = msgspec.json.decode(body)
        if order["item"] == SOLD_OUT:
            self._say(422, {"message": f"{SOLD_OUT}s are sold out"})
            return None
        return order

    def _say(self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.answer(status, msgspec.json.encode(value), headers)


def main() -> None:
    """Serve the database that the command line names."""
    Orders.shelf = Shelf(Path(sys.argv[1]))
    serve(Server(Orders))


if __name__ == "__main__":
    main()
