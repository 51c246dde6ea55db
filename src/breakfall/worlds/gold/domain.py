"""A domain: what breakfall says of a benchmark's tools beyond what the benchmark says itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from breakfall.vocab import Effect, Path, Reader
from breakfall.worlds.gold.session import Ask


class GoldCall(Struct, frozen=True, kw_only=True):
    """One call of a task's gold solution."""

    tool: str
    arguments: dict[str, Any]


class Mirror(Struct, frozen=True, kw_only=True):
    """A read that we add over the same database, made of what the benchmark's own tools answer."""

    name: str
    description: str
    parameters: dict[str, Any]
    """Properties of its arguments, all of them required."""
    fault_domain: str
    run: Callable[[Ask, Mapping[str, Any]], Any]


Known: TypeAlias = Callable[[Ask, Sequence[GoldCall]], "dict[str, Any]"]
"""(the tools in the initial state, gold's calls) -> what the user can also state."""

Context: TypeAlias = Callable[[Ask, GoldCall, Sequence[GoldCall]], "dict[str, Any]"]
"""(the tools before the call, the call, all of gold's calls) -> what another path may need besides its arguments."""


Opening: TypeAlias = Callable[[Ask, Sequence[GoldCall], str], "list[GoldCall]"]
"""(the tools in the initial state, gold's calls, the task's text) -> look-ups to make before gold's calls."""


def _nothing(*args: Any) -> dict[str, Any]:
    return {}


def _no_calls(*args: Any) -> list[GoldCall]:
    return []


def names(text: str) -> frozenset[str]:
    """Return the names in a text, which spaces part."""
    return frozenset(text.split())


class Domain(Struct, frozen=True, kw_only=True):
    """What the tests prove of a benchmark's domain."""

    services: dict[str, str]
    """Fault domain -> its tools. Tools that share one fail together, so none is a path to another."""
    writes: frozenset[str] = frozenset()
    irreversible: frozenset[str] = frozenset()
    natural: frozenset[str] = frozenset()
    """Writes whose repeat changes nothing and is not refused either."""
    unseen: frozenset[str] = frozenset()
    """Writes that leave the database as it is; the effect log has them once, when they first run."""
    unread: frozenset[str] = frozenset()
    """Arguments that no effect depends on, such as a summary in the caller's own words."""
    readers: dict[str, Reader] = {}
    echoes: frozenset[str] = frozenset()
    """Writes whose answer is the record that their reader reads."""
    paths: dict[str, tuple[Path, ...]] = {}
    """Native equivalences."""
    mirrors: tuple[Mirror, ...] = ()
    mirror_paths: dict[str, tuple[Path, ...]] = {}
    """Tool -> its paths through `mirrors`."""
    kinds: dict[str, str] = {}
    """Field of an answer -> what it holds, as `x-kind` says it."""
    ids: dict[str, Callable[[Mapping[str, Any]], Iterable[str]]] = {}
    """Kind of id -> the ids in the tables of the loaded database."""
    opening: Opening = _no_calls
    known: Known = _nothing
    context: Context = _nothing
    fault_domains: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Turn the services around."""
        self.fault_domains.update({tool: name for name, tools in self.services.items() for tool in tools.split()})

    def effect(self, tool: str) -> Effect:
        """Return what a call of a tool does."""
        if tool in self.irreversible:
            return Effect.IRREVERSIBLE
        return Effect.WRITE if tool in self.writes else Effect.READ
