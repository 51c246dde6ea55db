"""Outcomes: how a call ended. A failing tool is a value, never an exception."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from breakfall.vocab.fault import FaultKind


class Applied(StrEnum):
    """Whether a write took effect, as far as its caller can know."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Ok(Struct, frozen=True, kw_only=True, tag="ok", tag_field="status_of", omit_defaults=True):
    """The tool answered with a value."""

    value: Any
    replayed: bool = False
    """The value is the recorded result of an earlier, equal write; nothing ran."""
    status: int | None = None
    """HTTP status, where it was noted."""


class Failed(Struct, frozen=True, kw_only=True, tag="failed", tag_field="status_of", omit_defaults=True):
    """The call gave no usable value.

    What comes off the wire has no `kind`; `recovery.classify` reads it from the evidence. A classified failure
    without a kind is `native`: the tool's own refusal (unknown order, insufficient balance), which is no fault.
    """

    message: str
    kind: FaultKind | None = None
    native: bool = False
    status: int | None = None
    """HTTP status, where there was one."""
    exception: str | None = None
    """Name of the exception class, where there was one."""
    body: str | None = None
    """What the server sent, whole."""
    headers: dict[str, str] = {}
    retry_after_s: float | None = None
    applied: Applied = Applied.NO

    @property
    def ambiguous(self) -> bool:
        """Whether a write may have happened although no answer says so."""
        return self.applied is Applied.UNKNOWN

    @property
    def failure_class(self) -> str:
        """The fault kind's name, "native", or "unclassified"."""
        return self.kind.value if self.kind else "native" if self.native else "unclassified"


Outcome: TypeAlias = Ok | Failed
