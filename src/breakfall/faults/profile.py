"""Noise profiles: how often each kind of fault strikes a call, and the caps that keep an episode solvable."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from math import fsum, isfinite
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.vocab import FaultKind

Vector: TypeAlias = dict[FaultKind, float]
"""P(kind) per call; what is left to 1 is the probability of a clean call."""


class Burst(Struct, frozen=True, kw_only=True):
    """Faults that come together: every tool of a fault domain fails during the same stretch of its calls.

    The calls of a tool are cut into windows of `window`; whether the w-th window is a burst, and of which kind, is
    drawn once per domain, so it is the same for every tool of the domain.
    """

    window: int = 4
    """Calls of a tool per window."""
    chance: float = 0.3
    """Probability that a window is a burst."""
    rate: float = 0.9
    """Probability of the burst's kind, per call in it."""
    kinds: tuple[FaultKind, ...] = (FaultKind.TIMEOUT, FaultKind.RATE_LIMIT, FaultKind.SERVER_ERROR)
    """Kinds that a burst may have, equally likely."""

    def __post_init__(self) -> None:
        """Refuse values out of range, by the field's path."""
        if self.window < 1:
            raise ValueError(f"burst.window is {self.window}, must be at least 1")
        _require_probability("burst.chance", self.chance)
        _require_probability("burst.rate", self.rate)
        if not self.kinds:
            raise ValueError("burst.kinds is empty, must name at least one fault kind")


class Profile(Struct, frozen=True, kw_only=True):
    """How often and how persistently calls fail in a run."""

    name: str
    kinds: Vector = {}
    """Of every tool without a vector of its own; a kind that is not named never strikes."""
    tools: dict[str, Vector] = {}
    """Vectors of single tools; each stands alone, nothing is added from `kinds`."""
    max_total: int = 5
    """B: noise faults that may strike in one episode."""
    max_in_row: int = 2
    """K: noise faults that may strike in a row on one tool."""
    sticky: bool = False
    """AUTH_ERROR and SCHEMA_DRIFT stay on their tool until their remedy."""
    burst: Burst | None = None

    def __post_init__(self) -> None:
        """Refuse values out of range, by the field's path."""
        if not self.name:
            raise ValueError("name is empty, must say how reports call the profile")
        _require_vector("kinds", self.kinds)
        for tool, vector in self.tools.items():
            _require_vector(f"tools.{tool}", vector)
        for field in ("max_total", "max_in_row"):
            value = getattr(self, field)
            if value < 0:
                raise ValueError(f"{field} is {value}, must be at least 0")

    def vector(self, tool: str) -> Vector:
        """Return the probabilities that hold for a tool outside a burst."""
        return self.tools.get(tool, self.kinds)

    def clean(self, tool: str) -> float:
        """Return the probability that a call of `tool` draws no fault, outside a burst."""
        return 1.0 - fsum(self.vector(tool).values())

    @property
    def quiet(self) -> bool:
        """Whether no call of any tool can ever draw a fault."""
        rates = [*self.kinds.values(), *(rate for vector in self.tools.values() for rate in vector.values())]
        return not any(rates) and (self.burst is None or self.burst.chance * self.burst.rate == 0)


def _require_probability(where: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:  # also refuses NaN, which compares false
        raise ValueError(f"{where} is {value:g}, must be between 0 and 1")


def _require_vector(where: str, vector: Mapping[FaultKind, float]) -> None:
    for kind, value in vector.items():
        _require_probability(f"{where}.{kind.value}", value)
    total = fsum(vector.values())
    if total > 1.0:
        raise ValueError(f"{where} sums to {total:g}, must be at most 1 (what is left to 1 is clean)")


_PAPER: Vector = {
    FaultKind.TIMEOUT: 0.06,
    FaultKind.RATE_LIMIT: 0.05,
    FaultKind.SERVER_ERROR: 0.05,
    FaultKind.MALFORMED_RESPONSE: 0.04,
    FaultKind.AUTH_ERROR: 0.04,
    FaultKind.SCHEMA_DRIFT: 0.04,
    FaultKind.PARTIAL_DATA: 0.04,
    FaultKind.STALE_VALUE: 0.04,
    FaultKind.FACTUAL_ERROR: 0.04,
}
_LIGHT: Vector = {kind: rate / 8 for kind, rate in _PAPER.items()}

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="clean"),
        Profile(name="light", kinds=_LIGHT),
        Profile(name="paper", kinds=_PAPER),
        Profile(name="sticky", kinds=_PAPER, sticky=True),
        Profile(name="storm", kinds=_LIGHT, burst=Burst()),
    )
}
"""The built-in profiles by name."""


def load(text: str, source: str) -> Profile:
    """Read a profile from TOML text.

    With ``base = "paper"`` it starts from a built-in one: `kinds` is overridden kind by kind, `burst` field by field,
    `tools` tool by tool. ``burst = false`` takes a base's bursts away.

    Args:
        text: The TOML text.
        source: Where it came from, as messages name it.

    Raises:
        UsageError: The text is no profile; the message has the field's path and what would be right.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}") from None
    try:
        return _profile(table, source)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None


def _profile(table: dict[str, Any], source: str) -> Profile:
    _require_known("", table, ("base", *Profile.__struct_fields__), "field of a profile")
    base = _base(table.pop("base", None), source)
    fields: dict[str, Any] = {}
    for field, value in table.items():
        if field == "name":
            fields[field] = _typed(field, value, str, "a text")
        elif field in ("max_total", "max_in_row"):
            fields[field] = _typed(field, value, int, "a whole number")
        elif field == "sticky":
            fields[field] = _typed(field, value, bool, "true or false")
        elif field == "kinds":
            fields[field] = {**base.kinds, **_vector(field, value)}
        elif field == "tools":
            tools = _typed(field, value, dict, "a table of tools")
            fields[field] = {**base.tools, **{tool: _vector(f"tools.{tool}", rates) for tool, rates in tools.items()}}
        else:
            fields[field] = None if value is False else _burst(value, base.burst or Burst())
    return replace(base, **fields)


def _base(name: Any, source: str) -> Profile:
    own_name = source.removesuffix(".toml")
    if name is None:
        return Profile(name=own_name)
    _typed("base", name, str, "a text")
    if name not in PROFILES:
        raise ValueError(f"base is {name!r}, must be one of {', '.join(PROFILES)}{_did_you_mean(name, PROFILES)}")
    return replace(PROFILES[name], name=own_name)


def _vector(where: str, value: Any) -> Vector:
    table = _typed(where, value, dict, "a table of fault kinds and probabilities")
    _require_known(f"{where}.", table, [kind.value for kind in FaultKind], "fault kind")
    return {
        FaultKind(kind): float(_typed(f"{where}.{kind}", rate, (int, float), "a number between 0 and 1"))
        for kind, rate in table.items()
    }


def _burst(value: Any, base: Burst) -> Burst:
    table = _typed("burst", value, dict, "a table, or false")
    _require_known("burst.", table, Burst.__struct_fields__, "field of a burst")
    fields: dict[str, Any] = {}
    for field, given in table.items():
        where = f"burst.{field}"
        if field == "kinds":
            names = _typed(where, given, list, "a list of fault kinds")
            _require_known(f"{where}: ", names, [kind.value for kind in FaultKind], "fault kind")
            fields[field] = tuple(FaultKind(name) for name in names)
        elif field == "window":
            fields[field] = _typed(where, given, int, "a whole number")
        else:
            fields[field] = float(_typed(where, given, (int, float), "a number between 0 and 1"))
    return replace(base, **fields)


def _typed(where: str, value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """Return `value` if it is of `kind`; TOML's booleans are no numbers, and NaN and infinity are neither."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} is {value!r}, must be {what}")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{where} is {value}, must be {what}")
    return value


def _require_known(prefix: str, names: Iterable[Any], known: Iterable[str], what: str) -> None:
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise ValueError(f"{prefix}{name} is no {what}{_did_you_mean(str(name), allowed)}")


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    options = list(known)
    near = difflib.get_close_matches(name, options, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(options)}"
