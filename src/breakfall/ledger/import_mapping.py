"""Mappings: where the fields of a step stand in another program's records."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from breakfall.errors import UsageError, unknown_name
from breakfall.ledger.draft import FIELDS, Draft
from breakfall.vocab import pointer as pointers

Unit: TypeAlias = Literal["s", "ms", "us", "ns", "iso"]
_SECONDS: dict[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_OTHERWISE = "*"


class Shape(StrEnum):
    """How the records lie in a file."""

    JSON = "json"
    """One record a line, or a list of records."""
    OTLP = "otlp"
    """OpenTelemetry spans in OTLP's JSON form: one export request a line, or one in the file."""
    LANGSMITH = "langsmith"
    """Runs, each with its `child_runs` inside or beside it."""
    LANGFUSE = "langfuse"
    """Observations, alone or inside their traces."""


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where one field comes from."""

    at: str | tuple[str, ...] = ()
    """JSON Pointers into the record; the first that finds something counts."""
    value: Any = UNSET
    """What it is where `at` finds nothing."""
    words: dict[str, Any] = {}
    """Their word -> ours; ``"*"`` stands for every other. Without it, a word that is not listed is refused."""
    unit: Unit | None = None
    """Of a time or a duration, which becomes seconds; ``iso`` is a date and time as text (UTC if it names no zone)."""
    json: bool = False
    """A text is parsed, if it is JSON."""
    null: bool = False
    """Null is a value here, and does not mean that there is none."""

    def __post_init__(self) -> None:
        """Refuse a source of nothing, and pointers that are none."""
        if not self.places and self.value is UNSET:
            raise ValueError("needs `at` (where it stands) or `value` (what it is)")
        for place in self.places:
            pointers.parse(place)

    @property
    def places(self) -> tuple[str, ...]:
        """The pointers, in order."""
        return (self.at,) if isinstance(self.at, str) else self.at


class Mapping(Struct, frozen=True, kw_only=True):
    """How the records of a file become drafts."""

    shape: Shape = Shape.JSON
    only: tuple[dict[str, tuple[Any, ...]], ...] = ()
    """A record is a step if it fits one of these: at each pointer, one of the values. Empty: every record is."""
    fields: dict[str, Source] = {}
    """Our field -> its source."""


class _Written(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping as a file holds it."""

    base: str = ""
    only: dict[str, tuple[Any, ...]] | tuple[dict[str, tuple[Any, ...]], ...] | UnsetType = UNSET
    fields: dict[str, str | tuple[str, ...] | Source] = {}


def load_mapping(text: str, source: str, known: dict[str, Mapping]) -> Mapping:
    """Read a mapping from TOML text.

    With ``base = "otlp"`` it starts from a known mapping and overrides it field by field; `only` is replaced whole.

    Args:
        text: The TOML text.
        source: Where it came from, as messages name it.
        known: Mappings that it may start from.

    Raises:
        UsageError: The text is no mapping; the message has the field and what would be right.
    """
    try:
        written = msgspec.convert(tomllib.loads(text), _Written)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}") from None
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{source}: {error}") from None
    if written.base and written.base not in known:
        raise UsageError(f"{source}: {unknown_name('mapping', written.base, known, '`base`')}")
    base = known.get(written.base, Mapping())
    for name in written.fields:
        if name not in FIELDS:
            raise UsageError(f"{source}: fields.{name}: {unknown_name('field', name, FIELDS, 'docs/steps.md')}")
    try:
        fields = {
            name: found if isinstance(found, Source) else Source(at=found) for name, found in written.fields.items()
        }
        only = base.only if isinstance(written.only, UnsetType) else _alternatives(written.only)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    return Mapping(shape=base.shape, only=only, fields={**base.fields, **fields})


def _alternatives(
    only: dict[str, tuple[Any, ...]] | tuple[dict[str, tuple[Any, ...]], ...],
) -> tuple[dict[str, tuple[Any, ...]], ...]:
    alternatives = (only,) if isinstance(only, dict) else only
    for alternative in alternatives:
        for place in alternative:
            pointers.parse(place)
    return alternatives


def is_step(record: Any, mapping: Mapping) -> bool:
    """Whether a record is a step."""
    return not mapping.only or any(
        all(_at(record, (place,)) in values for place, values in alternative.items()) for alternative in mapping.only
    )


def field(record: Any, mapping: Mapping, name: str) -> Any:
    """Return what a record says of one field, `UNSET` if nothing.

    Raises:
        ValueError: What it says cannot be read as its source wants.
    """
    source = mapping.fields.get(name)
    if source is None:
        return UNSET
    found = _at(record, source.places, null=source.null)
    if found is UNSET:
        return source.value
    if source.json and isinstance(found, str):
        found = _parsed(found)
    if source.words:
        found = _translated(found, source.words)
    return found if source.unit is None else _seconds(found, source.unit)


def draft_of(record: Any, mapping: Mapping, where: str) -> Draft:
    """Read a draft from a record.

    Args:
        record: The record.
        mapping: Where the fields stand in it.
        where: File and line, as messages name them.

    Raises:
        UsageError: A field cannot be read; the message has file, line, our field and where it stands.
    """
    fields: dict[str, Any] = {}
    for name in mapping.fields:
        try:
            found = field(record, mapping, name)
        except ValueError as error:
            raise UsageError(f"{where}: {name}{_from(mapping, name)}: {error}") from None
        if found is not UNSET:
            fields[name] = found
    if "tool" not in fields:
        raise UsageError(f"{where}: Step needs tool{_from(mapping, 'tool')}; say where it stands")
    arguments = fields.get("arguments", {})
    fields["arguments"] = arguments if isinstance(arguments, dict) else {"input": arguments}
    try:
        return msgspec.convert(fields, Draft)
    except msgspec.ValidationError as error:
        name = named[1] if (named := re.search(r"`\$\.(\w+)", str(error))) else ""
        raise UsageError(f"{where}: {name}{_from(mapping, name)}: {error}") from None


def _from(mapping: Mapping, name: str) -> str:
    source = mapping.fields.get(name)
    return f" (from {' or '.join(source.places)})" if source is not None and source.places else ""


def _at(record: Any, places: tuple[str, ...], *, null: bool = False) -> Any:
    for place in places:
        try:
            found = pointers.get(record, pointers.parse(place))
        except LookupError:
            continue
        if found is not None or null:
            return found
    return UNSET


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text


def _translated(found: Any, words: dict[str, Any]) -> Any:
    word = found if isinstance(found, str) else msgspec.json.encode(found).decode()
    if word in words:
        return words[word]
    if _OTHERWISE in words:
        return words[_OTHERWISE]
    raise ValueError(f"{word!r} is none of the words that are known: {', '.join(words)}")


def _seconds(found: Any, unit: Unit) -> float:
    if unit == "iso":
        if not isinstance(found, str):
            raise ValueError(f"{found!r} is no date and time in a text (unit iso)")
        moment = datetime.fromisoformat(found)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        raise ValueError(f"{found!r} is no number of {unit}")
    try:
        return float(found) / _SECONDS[unit]
    except ValueError:
        raise ValueError(f"{found!r} is no number of {unit}") from None
