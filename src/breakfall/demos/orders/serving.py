"""What the demo's two servers share: on loopback only, threads, and an end together with whoever started them."""

from __future__ import annotations

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any, ClassVar

LOOPBACK = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """A server on a free port of the loopback; it closes connections at once, so that a reset is one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((LOOPBACK, 0), handler)

    def shutdown_request(self, request: socket | tuple[bytes, socket]) -> None:
        """Close a connection without saying goodbye first."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let clients go away in silence; anything else is a fault of the demo and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 and keeps connections open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True

    def body(self) -> bytes:
        """Read the request's body."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a JSON answer."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Write no log."""


def serve(server: Server) -> None:
    """Tell the port on standard output, and serve until standard input closes."""
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)
