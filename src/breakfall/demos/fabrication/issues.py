"""An issue service that answers as GitHub's REST API does: issues of one repository, on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from breakfall.demos.orders.serving import LOOPBACK, Handler, Server

REPOSITORY = "acme/books"
WRITER, READER = "agent-token", "watchdog-token"
"""The agent's token may write, the watchdog's may only read."""


class Issues(Server):
    """The service; issues by number.

    Attributes:
        issues: Number -> the issue.
    """

    def __init__(self) -> None:
        super().__init__(_Issues)
        self.issues: dict[int, dict[str, Any]] = {}
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"http://{LOOPBACK}:{self.server_address[1]}"

    def open_issue(self, number: int, title: str) -> None:
        """Put an open issue there."""
        with self.lock:
            self.issues[number] = {"number": number, "title": title, "state": "open", "state_reason": None}


class _Issues(Handler):
    server: Issues

    def do_GET(self) -> None:
        """Show an issue."""
        if self._allowed(READER, WRITER):
            issue = self._issue()
            if issue is None:
                self._say(404, {"message": "Not Found", "status": "404"})
            else:
                self._say(200, issue)

    def do_PATCH(self) -> None:
        """Change an issue."""
        changes = msgspec.json.decode(self.body())
        if self._allowed(WRITER):
            issue = self._issue()
            if issue is None:
                self._say(404, {"message": "Not Found", "status": "404"})
                return
            with self.server.lock:
                issue.update(changes)
            self._say(200, issue)

    def _allowed(self, *tokens: str) -> bool:
        if self.headers.get("Authorization", "").removeprefix("Bearer ") in tokens:
            return True
        self._say(401, {"message": "Bad credentials", "status": "401"})
        return False

    def _issue(self) -> dict[str, Any] | None:
        parts = urlsplit(self.path).path.strip("/").split("/")
        if parts[:-1] != ["repos", *REPOSITORY.split("/"), "issues"] or not parts[-1].isdecimal():
            return None
        return self.server.issues.get(int(parts[-1]))

    def _say(self, status: int, value: Any) -> None:
        self.answer(status, msgspec.json.encode(value), {"Connection": "close"})


@contextmanager
def serving() -> Iterator[Issues]:
    """Serve until the block ends."""
    server = Issues()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
