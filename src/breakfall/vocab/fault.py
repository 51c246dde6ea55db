"""Faults: the nine kinds, scenarios, responses, and the record of what was done to a call."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class FaultKind(StrEnum):
    """The nine ways a call can go wrong."""

    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    MALFORMED_RESPONSE = "malformed_response"
    AUTH_ERROR = "auth_error"
    SCHEMA_DRIFT = "schema_drift"
    PARTIAL_DATA = "partial_data"
    STALE_VALUE = "stale_value"
    FACTUAL_ERROR = "factual_error"

    @property
    def silent(self) -> bool:
        """Whether the answer is well formed and nothing in it says that it is wrong."""
        return self in _SILENT


_SILENT = frozenset({FaultKind.PARTIAL_DATA, FaultKind.STALE_VALUE, FaultKind.FACTUAL_ERROR})
OBSERVABLE = tuple(kind for kind in FaultKind if kind not in _SILENT)
SILENT = tuple(kind for kind in FaultKind if kind in _SILENT)


class Scenario(StrEnum):
    """What is shut for a whole episode, which fixes the right response."""

    CLEAN = "CLEAN"
    """No noise and no blockade."""
    S1 = "S1"
    """Nothing is blockaded: the original path recovers. Retry."""
    S2 = "S2"
    """One side of an equivalence that the task needs is blockaded. Switch."""
    S3 = "S3"
    """Every side is blockaded. Stop."""


class Response(StrEnum):
    """What an agent does after a fault: one of the four strategies, or nothing."""

    RETRY = "retry"
    SWITCH = "switch"
    VERIFY = "verify"
    STOP = "stop"
    IGNORE = "ignore"


class FaultSource(StrEnum):
    """Noise is drawn per call; a blockade holds for the episode."""

    NOISE = "noise"
    BLOCKADE = "blockade"


class Corruption(Struct, frozen=True, kw_only=True):
    """One place of an answer that a silent fault made false.

    `pointer` is a JSON Pointer (RFC 6901) into the shown value; for something that was removed it points at where
    it stood in the true value, and `shown` is None.
    """

    pointer: str
    true: Any
    shown: Any
    removed: bool = False


class Injection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the injector did to one call; the agent never sees it."""

    kind: FaultKind
    source: FaultSource
    nth: int
    """Which call of this tool in the episode it struck, from 0."""
    executed: bool
    """Whether the tool really ran."""
    suppressed: bool = False
    """The draw was made and a cap let it pass: nothing happened to the call."""
    sticky: bool = False
    """The fault stays until its remedy (profile `sticky`)."""
    true_value: Any = None
    """What the tool really answered, where it ran and something else was shown."""
    true_refusal: str | None = None
    """The tool's own refusal, where it ran, refused, and something else was shown."""
    corruptions: tuple[Corruption, ...] = ()
