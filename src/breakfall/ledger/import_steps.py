"""Importing: the records of a file become Steps, numbered by episode, all of them or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from breakfall.errors import UsageError, unknown_name
from breakfall.ledger.draft import Draft, Place, missing, refusal, step_of
from breakfall.ledger.import_known import KNOWN
from breakfall.ledger.import_mapping import Mapping, draft_of, field, is_step, load_mapping
from breakfall.ledger.import_records import Record, records
from breakfall.vocab import Step, StepSink


class Imported(Struct, frozen=True, kw_only=True):
    """What an import came to."""

    steps: int
    episodes: int
    passed_over: int
    """Records that are no step, as `Mapping.only` has it."""
    incomplete: int
    """Steps that came without all four fields."""
    lacking: dict[str, int]
    """Required field -> steps that came without it."""


class _Found(Struct, frozen=True):
    """A draft and where it stood."""

    draft: Draft
    where: str


def mapping_of(name: str) -> Mapping:
    """Return a known mapping by its name, or read one from the file of that name (it ends in ``.toml``).

    Raises:
        UsageError: There is none, or the file is no mapping.
    """
    if not name.endswith(".toml"):
        if name not in KNOWN:
            raise unknown_name("mapping", name, KNOWN, "or give a .toml file")
        return KNOWN[name]
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: cannot read the mapping: {error}") from None
    return load_mapping(text, name, KNOWN)


def import_file(path: Path, mapping: Mapping, sink: StepSink, *, accept_incomplete: bool = False) -> Imported:
    """Hand the steps of a file to a sink; nothing is handed over before all of the file was read and found right.

    Args:
        path: The file; it is held in memory whole.
        mapping: Where the fields stand in its records.
        sink: Where the Steps go.
        accept_incomplete: Accept and count steps that lack a required field.

    Raises:
        UsageError: A record cannot be read, or lacks a required field; the message has file, line and field.
    """
    steps, report = read_steps(path, mapping, accept_incomplete=accept_incomplete)
    for step in steps:
        sink.step(step)
    return report


def read_steps(path: Path, mapping: Mapping, *, accept_incomplete: bool = False) -> tuple[list[Step], Imported]:
    """Read the steps of a file; see `import_file`.

    Steps are numbered by episode in the order of their times; where one has none, in the order of the file. What names
    no episode belongs to one named after the file. A parent that is no step itself is passed over for its own parent.
    """
    episodes: dict[str, list[_Found]] = {}
    above: dict[tuple[str, str], str] = {}
    lacking: Counter[str] = Counter()
    passed_over = incomplete = 0
    for record in records(path, mapping.shape):
        if not is_step(record.data, mapping):
            passed_over += 1
            episode, call, parent = (_text(record, mapping, name) for name in ("episode", "call", "parent"))
            above[episode or path.name, call] = parent
            continue
        draft = draft_of(record.data, mapping, record.where)
        lacks = missing(draft)
        if lacks and not accept_incomplete:
            raise _refused(record, mapping, lacks)
        incomplete += bool(lacks)
        lacking.update(lacks)
        episode = draft.episode or path.name
        above[episode, draft.call] = draft.parent
        episodes.setdefault(episode, []).append(_Found(draft, record.where))
    steps = [step for episode, found in episodes.items() for step in _numbered(episode, found, above)]
    report = Imported(
        steps=len(steps),
        episodes=len(episodes),
        passed_over=passed_over,
        incomplete=incomplete,
        lacking=dict(sorted(lacking.items())),
    )
    return steps, report


def _refused(record: Record, mapping: Mapping, lacks: tuple[str, ...]) -> UsageError:
    looked = [place for name in lacks if name in mapping.fields for place in mapping.fields[name].places]
    at = f" (looked at {', '.join(looked)})" if looked else ""
    return UsageError(f"{record.where}: {refusal(lacks)}; or accept incomplete steps{at}")


def _text(record: Record, mapping: Mapping, name: str) -> str:
    try:
        found: Any = field(record.data, mapping, name)
    except ValueError as error:
        raise UsageError(f"{record.where}: {name}: {error}") from None
    return found if isinstance(found, str) else ""


def _numbered(episode: str, found: Sequence[_Found], above: dict[tuple[str, str], str]) -> list[Step]:
    began = [each.draft.unix_s for each in found]
    known = [at for at in began if at is not None]
    ordered = sorted(found, key=lambda each: each.draft.unix_s or 0.0) if len(known) == len(found) else list(found)
    first_s = min(known, default=0.0)
    numbers = {each.draft.call: n for n, each in enumerate(ordered) if each.draft.call}
    steps = []
    for n, each in enumerate(ordered):
        draft = each.draft
        place = Place(
            episode=episode,
            n=n,
            call=draft.call or f"c{n}",
            at_s=0.0 if draft.unix_s is None else round(draft.unix_s - first_s, 6),
            unix_s=draft.unix_s,
            took_s=_took_s(draft),
            parent=_parent(episode, draft, numbers, above),
            evidence=_evidence(each, numbers),
        )
        steps.append(step_of(draft, place, accept_incomplete=True))
    return steps


def _took_s(draft: Draft) -> float:
    if draft.took_s is not None:
        return draft.took_s
    if draft.unix_s is None or draft.ended_unix_s is None:
        return 0.0
    return round(max(0.0, draft.ended_unix_s - draft.unix_s), 6)


def _parent(episode: str, draft: Draft, numbers: dict[str, int], above: dict[tuple[str, str], str]) -> int | None:
    seen = {draft.call}
    call = draft.parent
    while call and call not in seen:
        if call in numbers:
            return numbers[call]
        seen.add(call)
        call = above.get((episode, call), "")
    return None


def _evidence(found: _Found, numbers: dict[str, int]) -> int | None:
    evidence = found.draft.evidence
    if evidence and evidence not in numbers:
        raise UsageError(f"{found.where}: evidence is {evidence!r}, which is no step of the same episode")
    return numbers[evidence] if evidence else None
