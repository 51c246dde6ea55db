"""Schema drift: a tool's argument is renamed, or a new one is required, and the tool says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from breakfall.seeds import Stream
from breakfall.vocab import Tool

_NEW_ARGUMENTS = {
    "region": ("eu", "us", "apac"),
    "channel": ("web", "phone", "store"),
    "api_version": ("2024-10", "2025-04", "2025-10"),
    "locale": ("en-GB", "en-US", "ko-KR"),
}
_RENAMED_SHARE = 0.6


class Drift(Struct, frozen=True, kw_only=True):
    """How a tool's arguments changed: `old` is now called `new`, or, where `old` is None, `new` is required."""

    new: str
    old: str | None = None
    values: tuple[str, ...] = ()
    """What a newly required argument may be."""

    def translated(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Turn arguments in the new form into those of the real tool; None if they are in the old form."""
        if self.new not in arguments:
            return None
        real = {name: value for name, value in arguments.items() if name not in (self.new, self.old)}
        if self.old is not None:
            real[self.old] = arguments[self.new]
        return real


def drift(tool: Tool, arguments: dict[str, Any], draw: Stream) -> Drift:
    """Draw how the arguments of a tool changed, so that `arguments` are no longer right.

    Only an argument that the call really has can be renamed, those that the tool requires before others.
    """
    known = {*tool.parameters.get("properties", {}), *arguments}
    required = [name for name in tool.parameters.get("required", ()) if name in arguments]
    renameable = required or [name for name in tool.parameters.get("properties", {}) if name in arguments]
    if renameable and draw.uniform() < _RENAMED_SHARE:
        old = draw.choice(renameable)
        return Drift(new=_unused(list(_new_names(old)), known, draw), old=old)
    new = _unused(list(_NEW_ARGUMENTS), known, draw)
    return Drift(new=new, values=_NEW_ARGUMENTS.get(new, ("true", "false")))


def _new_names(name: str) -> Iterator[str]:
    """Names that a later version of an interface might use."""
    head, *tail = name.split("_")
    if tail:
        yield head + "".join(part.capitalize() for part in tail)
    yield name.removesuffix("_id") + ("_ref" if name.endswith("_id") else "_value")
    yield f"target_{name}"


def _unused(names: list[str], known: set[str], draw: Stream) -> str:
    """Draw one of the names that no argument has yet; where all are taken, number the first."""
    free = [name for name in names if name not in known]
    if free:
        return draw.choice(free)
    number = 2
    while f"{names[0]}_{number}" in known:
        number += 1
    return f"{names[0]}_{number}"
