"""A hand-over over real loopback connections: what arrives, what fails, and that nothing is lost."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from breakfall.recovery.handoff import render
from breakfall.runtime.deliver import Delivery, Webhook, adeliver, deliver
from breakfall.vocab import Applied, Fact, Handoff

HANDOFF = Handoff(
    goal="머그 두 개 주문",
    reason="the look-ups do not tell whether put took effect",
    unknown=(Fact(call="c1", tool="put", arguments={"sku": "MUG", "n": 2}),),
)


class Server(ThreadingHTTPServer):
    """Answers each POST as its path says, and keeps what it got."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, str, dict[str, str], bytes]] = []
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(
            (self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, data)
        )
        getattr(self, self.path.strip("/").split("/")[0])()

    def do_GET(self) -> None:
        self.server.got.append((self.command, self.path, {}, b""))
        self.answer(200)

    def answer(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def ok(self) -> None:
        self.answer(200)

    def broken(self) -> None:
        self.answer(500)

    def gone(self) -> None:
        self.answer(404)

    def moved(self) -> None:
        self.answer(302, Location="/ok")

    def silent(self) -> None:
        self.server.stopping.wait(30)

    def dripping(self) -> None:
        """Send a byte of the head now and then, so that no single wait is long; in the end say 200."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(60):
            self.wfile.write(b"x")
            self.server.stopping.wait(0.05)
        self.wfile.write(b"\r\n\r\n")

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def nonsense(self) -> None:
        self.wfile.write(b"not http at all\r\n\r\n")

    def log_message(self, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.stopping.set()
        running.shutdown()
        thread.join()


def send(server: Server, path: str, fallback: Path, timeout_s: float = 10.0) -> Delivery:
    return deliver(HANDOFF, Webhook(url=server.url + path, timeout_s=timeout_s), fallback=fallback, language="ko")


def kept(fallback: Path) -> list[Handoff]:
    class Line(msgspec.Struct):
        handoff: Handoff

    return [msgspec.json.decode(line, type=Line).handoff for line in fallback.read_bytes().splitlines()]


def test_delivered(server: Server, tmp_path: Path) -> None:
    """One POST brings the text, the whole packet and a key that names it; equal packets have equal keys."""
    fallback = tmp_path / "f.jsonl"
    hook = Webhook(url=server.url + "/ok/T0/hush", headers={"X-Team": "shop"})
    deliveries = [deliver(HANDOFF, hook, fallback=fallback, language="ko") for _ in range(2)]
    deliveries.append(asyncio.run(adeliver(HANDOFF, hook, fallback=fallback, language="ko")))
    assert deliveries == [Delivery(where="webhook at 127.0.0.1")] * 3
    assert not fallback.exists()
    (method, path, headers, data), *others = server.got
    assert (method, path) == ("POST", "/ok/T0/hush")
    assert headers["content-type"] == "application/json"
    assert headers["x-team"] == "shop"
    assert {one[2]["idempotency-key"] for one in others} == {headers["idempotency-key"]}
    sent = msgspec.json.decode(data)
    assert sent["text"] == render(HANDOFF, "ko")
    assert msgspec.convert(sent["handoff"], Handoff) == HANDOFF


@pytest.mark.parametrize(
    ("path", "message", "arrived"),
    [
        ("/broken", "HTTP 500 Internal Server Error", Applied.UNKNOWN),
        ("/gone", "HTTP 404 Not Found", Applied.NO),
        ("/moved", "HTTP 302 Found", Applied.NO),
        ("/hang_up", "RemoteDisconnected: Remote end closed connection without response", Applied.UNKNOWN),
        ("/nonsense", "BadStatusLine", Applied.UNKNOWN),
    ],
)
def test_a_failure_is_a_value_and_loses_nothing(
    server: Server, tmp_path: Path, path: str, message: str, arrived: Applied
) -> None:
    """Each way to fail is told with whether the packet may have arrived, is sent once, and is kept in the file."""
    fallback = tmp_path / "f.jsonl"
    delivery = send(server, f"{path}/T0/hush", fallback)
    assert delivery.where == f"file {fallback}"
    [failed] = delivery.failures
    assert (failed.target, failed.message, failed.arrived) == ("webhook at 127.0.0.1", message, arrived)
    assert kept(fallback) == [HANDOFF]
    assert [got[0] for got in server.got] == ["POST"]


@pytest.mark.parametrize("path", ["/silent", "/dripping"])
def test_the_time_out_is_of_the_whole_exchange(server: Server, tmp_path: Path, path: str) -> None:
    """A server that says nothing, or a byte at a time, is left when the time is up; it may have the packet."""
    fallback = tmp_path / "f.jsonl"
    delivery = send(server, path, fallback, timeout_s=0.3)
    assert delivery.where == f"file {fallback}"
    [failed] = delivery.failures
    assert failed.arrived is Applied.UNKNOWN
    assert kept(fallback) == [HANDOFF]


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection certainly brought nothing."""
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/T0/hush"
        delivery = deliver(HANDOFF, Webhook(url=url), fallback=tmp_path / "f.jsonl")
    [failed] = delivery.failures
    assert failed.message.startswith("ConnectionRefusedError: ")
    assert failed.arrived is Applied.NO
    assert kept(tmp_path / "f.jsonl") == [HANDOFF]


def test_no_secret_in_what_failed(server: Server, tmp_path: Path) -> None:
    """Neither the address nor a header is in what a failure says, even where the header itself is at fault."""
    hooks = [
        Webhook(url=server.url + "/gone/T0/hush"),
        Webhook(url=server.url + "/ok/T0/hush", headers={"Authorization": "hush\nhush"}),
        Webhook(url=server.url + "/ok/T0/hush", headers={"Authorization": "비밀 hush"}),
    ]
    for hook in hooks:
        delivery = deliver(HANDOFF, hook, fallback=tmp_path / "f.jsonl")
        assert delivery.failures
        assert "hush" not in repr(delivery)
