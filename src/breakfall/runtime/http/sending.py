"""One attempt of a request: send it, read the answer as far as it is kept, and tell an error from an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from breakfall.errors import UsageError
from breakfall.recovery import bodies
from breakfall.runtime.http.exchange import EXCHANGE, Exchange
from breakfall.runtime.http.message import KEY_HEADER, Answer, answer_of, is_streamed
from breakfall.runtime.http.route import Route, Sent

KEPT_BYTES = 8 * 1024 * 1024
"""A longer answer is handed on as it comes, so that a break in its middle is the caller's to see."""
_GONE = (404, 410)
_TIMEOUT = httpx.Timeout(5.0).as_dict()


@contextmanager
def attempt(idempotency_key: str | None) -> Iterator[Exchange]:
    """Count one attempt of the request that is being made here, and note what it raises."""
    exchange = EXCHANGE.get()
    if exchange is None:
        raise UsageError("an HTTP tool is called through its transport: send a request with the httpx client")
    if idempotency_key is not None:
        exchange.request.headers[KEY_HEADER] = idempotency_key
    exchange.attempts += 1
    exchange.error = None
    try:
        yield exchange
    except httpx.HTTPStatusError:
        raise
    except Exception as error:
        exchange.error = error
        raise


def taken(exchange: Exchange, response: httpx.Response, raw: bytes | None) -> Answer:
    """Take in what the server answered.

    Raises:
        httpx.HTTPStatusError: The answer is an error, by its status or by its body.
    """
    exchange.response = response
    shown = _decoded(response, raw, exchange.request)
    repeated = exchange.request.method == "DELETE" and exchange.attempts > 1
    if not (repeated and response.status_code in _GONE):  # the first attempt did it
        _raise_for(shown)
    exchange.answer = answer_of(response, None if raw is None else shown.content)
    return exchange.answer


def asked(route: Route, sent: Sent) -> Any:
    """Return the request that looks a write up, or what the route's own function read."""
    if route.look_up is None:
        raise UsageError(f"{route.method} {route.url} has no look-up")
    request = route.look_up.read(sent)
    if isinstance(request, httpx.Request):
        exchange = EXCHANGE.get()
        given = exchange.request.extensions.get("timeout") if exchange is not None else None
        request.extensions.setdefault("timeout", given or _TIMEOUT)
        request.headers.setdefault("Cache-Control", "no-cache")
    return request


def told(request: httpx.Request, response: httpx.Response, raw: bytes | None) -> Answer:
    """Return what a look-up was answered.

    Raises:
        httpx.HTTPStatusError: The answer is an error; that there is no such thing is none.
    """
    shown = _decoded(response, raw, request)
    if response.status_code not in _GONE:
        _raise_for(shown)
    return answer_of(response, shown.content)


def read(response: httpx.Response) -> tuple[httpx.Response, bytes | None]:
    """Read an answer's body; None for one that is handed on as it comes."""
    if is_streamed(response):
        return response, None
    parts: list[bytes] = []
    size = 0
    stream = response.stream
    if not isinstance(stream, httpx.SyncByteStream):
        raise TypeError("an async transport answers a sync client")
    coming = iter(stream)
    try:
        for part in coming:
            parts.append(part)
            size += len(part)
            if size > KEPT_BYTES:
                return _with(response, _Rest(parts, coming, stream)), None
    except BaseException:
        stream.close()
        raise
    stream.close()
    raw = b"".join(parts)
    return _with(response, httpx.ByteStream(raw)), raw


async def aread(response: httpx.Response) -> tuple[httpx.Response, bytes | None]:
    """Do what `read` does with an async answer."""
    if is_streamed(response):
        return response, None
    parts: list[bytes] = []
    size = 0
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        raise TypeError("a sync transport answers an async client")
    coming = aiter(stream)
    try:
        async for part in coming:
            parts.append(part)
            size += len(part)
            if size > KEPT_BYTES:
                return _with(response, _AsyncRest(parts, coming, stream)), None
    except BaseException:
        await stream.aclose()
        raise
    await stream.aclose()
    raw = b"".join(parts)
    return _with(response, httpx.ByteStream(raw)), raw


class _Rest(httpx.SyncByteStream):
    """What was read of a long answer, and then the rest of it."""

    def __init__(self, parts: list[bytes], coming: Iterator[bytes], whole: httpx.SyncByteStream) -> None:
        self._parts = parts
        self._coming = coming
        self._whole = whole

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        yield from self._coming

    def close(self) -> None:
        self._whole.close()


class _AsyncRest(httpx.AsyncByteStream):
    """Does the same for an async answer."""

    def __init__(self, parts: list[bytes], coming: AsyncIterator[bytes], whole: httpx.AsyncByteStream) -> None:
        self._parts = parts
        self._coming = coming
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        async for part in self._coming:
            yield part

    async def aclose(self) -> None:
        await self._whole.aclose()


def _with(response: httpx.Response, stream: Any) -> httpx.Response:
    """Give a response another stream, of the same bytes."""
    return httpx.Response(response.status_code, headers=response.headers, stream=stream, extensions=response.extensions)


def _decoded(response: httpx.Response, raw: bytes | None, request: httpx.Request) -> httpx.Response:
    """Return a copy with the body read and decoded; an empty body where it is not kept."""
    headers = response.headers if raw is not None else None
    return httpx.Response(response.status_code, headers=headers, content=raw or b"", request=request)


def _raise_for(response: httpx.Response) -> None:
    status = response.status_code
    message = f"HTTP {status} {response.reason_phrase}".rstrip()
    if status < 400:
        if "json" not in response.headers.get("content-type", ""):
            return
        shown = bodies.error_in(bodies.parsed(response.text))
        if shown is None:
            return
        message = f"{message}, but {shown}"
    raise httpx.HTTPStatusError(message, request=response.request, response=response)
