"""The store's state: shared base data under private changes, so that an episode costs only what it touches."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar, cast

T = TypeVar("T")
Place: TypeAlias = tuple[Any, str]
"""(record type, key) or (name of a list, key)."""

FIRST_NEW = 900_000
"""Numbers of ids that an episode makes start above this; base ids stay below."""


class Base:
    """Data that no episode changes: records by type and key, and lists of ids by name and key."""

    __slots__ = ("lists", "records")

    def __init__(self) -> None:
        self.records: dict[type, dict[str, Any]] = {}
        self.lists: dict[str, dict[str, tuple[str, ...]]] = {}

    def add(self, key: str, record: Any) -> None:
        """Add a record."""
        self.records.setdefault(type(record), {})[key] = record

    def join(self, name: str, key: str, item: str) -> None:
        """Add an id to a list."""
        kept = self.lists.setdefault(name, {})
        kept[key] = (*kept.get(key, ()), item)


class _Shared:
    """Stands in the undo log for a place that only the base holds."""


_SHARED = _Shared()


class State:
    """One episode's view: what it changed, and the base below.

    Every write happens between `begin` and either `commit` or `rollback`; the last committed change can be
    looked behind with `before`.
    """

    __slots__ = ("_base", "_last", "_made", "_own", "_undo", "created")

    def __init__(self, base: Base) -> None:
        self._base = base
        self._own: dict[Place, Any] = {}
        self._undo: dict[Place, Any] = {}
        self._last: dict[Place, Any] = {}
        self._made = FIRST_NEW
        self.created: dict[str, str] = {}
        """Ids made in the episode, with their kind."""

    def find(self, kind: type[T], key: str) -> T | None:
        """Return the record of `kind` with this key, None if there is none."""
        own = self._own
        if own and (kind, key) in own:
            return cast("T", own[kind, key])
        return cast("T | None", self._base.records[kind].get(key))

    def listed(self, name: str, key: str) -> tuple[str, ...]:
        """Return the ids in a list, oldest first."""
        own = self._own
        if own and (name, key) in own:
            return cast("tuple[str, ...]", own[name, key])
        return self._base.lists[name].get(key, ())

    def put(self, key: str, record: Any) -> None:
        """Set a record."""
        self._set((type(record), key), record)

    def join(self, name: str, key: str, item: str) -> None:
        """Add an id to a list."""
        self._set((name, key), (*self.listed(name, key), item))

    def new_id(self, prefix: str, kind: str) -> str:
        """Make an id that no record has."""
        self._made += 1
        made = f"{prefix}{self._made}"
        self.created[made] = kind
        return made

    def _set(self, place: Place, value: Any) -> None:
        if place not in self._undo:
            self._undo[place] = self._own.get(place, _SHARED)
        self._own[place] = value

    def begin(self) -> None:
        """Start a change."""
        self._undo = {}

    def commit(self) -> bool:
        """Keep the change; return whether there was one."""
        if not self._undo:
            return False
        self._last = self._undo
        self._undo = {}
        return True

    def rollback(self) -> None:
        """Take the change back."""
        _restore(self._own, self._undo)
        self._undo = {}

    def changed(self) -> list[tuple[Any, str, Any]]:
        """Return (record type, key, base record or None) for every record that the episode changed or made."""
        records = self._base.records
        return [(kind, key, records[kind].get(key)) for kind, key in self._own if not isinstance(kind, str)]

    def copy(self) -> State:
        """Return a state that starts as this one and goes its own way."""
        other = State(self._base)
        other._own = self._own.copy()
        other._made = self._made
        return other

    def before(self) -> State:
        """Return a copy of the state as it was before the last committed change."""
        other = self.copy()
        _restore(other._own, self._last)
        return other


def _restore(own: dict[Place, Any], undo: dict[Place, Any]) -> None:
    for place, old in undo.items():
        if old is _SHARED:
            del own[place]
        else:
            own[place] = old
