"""Tools: what a tool is, what stands in for it, and how to look up what a write did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, field

from breakfall.vocab.outcome import Applied

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float (never NaN), str, list or dict with string keys."""

Arguments: TypeAlias = Mapping[str, Json]
"""The arguments of a call; also what the caller knows besides them (`Call.context`)."""


class Effect(StrEnum):
    """What a call does to the world."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"


class IdempotencyKind(StrEnum):
    """What happens when the same write arrives twice."""

    NONE = "none"
    """It happens twice."""
    KEY = "key"
    """The server answers the second with the first's result, if both carry the same key within the window."""
    NATURAL = "natural"
    """The second changes nothing, by the nature of the write."""


class Idempotency(Struct, frozen=True, kw_only=True):
    """A write's protection against repeats; for `KEY`, `parameter` names the argument that carries the key."""

    kind: IdempotencyKind = IdempotencyKind.NONE
    window_s: float | None = None
    parameter: str | None = None

    def __post_init__(self) -> None:
        """Refuse a key that nothing carries."""
        if self.kind is IdempotencyKind.KEY and not self.parameter:
            raise ValueError("Idempotency of kind 'key' needs `parameter`, the argument that carries the key")


class Granularity(StrEnum):
    """How much of the original's answer a path gives."""

    EXACT = "exact"
    PARTIAL = "partial"


MapArguments: TypeAlias = Callable[[Arguments, Arguments], "dict[str, Json] | None"]
"""(arguments of the original call, its context) -> arguments of the other tool, or None where they are not known."""

MapValue: TypeAlias = Callable[[Json, Arguments, Arguments], Json]
"""(the other tool's value, original arguments, context) -> the value in the original tool's form."""


def same_arguments(arguments: Arguments, context: Arguments) -> dict[str, Json]:
    """Map arguments to themselves."""
    return dict(arguments)


def same_value(value: Json, arguments: Arguments, context: Arguments) -> Json:
    """Take the other tool's value as it is."""
    return value


class Path(Struct, frozen=True, kw_only=True):
    """Another way to the same information or effect.

    `value` may raise `LookupError` when the other tool's answer lacks what the original would have given.
    """

    tool: str
    arguments: MapArguments = same_arguments
    value: MapValue = same_value
    granularity: Granularity = Granularity.EXACT
    missing: tuple[str, ...] = ()
    """For `PARTIAL`: the fields of the original that this path cannot give."""


class Settlement(Struct, frozen=True, kw_only=True):
    """What a reader says about a write: applied or not, the write's value as far as it can be told, and why."""

    applied: Applied
    value: Json = None
    evidence: str = ""


Judge: TypeAlias = Callable[[Json, Arguments, float], Settlement]
"""(the reader's value, arguments of the write, when the write was first sent in s) -> what became of the write."""


class Reader(Struct, frozen=True, kw_only=True):
    """The read that tells what a write did. `judge` answers `UNKNOWN` for a value that is stale or incomplete."""

    tool: str
    arguments: MapArguments
    judge: Judge
    in_transit_s: float = 0.0
    """How long after it was sent the write may still take effect; "not applied" is not believed before."""


class Tool(Struct, frozen=True, kw_only=True):
    """One tool as its caller and breakfall see it."""

    name: str
    description: str
    parameters: dict[str, Json]
    """JSON Schema of the arguments."""
    returns: dict[str, Json] = field(default_factory=dict)
    """JSON Schema of the value, empty where unknown. `x-kind` on a leaf names what it holds: see `faults.shape`."""
    effect: Effect
    fault_domain: str
    """Tools that share a backend fail together, so they are no alternative to each other."""
    paths: tuple[Path, ...] = ()
    reader: Reader | None = None
    idempotency: Idempotency = Idempotency()
    timeout_s: float = 10.0
    cost_usd: float = 0.0
    mirror: bool = False
    """Added for the condition *with alternatives*; not there in *native*."""

    @property
    def writes(self) -> bool:
        """Whether a call may change the world."""
        return self.effect is not Effect.READ
