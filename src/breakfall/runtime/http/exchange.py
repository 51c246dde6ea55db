"""One request of a caller: what came of its attempts, and what the caller gets in the end."""

from __future__ import annotations

from contextvars import ContextVar
from enum import StrEnum
from typing import Any

import httpx
from msgspec import Struct

from breakfall.runtime.http.message import Answer, response_with
from breakfall.runtime.run import Run
from breakfall.runtime.stopped import CallStopped
from breakfall.vocab import Handoff


class Source(StrEnum):
    """Where the response comes from."""

    SERVER = "server"
    """The server answered this request."""
    LOOK_UP = "look-up"
    """The answer was lost; a look-up found what the request did."""
    RECORDED = "recorded"
    """An equal write was made before; this is what it came to, and nothing was sent."""


class Recovery(Struct, frozen=True, kw_only=True):
    """What recovery did for a response; `response.extensions["breakfall"]`."""

    source: Source
    attempts: int
    stopped: CallStopped | None = None
    """Why it was given up, with the packet for a person; None if the call succeeded or the refusal is the server's."""


class NotSent(httpx.TransportError):
    """Nothing was sent: the path is known to be shut, the budget is spent, or only a person can say what became of it.

    Attributes:
        handoff: The packet for a person.
    """

    def __init__(self, message: str, *, request: httpx.Request, handoff: Handoff) -> None:
        super().__init__(message, request=request)
        self.handoff = handoff


class Exchange:
    """One request on its way through recovery.

    Args:
        request: The request.
        tool: The tool that it is.
        arguments: The tool's arguments.
        run: The task that it belongs to.
        inner: The transport that really sends.
    """

    __slots__ = (
        "answer", "arguments", "attempts", "error", "inner", "request", "response", "run", "source", "stopped", "tool",
        "value",
    )  # fmt: skip

    def __init__(self, request: httpx.Request, tool: str, arguments: dict[str, Any], run: Run, inner: Any) -> None:
        self.request = request
        self.tool = tool
        self.arguments = arguments
        self.run = run
        self.inner = inner
        self.attempts = 0
        self.source: Source | None = None
        self.answer: Answer | None = None
        self.response: httpx.Response | None = None
        """What the server answered last."""
        self.error: Exception | None = None
        """What the last attempt raised."""
        self.stopped: CallStopped | None = None
        self.value: Any = None

    @property
    def unknown(self) -> bool:
        """Whether nobody knows what became of it."""
        return self.stopped is not None and self.stopped.outcome.ambiguous

    @property
    def answered(self) -> bool:
        """Whether it is over and what became of it is known."""
        return not self.unknown and (self.value is not None or self.response is not None or self.stopped is not None)

    def result(self) -> httpx.Response:
        """Return the response, or raise what the last attempt raised, with the packet for a person.

        Raises:
            httpx.TransportError: There is no response.
        """
        if self.value is not None:
            if self.value is not self.answer or self.response is None:
                self.source = self.source or Source.RECORDED
                self.response = response_with(self.value, self.request)
            return self._marked(self.response)
        if self.error is None and self.response is not None:
            return self._marked(self.response)
        if self.stopped is None:
            raise self.error or RuntimeError("an exchange ended without an answer")
        if self.error is None:
            raise NotSent(str(self.stopped), request=self.request, handoff=self.stopped.handoff) from None
        self.error.add_note(f"breakfall: {self.stopped}")
        self.error.handoff = self.stopped.handoff  # type: ignore[attr-defined]
        raise self.error

    def _marked(self, response: httpx.Response) -> httpx.Response:
        told = Recovery(source=self.source or Source.SERVER, attempts=self.attempts, stopped=self.stopped)
        response.extensions["breakfall"] = told
        return response


EXCHANGE: ContextVar[Exchange | None] = ContextVar("breakfall exchange", default=None)
"""The request whose attempts are being made here."""
