"""A policy from a TOML file: a preset as its base, and what the file overrides."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from math import inf, isfinite
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields, replace

from breakfall.errors import UsageError
from breakfall.recovery.policy import PRESETS, Costs, Policy


class _Range(Struct, frozen=True):
    """The values that a number may have; `above` excludes the lower end, `below` the upper."""

    low: float = 0.0
    high: float = inf
    above: bool = False
    below: bool = False

    def holds(self, value: float) -> bool:
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
        if self.high == inf:
            return low
        if self.above or self.below:
            return f"{low} and {'below' if self.below else 'at most'} {self.high:g}"
        return f"between {self.low:g} and {self.high:g}"


_PROBABILITY = _Range(high=1.0)
_RANGES = {
    "attempts": _Range(low=1),
    "lookups": _Range(low=1),
    "agreeing": _Range(low=1),
    "storm": _Range(low=1),
    "strikes_again": _Range(high=1.0, above=True, below=True),
    "half_life_s": _Range(above=True),
    "switch_works": _PROBABILITY,
}
"""Field -> its values; a number that is not named here must be at least 0."""


def load(text: str, source: str) -> Policy:
    """Read a policy from TOML text.

    ``base = "cautious"`` starts from a preset (`balanced` if there is none); `costs` and `persistence` are overridden
    entry by entry, and ``storm = false`` takes the base's limit away. The policy is called after its file unless
    `name` says otherwise.

    Args:
        text: The TOML text.
        source: Where it came from, as messages name it.

    Raises:
        UsageError: The text is no policy; the message has the field's path and what would be right.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}") from None
    try:
        return _policy(table, source)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None


def _policy(table: dict[str, Any], source: str) -> Policy:
    known = {info.name: info for info in fields(Policy)}
    _require_known("", table, ("base", *known), "field of a policy")
    base = _base(table.pop("base", "balanced"))
    given: dict[str, Any] = {"name": source.rpartition("/")[2].removesuffix(".toml")}
    for name, value in table.items():
        if name == "costs":
            given[name] = _costs(base.costs, value)
        elif name == "persistence":
            given[name] = _persistence(base.persistence, value)
        else:
            given[name] = _plain(name, known[name], value)
    if not given["name"]:
        raise ValueError("name is empty, must say how reports call the policy")
    policy = replace(base, **given)
    if policy.cap_s < policy.base_s:
        raise ValueError(f"cap_s is {policy.cap_s:g}, must be at least base_s ({policy.base_s:g})")
    if policy.verify and policy.lookups < policy.agreeing:
        raise ValueError(
            f"lookups is {policy.lookups}, must be at least agreeing ({policy.agreeing}): so many reads must agree "
            "before a write is sent again"
        )
    return policy


def _base(name: Any) -> Policy:
    if not isinstance(name, str) or name not in PRESETS:
        near = _did_you_mean(str(name), PRESETS)
        raise ValueError(f"base is {name!r}, must be one of {', '.join(PRESETS)}{near}")
    return PRESETS[name]


def _costs(base: Costs, value: Any) -> Costs:
    table = _table("costs", value)
    _require_known("costs.", table, Costs.__struct_fields__, "cost")
    return replace(base, **{name: _number(f"costs.{name}", cost, _Range()) for name, cost in table.items()})


def _persistence(base: dict[str, float], value: Any) -> dict[str, float]:
    table = _table("persistence", value)
    _require_known("persistence.", table, base, "fault kind that a caller can tell")
    return {**base, **{kind: _number(f"persistence.{kind}", rate, _PROBABILITY) for kind, rate in table.items()}}


def _plain(name: str, info: FieldInfo, value: Any) -> Any:
    """Read a text, a switch or a number, as the field's type has it; false takes an optional number away."""
    types = msgspec.inspect.type_info(info.type)
    optional = isinstance(types, msgspec.inspect.UnionType)
    kinds = types.types if isinstance(types, msgspec.inspect.UnionType) else (types,)
    if any(isinstance(kind, msgspec.inspect.StrType) for kind in kinds):
        return _typed(name, value, str, "a text")
    if any(isinstance(kind, msgspec.inspect.BoolType) for kind in kinds):
        return _typed(name, value, bool, "true or false")
    if optional and value is False:
        return None
    allowed = _RANGES.get(name, _Range())
    if any(isinstance(kind, msgspec.inspect.FloatType) for kind in kinds):
        return _number(name, value, allowed)
    _typed(name, value, int, f"a whole number{', or false for none' if optional else ''}")
    return _within(name, value, allowed)


def _number(where: str, value: Any, allowed: _Range) -> float:
    return float(_within(where, _typed(where, value, (int, float), "a number"), allowed))


def _within(where: str, value: Any, allowed: _Range) -> Any:
    if not allowed.holds(value):
        raise ValueError(f"{where} is {value:g}, must be {allowed}")
    return value


def _table(where: str, value: Any) -> dict[str, Any]:
    table: dict[str, Any] = _typed(where, value, dict, f"a table, as in [{where}]")
    return table


def _typed(where: str, value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """Return `value` if it is of `kind`; TOML's booleans are no numbers, and NaN and infinity are neither."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} is {_toml(value)}, must be {what}")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{where} is {value}, must be {what}")
    return value


def _toml(value: Any) -> str:
    """Write a value as the file has it."""
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)


def _require_known(prefix: str, names: Iterable[str], known: Iterable[str], what: str) -> None:
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise ValueError(f"{prefix}{name} is no {what}{_did_you_mean(name, allowed)}")


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    options = list(known)
    near = difflib.get_close_matches(name, options, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(options)}"
