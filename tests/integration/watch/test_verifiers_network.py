"""Verifiers over real loopback connections: a GitHub-like issue service, rude HTTP servers, and an IMAP server."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from breakfall.demos.fabrication.issues import READER, REPOSITORY, Issues, serving
from breakfall.runtime.verifiers import Claim, http_json, imap, load
from breakfall.vocab import Applied, Failed, Ok, Predicate

YES, NO, UNKNOWN = Applied.YES, Applied.NO, Applied.UNKNOWN


@pytest.fixture
def issues() -> Iterator[Issues]:
    with serving() as server:
        server.open_issue(41, "one")
        server.open_issue(42, "two")
        server.issues[41]["state"] = "closed"
        yield server


WATCH = """
[tools.close_issue]
kind = "http"
url = "{url}/repos/{{owner}}/{{repo}}/issues/{{number}}"
headers = {{ Authorization = "Bearer ${{TOKEN}}", X-GitHub-Api-Version = "2022-11-28" }}
predicates = [{{ at = "/state", is = "==", value = "closed" }}]
missing = "unknown"
"""


def test_github_issue(issues: Issues, tmp_path: Path) -> None:
    """The state of the issue decides; wrong credentials and an issue nobody sees tell nothing; no token is shown."""
    path = tmp_path / "watch.toml"
    path.write_text(WATCH.format(url=issues.url))

    def look(number: Any, token: str = READER) -> Any:
        owner, repo = REPOSITORY.split("/")
        arguments = {"owner": owner, "repo": repo, "number": number}
        verify = load(path, {"TOKEN": token})["close_issue"].verify
        found = verify(Claim(tool="close_issue", arguments=arguments))
        assert token not in str(found)
        return found

    assert look(41).applied is YES
    still = look(42)
    assert (still.applied, still.found, still.why) == (NO, {"/state": "open"}, "not so: /state == 'closed'")
    assert isinstance(still.outcome, Ok)
    assert still.outcome.value["title"] == "two"
    for number, token, status in ((41, "stolen", 401), (999, READER, 404)):
        found = look(number, token)
        assert found.applied is UNKNOWN
        assert isinstance(found.outcome, Failed)
        assert found.outcome.status == status


class Rude(BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_GET(self) -> None:
        status, _, body = self.path.strip("/").partition("/")
        self.send_response(int(status))
        if status == "302":
            self.send_header("Location", "/200/{}")
        self.end_headers()
        self.wfile.write({"page": b"<html>log in</html>", "error": b'{"error": "boom"}'}.get(body, b'{"id": 1}'))

    def log_message(self, *args: Any) -> None:
        """Write no log."""


@pytest.fixture
def rude() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Rude) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "applied", "removed"),
    [
        ("200/", YES, NO),
        ("404/", NO, YES),
        ("410/", NO, YES),
        ("200/page", UNKNOWN, UNKNOWN),
        ("200/error", UNKNOWN, UNKNOWN),
        ("500/", UNKNOWN, UNKNOWN),
        ("302/", UNKNOWN, UNKNOWN),
        ("204/", UNKNOWN, UNKNOWN),
    ],
)
def test_what_answers_mean(rude: str, path: str, applied: Applied, removed: Applied) -> None:
    """200 with JSON is there, 404 and 410 are gone; error pages, errors under 200 and redirects tell nothing."""
    claim = Claim(tool="put")
    assert http_json(f"{rude}/{path}")(claim).applied is applied
    assert http_json(f"{rude}/{path}", absent=True)(claim).applied is removed


MESSAGE = b"From: shop@shop.example\r\nTo: ann@shop.example\r\nSubject: Invoice O7\r\n\r\nYou owe 5.\r\n"


class Imap(socketserver.StreamRequestHandler):
    """As much of IMAP4rev1 as a look-up needs; keeps what was asked."""

    server: ImapServer

    def handle(self) -> None:
        self._send("* OK ready")
        for line in self.rfile:
            tag, _, command = line.decode().strip().partition(" ")
            self.server.asked.append(command)
            name = command.split()[0].upper()
            if name == "CAPABILITY":
                self._send("* CAPABILITY IMAP4rev1")
            elif name == "LOGIN" and command != 'LOGIN watcher "s3cr3t"':
                self._send(f"{tag} NO wrong password")
                continue
            elif name == "EXAMINE":
                self._send("* 1 EXISTS")
            elif name == "SEARCH":
                self._send("* SEARCH 1")
            elif name == "FETCH":
                self._send(f"* 1 FETCH (BODY[] {{{len(MESSAGE)}}}")
                self.wfile.write(MESSAGE + b")\r\n")
            self._send(f"{tag} OK done")
            if name == "LOGOUT":
                return

    def _send(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


class ImapServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Imap)
        self.asked: list[str] = []


def test_imap() -> None:
    """A message on a server is found without a mark left; another address or password does not find it."""
    with ImapServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

        def look(to: str, password: str = "s3cr3t") -> Any:
            verify = imap(
                "127.0.0.1",
                port=server.server_address[1],
                tls=False,
                user="watcher",
                password=password,
                match={"to": "{to}", "subject": "Invoice {order}"},
                predicates=[Predicate(at="/0/body", is_="contains", value="owe {amount}")],
            )
            return verify(Claim(tool="send", arguments={"to": to, "order": "O7", "amount": 5}))

        assert look("ann@shop.example").applied is YES
        assert 'EXAMINE "INBOX"' in server.asked
        assert 'SEARCH HEADER to "ann@shop.example" HEADER subject "Invoice O7"' in server.asked
        assert "FETCH 1 (BODY.PEEK[])" in server.asked
        assert look("bob@shop.example").applied is NO
        refused = look("ann@shop.example", "wrong")
        assert (refused.applied, "wrong password" in refused.why) == (UNKNOWN, True)
        server.shutdown()
