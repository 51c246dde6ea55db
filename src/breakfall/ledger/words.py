"""The words of a step, for full-text search: the same in SQLite and in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from breakfall.vocab import Failed, Step

MOST_WORDS = 30_000
"""Different words of one step that can be found; PostgreSQL holds no more than a megabyte of them."""

_LONGEST = 64
_WORD = re.compile(r"[^\W_]+")


def words(step: Step) -> list[str]:
    """Return the different words of what a step was for, what it sent and what came back, in any script.

    A word is a run of letters and digits, in lower case; of a longer one the first 64 characters count.
    """
    found: dict[str, None] = {}
    for text in _texts(step):
        for word in _WORD.findall(text.casefold()):
            found[word[:_LONGEST]] = None
        if len(found) > MOST_WORDS:
            return list(found)[:MOST_WORDS]
    return list(found)


def terms(text: str) -> list[str]:
    """Return the words of a search, each of which must begin a word of a step."""
    return list(dict.fromkeys(word[:_LONGEST] for word in _WORD.findall(text.casefold())))


def _texts(step: Step) -> Iterator[str]:
    yield from (step.episode, step.run, step.call, step.tool, step.agent, step.key or "")
    expected = step.expected_outcome
    if isinstance(expected, str):
        yield expected
    else:
        yield from (expected.intent, expected.target)
        yield from _inside([predicate.value for predicate in expected.predicate])
    yield step.verification.method
    yield from _inside(step.arguments)
    outcome = step.observed_outcome
    if isinstance(outcome, Failed):
        yield from (outcome.message, outcome.body or "", outcome.exception or "", str(outcome.status or ""))
    else:
        yield from _inside(outcome.value)


def _inside(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, names of fields included; without recursion, for it may be deep."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        elif value is not None and not isinstance(value, bool):
            yield str(value)
