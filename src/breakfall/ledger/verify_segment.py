"""The check of one segment: its lines against their hashes, their numbers, and what others remember of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from breakfall.errors import StoreError
from breakfall.ledger.chain import ENVELOPE, START, carried, computed
from breakfall.ledger.finding import Finding, Flaw, Head, Witness
from breakfall.ledger.line import CHAINED, DECODER, Closed, Header, Holds, Line
from breakfall.ledger.source import Source, whole
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, NotApplicable, Step

_NAMED_ONE_BY_ONE = 1000
"""Missing lines in a row that are named one by one; more become one finding."""


class Recalled(Struct, frozen=True):
    """What an index remembers of a line."""

    what: str
    crc: int | None


class _Row(Struct):
    """One whole line, as far as the check needs it."""

    seq: int
    what: str = ""


class _Block(Struct):
    """What was written at once and carries one hash: a line, or a bench's episode."""

    first: int
    """The number of its first line, as its last one tells."""
    last: int
    what: str
    carried: bytes | None
    sealed: bool
    """Whether it has the hash that follows from its content and what stands above it."""
    raw: bytes
    """The lines, where it has not."""
    rows: list[_Row]
    told: bool
    """Whether something is wrong with single lines of it, which is told of them."""


class SegmentCheck:
    """Checks one segment.

    Args:
        source: The lines.
        name: The segment.
        witnesses: What others remember of it.
        recall: What an index remembers of a line, given its number.
    """

    def __init__(
        self, source: Source, name: str, witnesses: Sequence[Witness], recall: Callable[[int], Recalled | None]
    ) -> None:
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
        self._blocks: list[_Block] = []
        self._open: list[tuple[_Row, bytes]] = []
        self._above = (-1, START)
        self._found: list[Finding] = []

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
        if self.chained and self._blocks:
            last = max(self._blocks, key=lambda block: block.last)
            self.head = Head(segment=self.name, seq=last.last, chain=(last.carried or START).hex())
        return self._found

    def _read(self) -> None:
        for raw in self._source.lines(self.name):
            row = _Row(seq=self._above[0] + 1 + len(self._open))
            known = len(self._found)
            line, seq = self._decoded(raw.line, row)
            self._open.append((row, raw.line))
            self._rows.append(row)
            if not self._episodes or not isinstance(line, Step):
                self._end_block(line, seq, damaged=len(self._found) > known)

    @property
    def _episodes(self) -> bool:
        return self._header is not None and self._header.holds is Holds.EPISODES

    def _decoded(self, raw: bytes, row: _Row) -> tuple[Line | None, int]:
        """Decode a line and name it; the number is -1 where it carries none."""
        try:
            line = DECODER.decode(raw)
            seq = ENVELOPE.decode(raw).seq
        except msgspec.MsgspecError as error:
            row.what = _glimpse(raw)
            self._add(Flaw.DAMAGED, row, f"the line cannot be read: {error}")
            return None, -1
        row.what = _describe(line)
        if isinstance(line, Header) and not self._rows:
            self._header = line
            self.chained = line.format >= CHAINED
        if self.chained and seq >= 0:
            row.seq = seq
        if isinstance(line, Closed):
            self._closed_at = row.seq
        elif isinstance(line, Step):
            self.steps += 1
            if self._episodes:
                row.seq = self._above[0] + 1 + line.n
            self._check_values(raw, row, line)
        return line, seq

    def _end_block(self, line: Line | None, seq: int, *, damaged: bool) -> None:
        """Judge what was written at once, now that its last line is here."""
        rows, raw = [row for row, _ in self._open], b"".join(part for _, part in self._open)
        last, steps = rows[-1], len(rows) - 1
        if isinstance(line, EpisodeEnd) and self._episodes:
            steps = line.steps
            if not self.chained and steps != len(rows) - 1:
                why = f"it had {steps} steps, and {len(rows) - 1} stand before its end"
                self._add(Flaw.REMOVED if steps >= len(rows) else Flaw.ADDED, last, why)
        last.seq = seq if self.chained and seq >= 0 else self._above[0] + 1 + steps
        for row in rows[:-1]:
            row.seq += last.seq - steps - self._above[0] - 1  # what is missing before the block is not missing in it
        hash_carried = carried(self._open[-1][1])
        sealed = hash_carried is not None and hash_carried == computed(raw, self._above[1])
        block = _Block(
            first=last.seq - steps,
            last=last.seq,
            what=last.what if steps == 0 else last.what.replace("the end of ", "episode "),
            carried=hash_carried,
            sealed=sealed,
            raw=b"" if sealed else raw,
            rows=rows,
            told=damaged or [row.seq for row in rows] != list(range(last.seq - steps, last.seq + 1)),
        )
        self._blocks.append(block)
        self._above = (last.seq, hash_carried or START)
        self._open = []

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
            recalled = self._recall(seq)
            what = f"line {seq}, {where}" if recalled is None else recalled.what
            yield Finding(flaw=Flaw.REMOVED, segment=self.name, seq=seq, what=what, why=why)

    def _changed(self) -> Iterator[Finding]:
        """Find blocks whose hash does not follow from their content and what stands before them."""
        by_end = {block.last: block for block in reversed(self._blocks)}
        for block in self._blocks:
            before = by_end.get(block.first - 1)
            if block.sealed or (before is None and block.first > 0) or (block.told and len(block.rows) > 1):
                continue  # told already; or nothing is left to hold it against, which is told too
            if block.carried is None:
                if not block.told:
                    yield self._finding(Flaw.CHANGED, block.rows[-1], "it carries no hash")
                continue
            above = START if before is None else before.carried
            if above is None or block.carried == computed(block.raw, above):
                continue
            if before is not None and not before.sealed and self._follows_resealed(block, before, by_end):
                continue
            yield from self._suspects(block, before)

    def _suspects(self, block: _Block, before: _Block | None) -> Iterator[Finding]:
        """Name what was changed as closely as anything tells."""
        if len(block.rows) == 1:
            last = f"or {before.what} before it " if before is not None and before.sealed else ""
            yield self._finding(Flaw.CHANGED, block.rows[0], f"its content {last}is not what was sealed")
            return
        named = False
        for row, raw in zip(block.rows, block.raw.splitlines(keepends=True), strict=True):
            recalled = self._recall(row.seq)
            if recalled is not None and recalled.crc is not None and recalled.crc != zlib.crc32(raw):
                named = True
                yield self._finding(Flaw.CHANGED, row, "it is not the line that the index read")
        if not named:
            why = "one of its lines is not what was sealed; `breakfall repro` tells which"
            yield Finding(flaw=Flaw.CHANGED, segment=self.name, seq=block.last, what=block.what, why=why)

    def _follows_resealed(self, block: _Block, before: _Block, by_end: dict[int, _Block]) -> bool:
        """Whether only the hash that is carried before was changed, so that this block is as it was."""
        above = by_end.get(before.first - 1)
        start = START if above is None else above.carried or START
        return block.carried == computed(block.raw, computed(before.raw, start))

    def _renamed(self) -> Iterator[Finding]:
        if self._header is not None and self._header.segment not in ("", self.name):
            why = f"the file holds segment {self._header.segment}"
            yield Finding(flaw=Flaw.CHANGED, segment=self.name, seq=0, what="the file's name", why=why)

    def _remembered(self) -> Iterator[Finding]:
        """Hold the segment against what others remember of it."""
        if not self._rows:
            return
        chains = {block.last: block.carried for block in self._blocks if block.sealed}
        end = max(row.seq for row in self._rows) + 1
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
