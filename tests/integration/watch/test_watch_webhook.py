"""Alerts over a real loopback connection: a Slack-like webhook gets them, and a file what it does not take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.clock import SystemClock
from breakfall.runtime.watch import Summary, Watch, load, run_once
from breakfall.runtime.watch.place import state_path, watched
from breakfall.vocab import Effect, Ok, Step, Uncertainty, Verification, VerificationStatus

RULES = """
[alerts]
webhook = "http://127.0.0.1:{port}/${{HOOK}}"
undelivered = "kept.jsonl"
"""


class Hook(BaseHTTPRequestHandler):
    got: list[tuple[str, dict[str, Any]]]
    status = 200

    def do_POST(self) -> None:
        body = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
        self.got.append((self.path, body))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Write no log."""


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], int]]:
    class Mine(Hook):
        got: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012 - one per test

    with ThreadingHTTPServer(("127.0.0.1", 0), Mine) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield Mine, server.server_address[1]
        server.shutdown()


def watch(tmp_path: Path, port: int) -> Summary:
    """Watch a ledger with one false ok."""
    ledger, rules = tmp_path / "ledger", tmp_path / "watch.toml"
    rules.write_text(RULES.format(port=port))
    with LedgerWriter(ledger) as writer:
        writer.step(
            Step(
                episode="ticket-42",
                n=0,
                call="c0",
                tool="close_issue",
                arguments={"number": 42},
                at_s=0.0,
                expected_outcome="close the issue 42",
                observed_outcome=Ok(value={"message": "Bad credentials"}, status=401),
                verification=Verification(status=VerificationStatus.NOT_DONE),
                uncertainty_signal=Uncertainty.NONE,
                effect=Effect.WRITE,
            )
        )
    now = SystemClock().now
    settings = load(rules, {"HOOK": "s3cr3t-path"})
    with Watch(watched(str(ledger)), state_path(str(ledger), None), settings, now=now) as one:
        return run_once([one], now, threading.Event().wait)


def test_webhook(hook: tuple[type[Hook], int], tmp_path: Path) -> None:
    """The webhook gets the text for people and the hand-over for programs, once; its secret path is in neither."""
    mine, port = hook
    assert watch(tmp_path, port).undelivered == ()
    ((path, body),) = mine.got
    assert path == "/s3cr3t-path"
    assert "CONTRADICTED: step 0 of ticket-42 (close_issue): it says ok over HTTP 401" in body["text"]
    assert body["handoff"]["unknown"][0]["arguments"] == {"number": 42}
    assert "s3cr3t-path" not in str(body)
    assert not (tmp_path / "kept.jsonl").exists()


def test_what_it_does_not_take(hook: tuple[type[Hook], int], tmp_path: Path) -> None:
    """An alert that the webhook refuses is kept in a file, and the summary says so."""
    mine, port = hook
    mine.status = 404
    summary = watch(tmp_path, port)
    assert summary.undelivered == ("webhook at 127.0.0.1: HTTP 404 Not Found",)
    assert "it says ok over HTTP 401" in (tmp_path / "kept.jsonl").read_text()
