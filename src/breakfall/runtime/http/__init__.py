"""Recovery for REST APIs as httpx transports; needs ``breakfall[http]``."""

from __future__ import annotations

from breakfall.runtime.http.exchange import NotSent, Recovery, Source
from breakfall.runtime.http.message import Answer
from breakfall.runtime.http.route import LookUp, Route, Sent
from breakfall.runtime.http.transport import AsyncRecoveringTransport, RecoveringTransport

__all__ = [
    "Answer",
    "AsyncRecoveringTransport",
    "LookUp",
    "NotSent",
    "RecoveringTransport",
    "Recovery",
    "Route",
    "Sent",
    "Source",
]
