"""Full-text search over what steps were for, what they sent, and what came back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.ledger.follow import Progress
from breakfall.ledger.questions import LIMIT, STEP_LINES, Filter, StepLine, struct
from breakfall.ledger.store import Ledger
from breakfall.ledger.words import terms, words
from breakfall.vocab import Step

_BATCH = 5000
_AROUND = 60


class Hit(Struct, frozen=True, kw_only=True):
    """A step that holds every word that was looked for."""

    line: StepLine
    excerpt: str
    """What stands around the first of the words."""


def search(
    ledger: Ledger, text: str, which: Filter, *, limit: int = LIMIT, progress: Progress | None = None
) -> list[Hit]:
    """Find the steps that hold words beginning with each word of a text, those that were indexed last first.

    The text index is brought up first: after many new steps the first search takes its time.

    Args:
        ledger: The ledger.
        text: What is looked for; upper and lower case make no difference, nor does the order of words.
        which: Which steps count.
        limit: At most so many.
        progress: Told now and then how many steps were added to the text index.

    Raises:
        UsageError: The text holds no word.
        StoreError: A line is damaged.
    """
    wanted = terms(text)
    if not wanted:
        raise UsageError(f"{text!r} holds no word to look for; give letters or digits")
    bring_up(ledger, progress)
    matching = ledger.db.matching
    where, values = which.where(matching.condition)
    joined = f"{STEP_LINES} JOIN {matching.table} ON {matching.step} = s.id"
    query = f"{joined} {where} ORDER BY {matching.step} DESC LIMIT :limit"
    rows = ledger.db.rows(query, values | {"terms": matching.terms(wanted), "limit": limit})
    lines = [struct(StepLine, row) for row in rows]
    found = ledger.steps([line.id for line in lines])
    return [Hit(line=line, excerpt=excerpt(step, wanted)) for line, step in zip(lines, found, strict=True)]


def bring_up(ledger: Ledger, progress: Progress | None = None) -> None:
    """Add the words of steps that the text index does not hold yet.

    Raises:
        StoreError: A line is damaged.
    """
    db = ledger.db
    while True:
        with db.change():
            (done,) = db.rows("SELECT COALESCE(MAX(done), 0) FROM bf_worded")[0]
            numbers = [
                row[0]
                for row in db.rows(
                    "SELECT id FROM bf_steps WHERE id > :done ORDER BY id LIMIT :some", {"done": done, "some": _BATCH}
                )
            ]
            if not numbers:
                return
            rows = [(number, words(step)) for number, step in zip(numbers, ledger.steps(numbers), strict=True)]
            db.add_words(rows)
            db.rows("DELETE FROM bf_worded")
            db.many("INSERT INTO bf_worded (done) VALUES (?)", [(numbers[-1],)])
        if progress is not None:
            progress(len(numbers))


def excerpt(step: Step, wanted: Sequence[str]) -> str:
    """Return what stands around the first of the words, in the step's arguments, outcome or expectation."""
    first = re.compile("|".join(rf"(?<![^\W_]){re.escape(word)}" for word in wanted), re.IGNORECASE)
    for text in _parts(step):
        if found := first.search(text):
            start, end = max(0, found.start() - _AROUND), min(len(text), found.end() + _AROUND)
            middle = " ".join(text[start:end].split())
            return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"
    return ""


def _parts(step: Step) -> Iterator[str]:
    yield str(step.expected_outcome)
    yield msgspec.json.encode(step.observed_outcome).decode()
    yield msgspec.json.encode(step.arguments).decode()
    yield f"{step.tool} {step.call} {step.episode} {step.run} {step.agent} {step.verification.method}"
