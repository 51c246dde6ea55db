"""The office: a database, a folder, a mailbox and an issue service, and the tools that change and read them."""

from __future__ import annotations

import mailbox
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.demos.fabrication.issues import REPOSITORY, WRITER, Issues, serving
from breakfall.demos.orders.serving import LOOPBACK

WATCH = """
# The watchdog's own way to look, with a token that may only read.
[watch]
grace_s = 0
stall_s = 0

[tools.book_payment]
kind = "sql"
database = "office.db"
query = "SELECT amount FROM payments WHERE order_id = :order"
predicates = [{{ at = "/0/amount", is = "==", value = "{{amount}}" }}]
settle_s = 0

[tools.write_invoice]
kind = "file"
root = "invoices"
path = "{{order}}.json"
predicates = [{{ at = "/json/amount", is = "==", value = "{{amount}}" }}]
settle_s = 0

[tools.send_receipt]
kind = "mail"
maildir = "sent"
match = {{ to = "{{to}}", subject = "Receipt for {{order}}" }}
settle_s = 0

[tools.close_issue]
kind = "http"
url = "{url}/repos/{repository}/issues/{{number}}"
headers = {{ Authorization = "Bearer ${{WATCHDOG_TOKEN}}" }}
predicates = [{{ at = "/state", is = "==", value = "closed" }}]
settle_s = 0

[[answers]]
tool = "book_payment"
pattern = 'Booked the payment of (?P<order>\\w+)'

[[answers]]
tool = "write_invoice"
pattern = 'Wrote the invoice of (?P<order>\\w+)'

[[answers]]
tool = "send_receipt"
pattern = 'Sent the receipt for (?P<order>\\w+) to (?P<to>\\S+@\\w[\\w.]*\\w)'

[[answers]]
tool = "close_issue"
pattern = 'Closed issue (?P<number>\\d+)'
"""


class Tool(Struct, frozen=True):
    """A tool of the office that writes, and the one that reads what it did."""

    name: str
    write: Callable[..., dict[str, Any]]
    reader: str
    read: Callable[..., dict[str, Any]]
    """Called with the same arguments."""
    said: str
    """How the agent says that it was done."""


class Office:
    """The office's systems in a folder.

    Args:
        folder: Where the database, the invoices and the mailbox are; made if they are not there.
        issues: The issue service.
    """

    def __init__(self, folder: Path, issues: Issues) -> None:
        self.folder = folder
        self.issues = issues
        self._invoices = folder / "invoices"
        self._invoices.mkdir(parents=True)
        self._database = folder / "office.db"
        self._sent = folder / "sent"
        mailbox.Maildir(self._sent).close()
        with closing(self._opened()) as database, database:
            database.execute("CREATE TABLE payments (order_id TEXT PRIMARY KEY, amount INTEGER NOT NULL)")
        self.tools = {tool.name: tool for tool in self._tools()}

    def rules(self) -> Path:
        """Write the watchdog's file, and return where it is."""
        path = self.folder / "watch.toml"
        path.write_text(WATCH.format(url=self.issues.url, repository=REPOSITORY), encoding="utf-8")
        return path

    def _tools(self) -> Iterator[Tool]:
        yield Tool("book_payment", self._book, "get_payment", self._payment, "Booked the payment of {order}")
        yield Tool("write_invoice", self._write, "read_invoice", self._invoice, "Wrote the invoice of {order}")
        yield Tool("send_receipt", self._send, "find_receipt", self._receipt, "Sent the receipt for {order} to {to}")
        yield Tool("close_issue", self._close, "get_issue", self._issue, "Closed issue {number}")

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._database)
        database.execute("PRAGMA synchronous = OFF")  # nobody needs these books after a power cut
        return database

    def _book(self, order: str, amount: int) -> dict[str, Any]:
        with closing(self._opened()) as database, database:
            database.execute("INSERT INTO payments VALUES (?, ?)", (order, amount))
        return {"order": order, "status": "booked"}

    def _payment(self, order: str, amount: int) -> dict[str, Any]:
        del amount
        with closing(self._opened()) as database:
            row = database.execute("SELECT amount FROM payments WHERE order_id = ?", (order,)).fetchone()
        return {"order": order, "amount": row[0]}

    def _write(self, order: str, amount: int) -> dict[str, Any]:
        path = self._invoices / f"{order}.json"
        path.write_bytes(msgspec.json.encode({"order": order, "amount": amount}))
        return {"path": path.name}

    def _invoice(self, order: str, amount: int) -> dict[str, Any]:
        del amount
        shown: dict[str, Any] = msgspec.json.decode((self._invoices / f"{order}.json").read_bytes())
        return shown

    def _send(self, to: str, order: str) -> dict[str, Any]:
        text = f"From: office@acme.example\nTo: {to}\nSubject: Receipt for {order}\n\nThank you.\n"
        (self._sent / "new" / order).write_text(text)
        return {"to": to, "queued": True}

    def _receipt(self, to: str, order: str) -> dict[str, Any]:
        with closing(mailbox.Maildir(self._sent)) as box:
            found = [one["Subject"] for one in map(box.get, box.keys()) if one is not None and one["To"] == to]
        return {"to": to, "order": order, "found": found}

    def _close(self, number: int) -> dict[str, Any]:
        return self._asked("PATCH", number, {"state": "closed", "state_reason": "completed"})

    def _issue(self, number: int) -> dict[str, Any]:
        return self._asked("GET", number, None)

    def _asked(self, method: str, number: int, body: Any) -> dict[str, Any]:
        with closing(HTTPConnection(LOOPBACK, self.issues.server_address[1])) as connection:
            sent = None if body is None else msgspec.json.encode(body)
            path = f"/repos/{REPOSITORY}/issues/{number}"
            connection.request(method, path, sent, {"Authorization": f"Bearer {WRITER}"})
            shown: dict[str, Any] = msgspec.json.decode(connection.getresponse().read())
        return shown


@contextmanager
def opened(folder: Path) -> Iterator[Office]:
    """Open an office until the block ends."""
    with serving() as issues:
        yield Office(folder, issues)
