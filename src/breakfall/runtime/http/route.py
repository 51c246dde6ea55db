"""Routes: what is known of the endpoints of an API, and how to look up what a write to them did."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import httpx
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.runtime.http.exchange import EXCHANGE, Source
from breakfall.runtime.http.message import Answer, answer_with, response_with
from breakfall.vocab import Applied, Effect, Idempotency, IdempotencyKind, Reader, Settlement, Tool
from breakfall.vocab.tool import same_arguments

_READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
_NATURAL = frozenset({"PUT", "DELETE"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Sent(Struct, frozen=True, kw_only=True):
    """A write as a look-up sees it."""

    method: str
    url: str
    body: Any = None
    """The JSON value, text, or ``{"base64": …}``; ``{"stream": …}`` for a body that was streamed."""
    idempotency_key: str | None = None


Read: TypeAlias = Callable[[Sent], Any]
"""A write -> the request that reads what it did, or the value itself (for the async transport also awaited)."""
JudgeRead: TypeAlias = Callable[[Any, Sent, float], Settlement]
"""(the `httpx.Response` to the request that `read` gave, else its value; the write; when it was first sent, in seconds
since 1970) -> what became of the write. The value of a `YES` is what the caller gets: a response, or a JSON value."""


class LookUp(Struct, frozen=True, kw_only=True):
    """How to look up what a write did, past every cache; `in_transit_s` as in `breakfall.runtime.declare.look_up`."""

    read: Read
    judge: JudgeRead
    in_transit_s: float = 0.0


class Route(Struct, frozen=True):
    """One endpoint: its method and its URL, in which ``{name}`` stands for one segment of the path.

    What is not said follows the method: GET, HEAD and OPTIONS read; PUT and DELETE may be repeated; a POST or PATCH
    may be repeated only with an Idempotency-Key, given by the caller or, with `add_key`, made from the operation.
    """

    method: str
    url: str
    effect: Effect | str | None = None
    natural: bool | None = None
    """Whether a repeat of the same write changes nothing."""
    add_key: bool = False
    window_s: float | None = None
    """How long the server knows an Idempotency-Key."""
    look_up: LookUp | None = None
    cost_usd: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a URL that names no host, and say so if nobody could know what became of a write."""
        url = httpx.URL(self.url)
        if url.scheme not in _DEFAULT_PORTS or not url.host:
            raise UsageError(f"route {self.url!r} must be a whole URL, such as https://api.example.com/orders/{{id}}")
        tool = tool_of(self.method, url, self, keyed=self.add_key)
        if tool.writes and self.look_up is None and tool.idempotency.kind is IdempotencyKind.NONE:
            warnings.warn(
                f"{tool.name} writes, and has neither a look-up nor a key: when its answer is lost nobody can know "
                "whether it happened, and a person must look. Give its Route `look_up=` or `add_key=True`",
                stacklevel=2,
            )


class Routes:
    """Finds the route of a request; the first that fits counts."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [(route, *_place(route.method, httpx.URL(route.url))) for route in routes]

    def of(self, request: httpx.Request) -> Route | None:
        """Return the route, or None where nothing is known of the endpoint."""
        if not self._routes:
            return None
        method, server, theirs = _place(request.method, request.url)
        for route, its_method, its_server, ours in self._routes:
            if method == its_method and server == its_server and _fits(ours, theirs):
                return route
        return None


def _place(method: str, url: httpx.URL) -> tuple[str, str, list[str]]:
    return method.upper(), origin(url), url.path.split("/")


def _fits(ours: list[str], theirs: list[str]) -> bool:
    if len(ours) != len(theirs):
        return False
    return all(one == other or one.startswith("{") for one, other in zip(ours, theirs, strict=True))


def tool_of(method: str, url: httpx.URL, route: Route | None, *, keyed: bool) -> Tool:
    """Describe an endpoint as a tool.

    Args:
        method: The request's method.
        url: Its URL, or the route's.
        route: What is known of the endpoint.
        keyed: Whether the request carries, or is given, an Idempotency-Key.
    """
    known = route.effect if route is not None else None
    if known is None:
        known = Effect.READ if method in _READS else Effect.WRITE
    effect = Effect(known)
    promise = Idempotency()
    if effect is not Effect.READ:
        natural = route.natural if route is not None else None
        if keyed:
            window_s = route.window_s if route is not None else None
            promise = Idempotency(kind=IdempotencyKind.KEY, parameter="idempotency_key", window_s=window_s)
        elif natural if natural is not None else method in _NATURAL:
            promise = Idempotency(kind=IdempotencyKind.NATURAL)
    look_up = route.look_up if route is not None else None
    return Tool(
        name=name_of(method, url, route, keyed=promise.kind is IdempotencyKind.KEY),
        description="",
        parameters={"type": "object"},
        effect=effect,
        fault_domain=origin(url),
        reader=_reader(reader_name(method, url, route), look_up) if route is not None and look_up is not None else None,
        idempotency=promise,
        cost_usd=route.cost_usd if route is not None else 0.0,
    )


def name_of(method: str, url: httpx.URL, route: Route | None, *, keyed: bool) -> str:
    """Name an endpoint; of a URL that no route knows, segments that look like ids are left out."""
    path = httpx.URL(route.url).path if route is not None else "/".join(map(_segment, url.path.split("/")))
    return f"{method} {origin(url)}{path}" + (" with a key" if keyed else "")


def origin(url: httpx.URL) -> str:
    """Name the server of a URL."""
    port = url.port if url.port is not None else _DEFAULT_PORTS.get(url.scheme)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return host if port == _DEFAULT_PORTS.get(url.scheme) else f"{host}:{port}"


def reader_name(method: str, url: httpx.URL, route: Route) -> str:
    """Name the tool that looks up what a write to an endpoint did."""
    return f"look-up of {name_of(method, url, route, keyed=False)}"


def _reader(name: str, look_up: LookUp) -> Reader:
    def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
        shown = response_with(value) if isinstance(value, Answer) else value
        said = look_up.judge(shown, Sent(**arguments), sent_s)
        if said.applied is not Applied.YES:
            return said
        exchange = EXCHANGE.get()
        if exchange is not None:
            exchange.source = Source.LOOK_UP
        return Settlement(applied=Applied.YES, value=answer_with(said.value), evidence=said.evidence)

    return Reader(tool=name, arguments=same_arguments, judge=judge, in_transit_s=look_up.in_transit_s)


def _segment(segment: str) -> str:
    return "{}" if any(c.isdigit() for c in segment) or len(segment) > _LONGEST_WORD else segment


_LONGEST_WORD = 32
"""A longer segment of a path is an id."""
