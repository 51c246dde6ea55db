"""A loopback HTTP server that behaves as badly as the request's path says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable

Behave = Callable[[socket.socket], None]


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", "")
    return "\r\n".join(lines).encode() + body


_JSON = "Content-Type: application/json"
_ANSWERS = {
    "cut": _answer("200 OK", b"x" * 100, _JSON)[:-60],
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + _JSON.encode() + b'\r\n\r\n5\r\n{"a":\r\n',
    "garbage": b"hello there\r\n\r\n",
    "gzip": _answer("200 OK", b"abcde", "Content-Encoding: gzip"),
    "broken-json": _answer("200 OK", b'{"id": "O1", "tot', _JSON),
    "page": _answer("200 OK", b"<html><form><input type='password'></form></html>", "Content-Type: text/html"),
    "401": _answer("401 Unauthorized", b'{"error": "token expired"}', _JSON, "WWW-Authenticate: Bearer"),
    "403": _answer("403 Forbidden", b'{"error": {"code": "approval_required", "message": "ask a lead"}}', _JSON),
    "404": _answer("404 Not Found", b'{"error": "order O1 is unknown"}', _JSON),
    "422": _answer("422 Unprocessable", b'{"error": {"message": "Argument a was renamed to b."}}', _JSON),
    "425": _answer("425 Too Early", b"{}", _JSON),
    "429": _answer("429 Too Many Requests", b'{"error": {"code": "rate_limited"}}', _JSON, "Retry-After: 7"),
    "500": _answer("500 Internal Server Error", b"<html>500</html>", "Content-Type: text/html"),
    "503": _answer(
        "503 Service Unavailable",
        b"{}",
        _JSON,
        "Date: Mon, 30 Nov 2026 12:00:00 GMT",
        "Retry-After: Mon, 30 Nov 2026 12:02:00 GMT",
    ),
}


class RudeServer:
    """Reads one whole request per connection and then does what its path names; unknown paths stall."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._stop = threading.Event()
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def url(self, path: str) -> str:
        """Return the address at which the server behaves so."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def close(self) -> None:
        """Stop serving, and drop whoever is still waiting."""
        self._stop.set()
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._behave, args=(connection,), daemon=True).start()

    def _behave(self, connection: socket.socket) -> None:
        try:
            path = _path(connection)
            if path == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            elif path == "hang-up":
                connection.close()
            elif path in _ANSWERS:
                connection.sendall(_ANSWERS[path])
                connection.close()
        except OSError:
            connection.close()


def _path(connection: socket.socket) -> str:
    """Read a request to its end, so that closing the connection afterwards loses nothing that was sent."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("the client left")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return head.split(b" ")[1].decode().strip("/").split("/")[0]
