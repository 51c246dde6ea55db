"""The faulty network: a proxy on the loopback that loses, delays and refuses by a seed.

python -m breakfall.demos.orders.proxy PORT SEED
"""

from __future__ import annotations

import http.client
import struct
import sys
import threading
import time
from collections import Counter
from socket import SO_LINGER, SOL_SOCKET
from urllib.parse import parse_qs, urlsplit

import msgspec

from breakfall.demos.orders.faults import DELAY_S, IN_TRANSIT_S, RETRY_AFTER_S, Fault, fault_of
from breakfall.demos.orders.serving import LOOPBACK, Handler, Server, serve

_FORWARDED = ("Content-Type", "Idempotency-Key")
_FORGOTTEN_S = 0.8 * IN_TRANSIT_S
_UNAVAILABLE = b'{"message": "service unavailable"}'
_INTERNAL = b'{"message": "internal server error"}'
_TOO_MANY = b'{"message": "too many requests"}'


class Proxy(Handler):
    """Forwards requests, or does something worse."""

    port: int
    seed: int
    count: Counter[tuple[str, str]]
    lock: threading.Lock
    upstream: http.client.HTTPConnection | None = None

    def do_GET(self) -> None:
        """Handle any request."""
        received_s = time.monotonic()
        body = self.body()
        fault = self._fault(body)
        if fault is Fault.RESET_BEFORE:
            self._cut(reset=True)
        elif fault is Fault.ERROR_BEFORE:
            self.answer(503, _UNAVAILABLE)
        elif fault is Fault.LIMITED:
            self.answer(429, _TOO_MANY, {"Retry-After": str(RETRY_AFTER_S)})
        else:
            if fault is Fault.LATE:
                time.sleep(DELAY_S)
            if time.monotonic() - received_s > _FORGOTTEN_S:
                self._cut(reset=True)
                return
            status, answer = self._forward(body)
            if fault is Fault.SLOW:
                time.sleep(DELAY_S)
            if fault in (Fault.LOST, Fault.RESET_AFTER):
                self._cut(reset=fault is Fault.RESET_AFTER)
            elif fault is Fault.ERROR_AFTER:
                self.answer(500, _INTERNAL)
            else:
                self.answer(status, answer)

    do_POST = do_PUT = do_GET

    def finish(self) -> None:
        """Close the connection to the service together with the client's."""
        if self.upstream is not None:
            self.upstream.close()
        super().finish()

    def _fault(self, body: bytes) -> Fault:
        url = urlsplit(self.path)
        reference = msgspec.json.decode(body)["reference"] if body else parse_qs(url.query)["reference"][0]
        kind = "GET" if self.command == "GET" else "write"
        with self.lock:
            nth = self.count[reference, kind]
            self.count[reference, kind] += 1
        return fault_of(self.seed, reference, self.command, nth)

    def _forward(self, body: bytes) -> tuple[int, bytes]:
        if self.upstream is None:
            self.upstream = http.client.HTTPConnection(LOOPBACK, self.port)
        headers = {name: self.headers[name] for name in _FORWARDED if name in self.headers}
        self.upstream.request(self.command, self.path, body or None, headers)
        answer = self.upstream.getresponse()
        return answer.status, answer.read()

    def _cut(self, *, reset: bool) -> None:
        """Close the connection without an answer; a reset tells the client so at once."""
        if reset:
            self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


def main() -> None:
    """Stand before the service whose port the command line names."""
    Proxy.port, Proxy.seed = int(sys.argv[1]), int(sys.argv[2])
    Proxy.count, Proxy.lock = Counter(), threading.Lock()
    serve(Server(Proxy))


if __name__ == "__main__":
    main()
