"""Deliver a hand-over to people: into a file, to a webhook, or to a function; what fails goes to a file."""

from __future__ import annotations

import fcntl
import inspect
import os
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import anyio.to_thread
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.recovery.handoff import render
from breakfall.recovery.wording import Language, to_json
from breakfall.vocab import Applied, Handoff


class File(Struct, frozen=True):
    """Append the packet to this file, one JSON line each; when it is delivered it survives a power cut."""

    path: Path

    def __str__(self) -> str:
        """Name it in a message."""
        return f"file {self.path}"


class Webhook(Struct, frozen=True, kw_only=True):
    """POST the packet as JSON: `text` for people, as Slack and its kin show it, and `handoff` for programs.

    The request carries an Idempotency-Key that names the packet. It is sent once: a lost answer may mean that it
    arrived. The URL and the headers are secrets, so neither is shown.
    """

    url: str
    timeout_s: float = 10.0
    """For the whole exchange."""
    headers: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Refuse what is no web address."""
        parts = urlsplit(self.url)
        plain = self.url.isascii() and self.url.isprintable() and " " not in self.url
        try:
            plain = plain and parts.port != 0
        except ValueError:
            plain = False
        if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
            raise UsageError(
                f"a webhook's URL has scheme {parts.scheme!r} and host {parts.hostname!r}, must be like "
                "https://hooks.example.com/…, in ASCII without blanks"
            )
        if not self.timeout_s > 0:
            raise UsageError(f"a webhook's timeout_s is {self.timeout_s:g}, must be above 0")

    def __str__(self) -> str:
        """Name it in a message, without its secrets."""
        return f"webhook at {urlsplit(self.url).hostname}"

    __repr__ = __str__


class Callback(Struct, frozen=True):
    """Call this function with the packet; it may be async where the delivery is awaited."""

    function: Callable[[Handoff], Any]

    def __str__(self) -> str:
        """Name it in a message."""
        return f"function {getattr(self.function, '__qualname__', repr(self.function))}"


Target: TypeAlias = File | Webhook | Callback


class Undelivered(Struct, frozen=True, kw_only=True):
    """Why a target did not take the packet."""

    target: str
    message: str
    arrived: Applied = Applied.NO
    """Whether it may have got it all the same."""


class Delivery(Struct, frozen=True, kw_only=True):
    """Where a packet lies now, and what was tried in vain before."""

    where: str
    """What took it; "" if nothing did: then only the caller still has it."""
    failures: tuple[Undelivered, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether the packet lies anywhere."""
        return bool(self.where)


def deliver(handoff: Handoff, target: Target, *, fallback: Path, language: Language = "en") -> Delivery:
    """Deliver a hand-over; where the target does not take it, append it to the file `fallback`. Never raises.

    Args:
        handoff: The packet.
        target: Where to.
        fallback: The file that keeps what the target did not take.
        language: The language of the text for people.
    """
    return _kept(_send(handoff, target, language), handoff, target, fallback, language)


async def adeliver(handoff: Handoff, target: Target, *, fallback: Path, language: Language = "en") -> Delivery:
    """Deliver as `deliver` does without holding up the event loop; a `Callback` runs in it and is awaited."""
    if not isinstance(target, Callback):
        return await anyio.to_thread.run_sync(partial(deliver, handoff, target, fallback=fallback, language=language))
    failed = None
    try:
        said = target.function(handoff)
        if inspect.isawaitable(said):
            await said
    except Exception as error:
        failed = _raised(target, error)
    keep = partial(_kept, failed, handoff, target, fallback, language)
    return await anyio.to_thread.run_sync(keep)


def body(handoff: Handoff, language: Language) -> bytes:
    """Encode what is sent: the text for people and the whole packet."""
    return to_json({"text": _slack(render(handoff, language)), "handoff": handoff})


def _slack(text: str) -> str:
    """Take the meaning from the three characters that Slack reads as mentions and links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _kept(failed: Undelivered | None, handoff: Handoff, target: Target, fallback: Path, language: Language) -> Delivery:
    if failed is None:
        return Delivery(where=str(target))
    keep = File(fallback)
    lost = _send(handoff, keep, language)
    return (
        Delivery(where=str(keep), failures=(failed,)) if lost is None else Delivery(where="", failures=(failed, lost))
    )


def _send(handoff: Handoff, target: Target, language: Language) -> Undelivered | None:
    if isinstance(target, Webhook):
        return _post(handoff, target, language)
    try:
        if isinstance(target, File):
            _append(target.path, to_json({"text": render(handoff, language), "handoff": handoff}))
            return None
        said = target.function(handoff)
    except Exception as error:
        return _raised(target, error)
    if inspect.isawaitable(said):
        if inspect.iscoroutine(said):
            said.close()
        return Undelivered(target=str(target), message="it is async: await adeliver(…) instead")
    return None


def _raised(target: Target, error: Exception) -> Undelivered:
    """A function that raised may have told somebody before; a file that could not be written told nobody."""
    arrived = Applied.UNKNOWN if isinstance(target, Callback) else Applied.NO
    return Undelivered(target=str(target), message=f"{type(error).__name__}: {error}", arrived=arrived)


def _append(path: Path, line: bytes) -> None:
    """Append a line and wait until it is on the disk; a line that a crash cut short is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another writer's half-written line is not one that a crash cut short
        end = file.seek(0, os.SEEK_END)
        data = line + b"\n"
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                data = b"\n" + data
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())
    if not end:
        _fsync_folder(path.parent)


def _fsync_folder(folder: Path) -> None:
    """Make a new file's name as durable as its content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST becomes a GET without the packet, and its 200 would say that it was delivered."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing."""


_NEVER_SENT = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)


def _post(handoff: Handoff, hook: Webhook, language: Language) -> Undelivered | None:
    """Send once. The exchange has a thread of its own, because a socket's time-out starts anew with every byte."""
    data = body(handoff, language)
    key = blake2b(data, digest_size=16).hexdigest()
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "breakfall", **hook.headers}
    request = Request(hook.url, data=data, headers=headers, method="POST")  # noqa: S310  the scheme is checked
    ended: list[Undelivered | None] = []
    thread = threading.Thread(target=lambda: ended.append(_exchange(request, hook)), daemon=True)
    thread.start()
    thread.join(hook.timeout_s)
    if ended:
        return ended[0]
    message = f"no answer within {hook.timeout_s:g} s"
    return Undelivered(target=str(hook), message=message, arrived=Applied.UNKNOWN)


def _exchange(request: Request, hook: Webhook) -> Undelivered | None:
    """Make the exchange. What `ValueError` and `HTTPException` say may quote a URL or a header, so it is not shown."""
    try:
        with build_opener(_NoRedirect).open(request, timeout=hook.timeout_s):
            return None
    except HTTPError as error:
        with error:
            arrived = Applied.UNKNOWN if error.code >= 500 else Applied.NO
            return Undelivered(target=str(hook), message=f"HTTP {error.code} {error.reason}", arrived=arrived)
    except OSError as error:
        reason = getattr(error, "reason", error)
        arrived = Applied.NO if isinstance(reason, _NEVER_SENT) else Applied.UNKNOWN
        return Undelivered(target=str(hook), message=f"{type(reason).__name__}: {reason}", arrived=arrived)
    except (HTTPException, ValueError) as error:
        arrived = Applied.NO if isinstance(error, ValueError) else Applied.UNKNOWN
        return Undelivered(target=str(hook), message=type(error).__name__, arrived=arrived)
