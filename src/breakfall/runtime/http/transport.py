"""The transports: every request recovers by its toolbox's policy, and none that writes goes out twice unasked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx

from breakfall.runtime.http.desk import Desk
from breakfall.runtime.http.exchange import EXCHANGE
from breakfall.runtime.http.message import Answer
from breakfall.runtime.http.route import Route, Sent
from breakfall.runtime.http.sending import aread, asked, attempt, read, taken, told
from breakfall.runtime.wrap import Toolbox


class RecoveringTransport(httpx.BaseTransport):
    """Recovers requests: `httpx.Client(transport=RecoveringTransport(toolbox, routes=[…]))`.

    Each request belongs to the task that it is made in (`toolbox.task`): there an equal write is answered with the
    first one's result, also after a restart if the toolbox has a journal. Outside a task each request is a task of its
    own, but one that equals a write of unknown outcome continues that. What recovery gives up comes back as it would
    without it: the last response, or the last exception. `response.extensions["breakfall"]` is a `Recovery`; such an
    exception has the packet for a person as `handoff`.

    Args:
        toolbox: Policy, budgets, journal, ledger and memory, shared with whatever else it guards.
        routes: What is known of the API's endpoints.
        transport: What really sends.
        again: Whether, inside a task, equal writes are meant and so each is sent; a single request says so with
            ``extensions={"breakfall": {"again": True}}``.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        routes: Sequence[Route] = (),
        transport: httpx.BaseTransport | None = None,
        again: bool = False,
    ) -> None:
        self._inner = transport if transport is not None else httpx.HTTPTransport()
        self._toolbox = toolbox
        self._desk = Desk(toolbox, routes, send=_send, reading=self._reading, again=again)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with whatever recovery the toolbox's policy allows."""
        with self._desk.exchange(request, self._inner) as exchange:
            more = self._desk.more(exchange)
            exchange.value = self._toolbox.value_of(exchange.tool, exchange.arguments, **more)
        return exchange.result()

    def close(self) -> None:
        """Close what really sends; the toolbox stays open."""
        self._inner.close()

    def _reading(self, route: Route) -> Callable[..., Any]:
        def look_up(method: str, url: str, body: Any = None, idempotency_key: str | None = None) -> Any:
            request = asked(route, Sent(method=method, url=url, body=body, idempotency_key=idempotency_key))
            if not isinstance(request, httpx.Request):
                return request
            exchange = EXCHANGE.get()
            inner = exchange.inner if exchange is not None else self._inner
            return told(request, *read(inner.handle_request(request)))

        return look_up


class AsyncRecoveringTransport(httpx.AsyncBaseTransport):
    """Does for `httpx.AsyncClient` what `RecoveringTransport` does for `httpx.Client`; the arguments are the same."""

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        routes: Sequence[Route] = (),
        transport: httpx.AsyncBaseTransport | None = None,
        again: bool = False,
    ) -> None:
        self._inner = transport if transport is not None else httpx.AsyncHTTPTransport()
        self._toolbox = toolbox
        self._desk = Desk(toolbox, routes, send=_asend, reading=self._reading, again=again)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with whatever recovery the toolbox's policy allows."""
        with self._desk.exchange(request, self._inner) as exchange:
            more = self._desk.more(exchange)
            exchange.value = await self._toolbox.avalue_of(exchange.tool, exchange.arguments, **more)
        return exchange.result()

    async def aclose(self) -> None:
        """Close what really sends; the toolbox stays open."""
        await self._inner.aclose()

    def _reading(self, route: Route) -> Callable[..., Any]:
        async def look_up(method: str, url: str, body: Any = None, idempotency_key: str | None = None) -> Any:
            request = asked(route, Sent(method=method, url=url, body=body, idempotency_key=idempotency_key))
            if hasattr(request, "__await__"):
                request = await request
            if not isinstance(request, httpx.Request):
                return request
            exchange = EXCHANGE.get()
            inner = exchange.inner if exchange is not None else self._inner
            return told(request, *await aread(await inner.handle_async_request(request)))

        return look_up


def _send(method: str, url: str, body: Any = None, idempotency_key: str | None = None) -> Answer:
    with attempt(idempotency_key) as exchange:
        return taken(exchange, *read(exchange.inner.handle_request(exchange.request)))


async def _asend(method: str, url: str, body: Any = None, idempotency_key: str | None = None) -> Answer:
    with attempt(idempotency_key) as exchange:
        return taken(exchange, *await aread(await exchange.inner.handle_async_request(exchange.request)))
