"""Taking secrets out of lines before they are written; a line says where something was taken out, never what."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jsonschema_rs
import msgspec

from breakfall.ledger.scrub_rules import (
    KEEP,
    Rule,
    ScrubSettings,
    field_names,
    is_card,
    own_rules,
    text_rules,
)
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, Step
from breakfall.vocab import pointer as pointers

SCRUBBED = "[scrubbed]"
"""What stands where a secret was."""

_CARD_FROM = 10**12
_LINKS = frozenset(
    {"line", "id", "episode", "n", "call", "run", "parent", "parent_episode", "key", "incomplete", "scrubbed", "blobs"}
)
"""Fields that lines are found and linked by; no secret may stand there, and none is looked for."""
_SOURCES = "sources"
"""Its values are places, named after arguments."""

Line = TypeVar("Line", bound=Step | EpisodeEnd | StepVerdict | Incident)


class Scrubber:
    """Takes secrets out of lines; immutable, and safe to share between threads.

    Args:
        settings: Which rules hold.
    """

    __slots__ = ("_clean", "_fields", "_keep", "_numbers", "_rules")

    def __init__(self, settings: ScrubSettings | None = None) -> None:
        settings = settings or ScrubSettings()
        own = own_rules(settings)
        self._rules = [*text_rules(settings), *own]
        self._fields = field_names(settings)
        self._keep = frozenset(name.casefold() for name in (*KEEP, *settings.keep))
        self._numbers = "card" not in settings.off
        self._clean = _none_of([rule.mark for rule in self._rules])

    def suspicious(self, encoded: bytes) -> bool:
        """Whether an encoded line may hold a secret; False is certain, and cheap to find out."""
        return self._clean is None or not self._clean(encoded.decode())

    def scrub(self, line: Line) -> Line:
        """Return the line without secrets; itself, if it holds none."""
        walk = _Walk(self._without_secrets, self._is_secret_name, numbers=self._numbers)
        fields: dict[str, Any] = msgspec.to_builtins(line)
        clean = {
            name: value if name in _LINKS else walk.value(value, "/" + name, named=name != _SOURCES)
            for name, value in fields.items()
        }
        if not walk.places:
            return line
        places = dict.fromkeys((*line.scrubbed, *walk.places))
        return msgspec.convert(clean | {"scrubbed": sorted(places)}, type(line))

    def _without_secrets(self, text: str) -> str:
        if not self.suspicious(msgspec.json.encode(text)):
            return text
        for rule in self._rules:
            text = rule.pattern.sub(partial(_replaced, rule), text)
        return text

    def _is_secret_name(self, key: str) -> bool:
        return self._fields is not None and bool(self._fields.search(key)) and key.casefold() not in self._keep


def _none_of(marks: list[str]) -> Any:
    """Return a function that tells whether a text holds none of the marks; None if that is never certain.

    The pattern is run as a JSON Schema, because the validator brings the one fast regex engine that is here already.
    """
    if not all(marks):
        return None
    if not marks:
        return lambda text: True
    schema = {"not": {"type": "string", "pattern": "|".join(f"(?:{mark})" for mark in marks)}}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions()).is_valid


class _Walk:
    """One pass over one line."""

    __slots__ = ("_is_secret_name", "_numbers", "_without_secrets", "places")

    def __init__(
        self, without_secrets: Callable[[str], str], is_secret_name: Callable[[str], bool], *, numbers: bool
    ) -> None:
        self._without_secrets = without_secrets
        self._is_secret_name = is_secret_name
        self._numbers = numbers
        self.places: list[str] = []

    def value(self, value: Any, at: str, *, named: bool = True) -> Any:
        """Return a JSON value without secrets; `named` tells whether the names of fields matter in it."""
        kind = type(value)
        if kind is str:
            return self._text(value, at)
        if kind is dict:
            return self._object(value, at, named=named)
        if kind is list:
            return [self.value(item, f"{at}/{place}", named=named) for place, item in enumerate(value)]
        if kind is int and self._numbers and value >= _CARD_FROM and is_card(str(value)):
            self.places.append(at)
            return SCRUBBED
        return value

    def _object(self, value: dict[str, Any], at: str, *, named: bool) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        for key, item in value.items():
            name = self._name(key, clean)
            place = f"{at}/{pointers.escape(name)}"
            if name != key:
                self.places.append(place)
            if named and _worth_hiding(item) and self._is_secret_name(key):
                self.places.append(place)
                clean[name] = SCRUBBED
            else:
                clean[name] = self.value(item, place, named=named and key != _SOURCES)
        return clean

    def _name(self, key: str, taken: dict[str, Any]) -> str:
        """Return a field's name without secrets, and none that is taken."""
        name = base = self._without_secrets(key)
        if name == key:
            return key
        again = 2
        while name in taken:
            name = f"{base} {again}"
            again += 1
        return name

    def _text(self, text: str, at: str) -> str:
        clean = self._without_secrets(text)
        if clean != text:
            self.places.append(at)
        return clean


def _worth_hiding(value: Any) -> bool:
    """Whether a value says anything: null, booleans, empty values and what was scrubbed before do not."""
    return not isinstance(value, bool) and value not in (None, "", SCRUBBED) and value not in ([], {})


_GROUPS = ("secret", "a", "b", "c")


def _replaced(rule: Rule, found: re.Match[str]) -> str:
    if rule.is_secret is not None and not rule.is_secret(found):
        return found[0]
    groups = found.groupdict()
    group: str | int = next((name for name in _GROUPS if groups.get(name) is not None), 0)
    if found[group].startswith(SCRUBBED):
        return found[0]
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:start] + SCRUBBED + found[0][end:]
