"""Where requests become calls of tools: which endpoint, which task, which operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import httpx
import msgspec

from breakfall.recovery.breaker import PERSISTENT
from breakfall.runtime.declare import Declared
from breakfall.runtime.http.exchange import EXCHANGE, Exchange
from breakfall.runtime.http.message import KEY_HEADER, arguments_of, content_in
from breakfall.runtime.http.route import Route, Routes, name_of, origin, reader_name, tool_of
from breakfall.runtime.run import Run
from breakfall.runtime.stopped import CallStopped
from breakfall.runtime.wrap import Toolbox
from breakfall.vocab import Effect, FaultKind, IdempotencyKind, Tool

_CREDENTIALS = ("authorization", "cookie", "x-api-key", "api-key")
_MOST_NAMES = 1_000
"""Endpoints that no route knows and that are told apart; what comes after counts as one endpoint of its server."""


class Desk:
    """What the two transports share.

    Args:
        toolbox: The toolbox.
        routes: What is known of the API's endpoints.
        send: Makes one attempt of the request that is being made.
        reading: A route -> what looks its writes up.
        again: Whether equal writes of a task are meant.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        routes: Sequence[Route],
        *,
        send: Callable[..., Any],
        reading: Callable[[Route], Callable[..., Any]],
        again: bool,
    ) -> None:
        self._toolbox = toolbox
        self._routes = Routes(routes)
        self._send = send
        self._again = again
        self._names: dict[tuple[str, str, bool], str] = {}
        self._unsettled: dict[bytes, Run] = {}
        self._refused: dict[str, tuple[FaultKind | None, bytes, bytes]] = {}
        for route in routes:
            self._register(route, reading)

    @contextmanager
    def exchange(self, request: httpx.Request, inner: Any) -> Iterator[Exchange]:
        """Begin a request in its task, and take in how it ended."""
        exchange = self._begun(request, inner)
        token = EXCHANGE.set(exchange)
        try:
            with self._toolbox.within(exchange.run):
                yield exchange
        except CallStopped as stopped:
            exchange.stopped = stopped
        except httpx.HTTPStatusError:
            if exchange.response is None or exchange.error is not None:
                raise
        finally:
            EXCHANGE.reset(token)
            self._ended(exchange)

    def more(self, exchange: Exchange) -> dict[str, Any]:
        """Say what the toolbox must know of the call besides its arguments."""
        request = exchange.request
        told = request.extensions.get("breakfall") or {}
        return {
            "expected": f"{request.method} {request.url.path} is answered",
            "again": told.get("again", self._again),
            "repeatable": content_in(request) is not None,
        }

    def _begun(self, request: httpx.Request, inner: Any) -> Exchange:
        route = self._routes.of(request)
        own_key = request.headers.get(KEY_HEADER)
        name = self._name(request, route, keyed=own_key is not None or (route is not None and route.add_key))
        tool = self._toolbox.tools[name]
        arguments = arguments_of(request)
        if tool.idempotency.kind is IdempotencyKind.KEY:
            arguments["idempotency_key"] = own_key
        run = self._toolbox.current
        if run is None:
            run = self._unsettled.get(_fingerprint(name, arguments)) if self._unsettled and tool.writes else None
            run = run or self._toolbox.begin(f"{request.method} {arguments['url']}")
        exchange = Exchange(request, name, arguments, run, inner)
        refused = self._refused.get(name)
        if refused is not None and _changed(refused, exchange):
            del self._refused[name]
            run.state.breaker(name).renewed()
        return exchange

    def _ended(self, exchange: Exchange) -> None:
        stopped, name = exchange.stopped, exchange.tool
        if stopped is not None and stopped.outcome.kind in PERSISTENT:
            self._refused[name] = (stopped.outcome.kind, *_marks(exchange))
        if exchange.unknown or self._unsettled:
            mark = _fingerprint(name, exchange.arguments)
            if exchange.unknown:
                self._unsettled[mark] = exchange.run
            elif exchange.answered:
                self._unsettled.pop(mark, None)

    def _name(self, request: httpx.Request, route: Route | None, *, keyed: bool) -> str:
        """Return the endpoint's tool, declared when it is met first."""
        url = httpx.URL(route.url) if route is not None else request.url
        at = (request.method, route.url if route is not None else f"{origin(url)}{url.path}", keyed)
        name = self._names.get(at)
        if name is None:
            if len(self._names) >= _MOST_NAMES and route is None:
                url = url.copy_with(raw_path=b"/")
            name = name_of(request.method, url, route, keyed=keyed)
            if name not in self._toolbox.tools:
                tool = tool_of(request.method, url, route, keyed=keyed)
                name = tool.name
                if name not in self._toolbox.tools:
                    self._declare(tool)
            if len(self._names) < _MOST_NAMES or route is not None:
                self._names[at] = name
        return name

    def _register(self, route: Route, reading: Callable[[Route], Callable[..., Any]]) -> None:
        url = httpx.URL(route.url)
        if route.look_up is not None:
            name = reader_name(route.method, url, route)
            spec = Tool(
                name=name,
                description="",
                parameters={"type": "object"},
                effect=Effect.READ,
                fault_domain=origin(url),
            )
            if name not in self._toolbox.tools:
                self._toolbox.add(Declared(reading(route), spec, timeout_s=None))
        for keyed in (False, True):
            tool = tool_of(route.method, url, route, keyed=keyed)
            if tool.name not in self._toolbox.tools:
                self._declare(tool)

    def _declare(self, tool: Tool) -> None:
        self._toolbox.add(Declared(self._send, tool, timeout_s=None))


def _fingerprint(name: str, arguments: dict[str, Any]) -> bytes:
    """Name an operation: by its key, or by what it asks for."""
    key = arguments.get("idempotency_key")
    asked = {"key": key} if key is not None else arguments
    return blake2b(name.encode() + msgspec.json.encode(asked, order="sorted"), digest_size=16).digest()


def _marks(exchange: Exchange) -> tuple[bytes, bytes]:
    """Return digests of a request's credentials and of what it asks for."""
    headers = exchange.request.headers
    shown = "\n".join(headers.get(name, "") for name in _CREDENTIALS).encode()
    return blake2b(shown, digest_size=16).digest(), _fingerprint(exchange.tool, exchange.arguments)


def _changed(refused: tuple[FaultKind | None, bytes, bytes], exchange: Exchange) -> bool:
    """Whether what was refused for good is different now: the credentials, or the request."""
    kind, credentials, asked = refused
    now = _marks(exchange)
    return now[0] != credentials if kind is FaultKind.AUTH_ERROR else now != (credentials, asked)
