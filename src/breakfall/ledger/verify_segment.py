"""The check of one segment: its lines against their hashes, their numbers, and what others remember of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger.chain import ENVELOPE, START, carried, computed
from breakfall.ledger.finding import Finding, Flaw, Head, Witness
from breakfall.ledger.line import CHAINED, DECODER, Closed, Header, Line
from breakfall.ledger.source import Source, whole
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

_NAMED_ONE_BY_ONE = 1000
"""Missing lines in a row that are named one by one; more become one finding."""


class _Row(Struct):
    """One whole line, as far as the check needs it."""

    seq: int
    what: str = ""
    carried: bytes | None = None
    sealed: bool = False
    """Whether the line has the hash that follows from its content and the line above it."""
    raw: bytes = b""
    """The line, where it has not."""


class SegmentCheck:
    """Checks one segment.

    Args:
        source: The lines.
        name: The segment.
        witnesses: What others remember of it.
        recall: Names the step of a line that is gone, given its number; "" where nothing tells.
    """

    def __init__(self, source: Source, name: str, witnesses: Sequence[Witness], recall: Callable[[int], str]) -> None:
        self.name = name
        self.head: Head | None = None
        self.steps = 0
        self.chained = True
        self._source = source
        self._witnesses = witnesses
        self._recall = recall
        self._header: Header | None = None
        self._closed_at: int | None = None
        self._rows: list[_Row] = []
        self._found: list[Finding] = []
        self._open_steps = 0

    @property
    def lines(self) -> int:
        """How many whole lines it has."""
        return len(self._rows)

    def findings(self) -> list[Finding]:
        """Read the segment and list what is wrong with it."""
        self._read()
        if self.chained:
            self._found += [*self._order(), *self._changed(), *self._renamed()]
        self._found += [*self._remembered(), *self._torn()]
        if self.chained and self._rows:
            last = max(self._rows, key=lambda row: row.seq)
            self.head = Head(segment=self.name, seq=last.seq, chain=(last.carried or START).hex())
        return self._found

    def _read(self) -> None:
        above = START
        for raw in self._source.lines(self.name):
            row = _Row(seq=len(self._rows), carried=carried(raw.line))
            self._take(raw.line, row)
            row.sealed = row.carried is not None and row.carried == computed(raw.line, above)
            if not row.sealed:
                row.raw = raw.line
            above = row.carried or START
            self._rows.append(row)

    def _take(self, raw: bytes, row: _Row) -> None:
        try:
            line = DECODER.decode(raw)
            envelope = ENVELOPE.decode(raw)
        except msgspec.MsgspecError as error:
            row.what = _glimpse(raw)
            self._add(Flaw.DAMAGED, row, f"the line cannot be read: {error}")
            return
        row.what = _describe(line)
        if isinstance(line, Header) and not self._rows:
            self._header = line
            self.chained = line.format >= CHAINED
        if self.chained and envelope.seq >= 0:
            row.seq = envelope.seq
        if isinstance(line, Closed):
            self._closed_at = row.seq
        elif isinstance(line, Step):
            self.steps += 1
            self._open_steps += 1
            self._check_values(raw, row, line)
        elif isinstance(line, EpisodeEnd):
            if not self.chained and line.steps != self._open_steps:
                why = f"it had {line.steps} steps, and {self._open_steps} stand before its end"
                self._add(Flaw.REMOVED if line.steps > self._open_steps else Flaw.ADDED, row, why)
            self._open_steps = 0

    def _check_values(self, raw: bytes, row: _Row, step: Step) -> None:
        try:
            if step.blobs:
                whole(self._source, self.name, raw, step)
        except StoreError as error:
            self._add(Flaw.CHANGED, row, f"a large value of it: {error}")

    def _order(self) -> Iterator[Finding]:
        """Find lines that stand out of order, twice, behind the end, or not at all."""
        highest, seen = -1, set[int]()
        for row in self._rows:
            if row.seq in seen:
                yield self._finding(Flaw.ADDED, row, "a line of this number stands there already")
            elif row.seq < highest:
                yield self._finding(Flaw.REORDERED, row, f"it stands behind line {highest}")
            elif self._closed_at is not None and row.seq > self._closed_at:
                yield self._finding(Flaw.ADDED, row, "it stands behind the line that closed the segment")
            seen.add(row.seq)
            highest = max(highest, row.seq)
        there = sorted({row.seq: row.what for row in self._rows}.items())
        before, before_what = -1, ""
        for seq, what in there:
            where = f"after {before_what}" if before_what else "at the start"
            yield from self._missing(before + 1, seq, where, "its number is missing")
            before, before_what = seq, what

    def _missing(self, first: int, end: int, where: str, why: str) -> Iterator[Finding]:
        """Name the lines from `first` up to but not including `end`, which are gone."""
        if end - first > _NAMED_ONE_BY_ONE:
            what = f"lines {first} to {end - 1}, {where}"
            yield Finding(flaw=Flaw.REMOVED, segment=self.name, seq=first, what=what, why=why)
            return
        for seq in range(first, end):
            what = self._recall(seq) or f"line {seq}, {where}"
            yield Finding(flaw=Flaw.REMOVED, segment=self.name, seq=seq, what=what, why=why)

    def _changed(self) -> Iterator[Finding]:
        """Find lines whose hash does not follow from their content and the line before them."""
        by_seq = {row.seq: row for row in reversed(self._rows)}
        for row in self._rows:
            before = by_seq.get(row.seq - 1)
            if row.sealed or (before is None and row.seq > 0):
                continue  # the line before it is gone, which is told; nothing is left to hold this one against
            if row.carried is None:
                yield self._finding(Flaw.CHANGED, row, "it carries no hash")
                continue
            above = START if before is None else before.carried
            if above is None or row.carried == computed(row.raw, above):
                continue
            if before is not None and not before.sealed and self._follows_resealed(row, before, by_seq):
                continue
            last = f"or {before.what} before it " if before is not None and before.sealed else ""
            yield self._finding(Flaw.CHANGED, row, f"its content {last}is not what was sealed")

    def _follows_resealed(self, row: _Row, before: _Row, by_seq: dict[int, _Row]) -> bool:
        """Whether only the hash that the line before carries was changed, so that this line is as it was."""
        above = by_seq.get(before.seq - 1)
        start = START if above is None else above.carried or START
        return row.carried == computed(row.raw, computed(before.raw, start))

    def _renamed(self) -> Iterator[Finding]:
        if self._header is not None and self._header.segment not in ("", self.name):
            why = f"the file holds segment {self._header.segment}"
            yield Finding(flaw=Flaw.CHANGED, segment=self.name, seq=0, what="the file's name", why=why)

    def _remembered(self) -> Iterator[Finding]:
        """Hold the segment against what others remember of it."""
        if not self._rows:
            return
        highest = max(row.seq for row in self._rows)
        chains = {row.seq: row.carried for row in self._rows if row.sealed}
        end = highest + 1
        for witness in self._witnesses:
            if witness.seq >= end:
                yield from self._missing(end, witness.seq + 1, "at the end", f"{witness.who} knows it")
                end = witness.seq + 1
            chain = chains.get(witness.seq)
            if self.chained and chain is not None and chain.hex() != witness.chain:
                why = f"{witness.who} remembers another hash of it: the segment was sealed anew"
                what = f"everything up to line {witness.seq}"
                yield Finding(flaw=Flaw.CHANGED, segment=self.name, seq=witness.seq, what=what, why=why)

    def _torn(self) -> Iterator[Finding]:
        tail = self._source.torn(self.name)
        if tail:
            why = f"its {len(tail):,} bytes were not written whole, or are being written"
            yield Finding(flaw=Flaw.TORN, segment=self.name, seq=len(self._rows), what=_glimpse(tail), why=why)

    def _add(self, flaw: Flaw, row: _Row, why: str) -> None:
        self._found.append(self._finding(flaw, row, why))

    def _finding(self, flaw: Flaw, row: _Row, why: str) -> Finding:
        return Finding(flaw=flaw, segment=self.name, seq=row.seq, what=row.what, why=why)


_GLIMPSE = re.compile(rb'"episode":"((?:[^"\\]|\\.)*)"(?:,"n":(\d+))?')


def _describe(line: Line) -> str:
    if isinstance(line, Step):
        return f"step {line.n} of {line.episode} ({line.tool})"
    if isinstance(line, EpisodeEnd):
        return f"the end of {line.episode}"
    if isinstance(line, NotApplicable):
        return f"not applicable: {line.key.id}"
    if isinstance(line, StepVerdict | Incident):
        return f"the watchdog's line {line.id}"
    return "the header" if isinstance(line, Header) else "the closing line"


def _glimpse(raw: bytes) -> str:
    """Name a line that cannot be decoded, as far as it can be read."""
    found = _GLIMPSE.search(raw)
    if found is None:
        return "a line"
    episode = found[1].decode(errors="replace")
    return f"step {int(found[2])} of {episode}" if found[2] else f"a line of {episode}"
