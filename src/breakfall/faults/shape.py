"""Shapes: what each place of a tool's answer holds, from its JSON Schema where there is one, else from the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from breakfall.vocab.schema import ArgumentSchema


class What(StrEnum):
    """What a place holds; in a schema the annotation `x-kind` names it (an id as ``id:<what>``)."""

    ID = "id"
    MONEY = "money"
    QUANTITY = "quantity"
    DATE = "date"
    STATUS = "status"
    EMAIL = "email"
    NUMBER = "number"
    FLAG = "flag"
    CODE = "code"
    """A text in which a number carries the meaning, such as a postcode."""
    TEXT = "text"
    """Prose and names: nothing is decided by it."""
    AS_OF = "as_of"
    """When the answer was true."""

    @property
    def load_bearing(self) -> bool:
        """Whether a false value here can mislead a caller."""
        return self is not What.TEXT and self is not What.AS_OF


_WHAT = {what.value: what for what in What}


def _anything(value: Any) -> bool:
    return True


class Leaf(Struct, frozen=True, kw_only=True):
    """What one place holds, and which values are valid there."""

    what: What
    of: str = ""
    """For an id: of what, as `Environment.ids` names it."""
    choices: tuple[Any, ...] = ()
    """The values that the schema lists, in its order."""
    is_valid: Callable[[Any], bool] = _anything
    """Whether the schema admits a value here."""
    declared: bool = False
    """Told by a schema, not guessed from the value."""


class Place(Struct, frozen=True):
    """One scalar of an answer; `at` is its JSON Pointer, part by part."""

    at: tuple[str, ...]
    value: Any
    leaf: Leaf


class Shape:
    """One node of a JSON Schema; its parts are compiled when an answer first has them, and kept."""

    __slots__ = ("_fields", "_items", "_rest", "_root", "_schema", "is_valid", "leaf")

    def __init__(self, schema: Mapping[str, Any], root: Mapping[str, Any]) -> None:
        self._schema = _resolved(schema, root)
        self._root = root
        self._fields: dict[str, Shape] = {}
        self._items: Shape | None = None
        self._rest: Shape | None = None
        self.is_valid = _checker(self._schema)
        self.leaf = _declared(self._schema, self.is_valid)

    def field(self, name: str) -> Shape:
        """Return the shape of a record's field."""
        known = self._fields.get(name)
        if known is not None:
            return known
        fields = self._schema.get("properties", {})
        if name in fields:
            known = self._fields[name] = self._part(fields[name])
            return known
        if self._rest is None:
            self._rest = self._part(self._schema.get("additionalProperties"))
        return self._rest

    def item(self) -> Shape:
        """Return the shape of a list's items."""
        if self._items is None:
            self._items = self._part(self._schema.get("items"))
        return self._items

    def _part(self, schema: Any) -> Shape:
        return Shape(schema, self._root) if isinstance(schema, Mapping) and schema else UNKNOWN

    def places(self, value: Any) -> list[Place]:
        """List the scalars of an answer with what they hold; nulls hold nothing and are left out."""
        found: list[Place] = []
        self._collect(value, (), found)
        return found

    def _collect(self, value: Any, at: tuple[str, ...], found: list[Place]) -> None:
        if isinstance(value, dict):
            for name, part in value.items():
                self.field(name)._collect(part, (*at, name), found)
        elif isinstance(value, list):
            shape = self.item()
            for index, part in enumerate(value):
                shape._collect(part, (*at, str(index)), found)
        elif value is not None:
            found.append(Place(at, value, self.leaf or _guessed(at, value, self.is_valid)))


_SHAPES: dict[int, tuple[Mapping[str, Any], Shape]] = {}
_SHAPES_KEPT = 4096


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """Return the shape that a schema describes, the same one for the same schema object."""
    if not schema:
        return UNKNOWN
    known = _SHAPES.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    if len(_SHAPES) >= _SHAPES_KEPT:
        _SHAPES.clear()
    shape = Shape(schema, schema)
    _SHAPES[id(schema)] = (schema, shape)  # holding the schema keeps its id from being used again
    return shape


_HOPS = 16  # references that lead in a circle are followed this far


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references, and take of several alternatives the first that is more than null."""
    for _ in range(_HOPS):
        reference = schema.get("$ref")
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(reference, str):
            target: Any = root
            for part in reference.removeprefix("#").split("/")[1:]:
                target = target.get(part) if isinstance(target, Mapping) else None
            found = target if isinstance(target, Mapping) else {}
            schema = {**found, **{name: part for name, part in schema.items() if name != "$ref"}}
        elif options:
            outer = {name: part for name, part in schema.items() if name not in ("anyOf", "oneOf")}
            found = next((part for part in options if isinstance(part, Mapping) and part.get("type") != "null"), {})
            schema = {**found, **outer}
        else:
            break
    return schema


_SCALAR_RULES = (
    "type", "enum", "const", "format", "pattern", "minLength", "maxLength",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
)  # fmt: skip


def _checker(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Compile the check of one scalar's schema; a broken schema admits anything."""
    rules = {name: schema[name] for name in _SCALAR_RULES if name in schema}
    if not rules or rules.get("type") in ("object", "array"):
        return _anything
    try:
        return ArgumentSchema(rules).is_valid
    except ValueError:
        return _anything


_FORMATS = {"date": What.DATE, "date-time": What.DATE, "email": What.EMAIL}
_TYPES = {"integer": What.NUMBER, "number": What.NUMBER, "boolean": What.FLAG}


def _declared(schema: Mapping[str, Any], is_valid: Callable[[Any], bool]) -> Leaf | None:
    """Return the leaf that a schema declares, or None where only the value can tell."""
    kind, _, of = str(schema.get("x-kind", "")).partition(":")
    choices = tuple(schema.get("enum", ()))
    types = schema.get("type")
    plain = types if isinstance(types, str) else next((name for name in types or () if name != "null"), "")
    what = _WHAT.get(kind) or (What.STATUS if choices else _FORMATS.get(str(schema.get("format"))) or _TYPES.get(plain))
    if what is None:
        return None
    return Leaf(what=what, of=of, choices=choices, is_valid=is_valid, declared=True)


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_MONEY = re.compile(r"-?\d+\.\d{2}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ID = re.compile(r"(?:(.+)[_-])?ids?|(.+[a-z0-9])(?:Id|ID)s?|ID")
_AS_OF = frozenset({"as_of", "asOf", "retrieved_at", "fetched_at", "cached_at"})
STATUSES = (
    "pending", "processing", "open", "active", "paid", "shipped", "in_transit", "delivered", "completed",
    "closed", "cancelled", "returned", "refunded", "failed", "expired", "inactive",
)  # fmt: skip
"""Statuses that stand in for one another where no schema lists them, roughly in the order of a life."""


def _guessed(at: tuple[str, ...], value: Any, is_valid: Callable[[Any], bool]) -> Leaf:
    """Tell from a value and its name what a place holds."""
    name = next((part for part in reversed(at) if not part.isdigit()), "")
    if name in _AS_OF:
        return Leaf(what=What.AS_OF, is_valid=is_valid)
    if isinstance(value, bool):
        return Leaf(what=What.FLAG, is_valid=is_valid)
    named_id = _ID.fullmatch(name)
    if named_id and isinstance(value, str | int):
        return Leaf(what=What.ID, of=(named_id[1] or named_id[2] or "").lower(), is_valid=is_valid)
    if isinstance(value, int | float):
        return Leaf(what=What.NUMBER, is_valid=is_valid)
    return Leaf(what=_guessed_text(value) if isinstance(value, str) else What.TEXT, is_valid=is_valid)


def _guessed_text(value: str) -> What:
    if _DATE.fullmatch(value):
        return What.DATE
    if _MONEY.fullmatch(value):
        return What.MONEY
    if _EMAIL.fullmatch(value):
        return What.EMAIL
    if value.lower() in STATUSES:
        return What.STATUS
    return What.CODE if any(char.isdigit() for char in value) else What.TEXT


UNKNOWN = Shape({}, {})
"""Of what no schema describes."""
