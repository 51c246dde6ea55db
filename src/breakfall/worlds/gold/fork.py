"""Copies on write: a database is parsed once, and an episode copies only the records that it asks for."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any

import msgspec

_ATOMS = frozenset({str, int, float, bool, type(None), date, datetime})
_set = object.__setattr__


class Forked(dict[str, Any]):
    """A mapping that shows its base's records; one that is asked for by key is copied first and is its own from then.

    Walking over all values shows the base's own records where no copy exists: a tool that walks must only read.
    """

    __slots__ = ("base",)

    def __init__(self, base: Mapping[str, Any]) -> None:
        super().__init__()
        self.base = base

    def own(self) -> dict[str, Any]:
        """Return the records that were copied or added."""
        return {key: dict.__getitem__(self, key) for key in dict.__iter__(self)}

    def forked(self, memo: dict[int, Any]) -> Forked:
        """Return another fork of the same base with copies of its own records."""
        new = Forked(self.base)
        for key, record in dict.items(self):
            dict.__setitem__(new, key, copied(record, memo))
        return new

    def __missing__(self, key: str) -> Any:
        record = self[key] = copied(self.base[key], {})
        return record

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self.base

    def __iter__(self) -> Iterator[str]:
        yield from self.base
        for key in dict.__iter__(self):
            if key not in self.base:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a record of its own, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is the method that it would call

    def keys(self) -> Any:
        """List the keys, the base's first."""
        return list(self)

    def values(self) -> Any:
        """List the records, for reading only."""
        return [record for _, record in self.items()]

    def items(self) -> Any:
        """List keys and records, for reading only."""
        if not dict.__len__(self):
            return self.base.items()
        own = self.own()
        shown = [(key, own.pop(key) if key in own else record) for key, record in self.base.items()]
        return [*shown, *own.items()]

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("records of a forked table cannot be removed or replaced in bulk")

    __delitem__ = pop = popitem = clear = update = setdefault = _refuse


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy a value whole; what it holds twice stays one thing. Several times as fast as `copy.deepcopy`."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    new: Any
    if kind is dict:
        new = memo[id(value)] = {}
        for key, item in value.items():
            new[key] = item if type(item) in _ATOMS else copied(item, memo)
    elif kind is list:
        new = memo[id(value)] = []
        new.extend([item if type(item) in _ATOMS else copied(item, memo) for item in value])
    elif kind is Forked:
        new = memo[id(value)] = value.forked(memo)
    elif hasattr(kind, "__pydantic_fields__"):
        new = memo[id(value)] = object.__new__(kind)
        fields = {k: item if type(item) in _ATOMS else copied(item, memo) for k, item in vars(value).items()}
        _dress(new, fields, value)
    elif isinstance(value, Enum):
        new = value
    else:
        new = copy.deepcopy(value, memo)
    return new


def fork_of(database: Any, small: int, memo: dict[int, Any]) -> Any:
    """Open a database for one episode: its tables of more than `small` records are forked, the rest is copied.

    Args:
        database: A pydantic model or a dict of tables; nobody may change it from then on.
        small: Tables up to this size are copied whole, so tools may walk over them and write.
        memo: What was copied with it already; see `copied`.
    """
    tables = {
        name: Forked(table) if type(table) is dict and len(table) > small else copied(table, memo)
        for name, table in tables_of(database).items()
    }
    if type(database) is dict:
        return tables
    new = object.__new__(type(database))
    _dress(new, tables, database)
    return new


def tables_of(database: Any) -> dict[str, Any]:
    """Return the tables of a database by name."""
    tables: dict[str, Any] = database if type(database) is dict else vars(database)
    return tables


def frozen(value: Any) -> bytes:
    """Write a value in one canonical form that tells 1 from 1.0, as the benchmarks' own hashes do."""
    return msgspec.json.encode(value, enc_hook=_plain, order="deterministic")


def jsonable(value: Any) -> Any:
    """Return a private copy of a tool's result as JSON values."""
    return msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)


class Pristine:
    """A database nobody changes, and the canonical form of its records, made when first needed."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self._tables = tables_of(database)
        self._frozen: dict[tuple[str, str | None], bytes] = {}

    def changes(self, live: Any) -> dict[str, bytes]:
        """Return every record of a fork that differs from this database, as ``table/key``, in canonical form."""
        found = {}
        for name, table in tables_of(live).items():
            if type(table) is not Forked:
                now = frozen(table)
                if now != self._form(name, None):
                    found[name] = now
                continue
            for key, record in table.own().items():
                now = frozen(record)
                if key not in table.base or now != self._form(name, key):
                    found[f"{name}/{key}"] = now
        return found

    def _form(self, table: str, key: str | None) -> bytes:
        place = (table, key)
        if place not in self._frozen:
            whole = self._tables[table]
            self._frozen[place] = frozen(whole if key is None else whole[key])
        return self._frozen[place]


def _plain(value: Any) -> Any:
    if hasattr(type(value), "__pydantic_fields__"):
        return vars(value)
    raise NotImplementedError(f"a {type(value).__name__} has no JSON form")


def _dress(model: Any, fields: dict[str, Any], like: Any) -> None:
    """Give a bare pydantic model its fields, without the validation that its constructor would make."""
    _set(model, "__dict__", fields)
    _set(model, "__pydantic_fields_set__", like.__pydantic_fields_set__.copy())
    _set(model, "__pydantic_extra__", copy.copy(like.__pydantic_extra__))
    _set(model, "__pydantic_private__", copy.copy(like.__pydantic_private__))
