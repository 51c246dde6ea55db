"""The client's side of the order service: five plain functions, as anybody would write them."""

from __future__ import annotations

import http.client
import threading
from typing import Any
from urllib.parse import urlencode

import msgspec

from breakfall.demos.orders.serving import LOOPBACK

TIMEOUT_S = 0.25
"""How long a client waits for an answer; the network's delays are longer."""


class Refused(Exception):
    """The service answered with an error status."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        super().__init__(f"HTTP {status}: {body}")
        self.status = status
        self.headers = headers
        self.body = body


class Shop:
    """The service at a port of the loopback; each thread keeps a connection of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._local = threading.local()

    def orders_with(self, reference: str) -> list[dict[str, Any]]:
        """List the orders of a reference."""
        found: list[dict[str, Any]] = self._ask("GET", f"/orders?{urlencode({'reference': reference})}")["orders"]
        return found

    def place(self, reference: str, item: str, quantity: int) -> int:
        """Place an order; each call is one more."""
        return self._order("POST", "/orders", reference, item, quantity)

    def place_with_key(self, reference: str, item: str, quantity: int, idempotency_key: str) -> int:
        """Place an order; a repeat with the same key is answered with the first one's result."""
        headers = {"Idempotency-Key": idempotency_key}
        return self._order("POST", "/v2/orders", reference, item, quantity, headers)

    def put(self, reference: str, item: str, quantity: int) -> int:
        """Make the order of a reference be as said."""
        return self._order("PUT", f"/orders/{reference}", reference, item, quantity)

    def place_with_partner(self, reference: str, item: str, quantity: int) -> int:
        """Place an order with the partner; each call is one more, and none can be looked up."""
        return self._order("POST", "/partner/orders", reference, item, quantity)

    def _order(
        self, method: str, path: str, reference: str, item: str, quantity: int, headers: dict[str, str] | None = None
    ) -> int:
        order = {"reference": reference, "item": item, "quantity": quantity}
        return int(self._ask(method, path, order, headers)["id"])

    def _ask(self, method: str, path: str, value: Any = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=TIMEOUT_S)
        body = None if value is None else msgspec.json.encode(value)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            text = response.read().decode()
        except BaseException:
            connection.close()
            raise
        if response.status >= 400:
            raise Refused(response.status, dict(response.getheaders()), text)
        answer: dict[str, Any] = msgspec.json.decode(text)
        return answer
