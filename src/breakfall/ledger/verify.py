"""Whether a ledger is as it was written: what was changed, removed, reordered, added or torn, by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial

from breakfall.ledger.finding import Checked, Finding, Flaw, Head, Witness
from breakfall.ledger.follow import Database, Known, known
from breakfall.ledger.retention import Pruned
from breakfall.ledger.source import Source, header
from breakfall.ledger.verify_segment import Recalled, SegmentCheck

_WHOLE = "the whole segment"


def verify(
    source: Source, index: Database | None, pruned: Mapping[str, Pruned], kept: Mapping[str, Head] | None = None
) -> Checked:
    """Check every segment.

    Args:
        source: The lines.
        index: The index as it was before this check: it remembers what it read. None if there is none.
        pruned: Segments that were dropped on purpose, by name.
        kept: Ends of segments that were kept elsewhere, by the segment's name.

    Raises:
        StoreError: A segment cannot be read at all.
    """
    remembered = {} if index is None else known(index)
    segments = list(source.segments())
    witnesses = _witnesses(source, segments, remembered, kept or {})
    checks = []
    findings = []
    for name in segments:
        recall = partial(_recalled, index, remembered.get(name))
        check = SegmentCheck(source, name, witnesses.pop(name, []), recall)
        findings += check.findings()
        checks.append(check)
    for name, told in witnesses.items():
        if name not in pruned:
            who = " and ".join(dict.fromkeys(witness.who for witness in told))
            findings.append(Finding(flaw=Flaw.REMOVED, segment=name, what=_WHOLE, why=f"{who} knows it"))
        elif any(_disagrees(witness, pruned[name]) for witness in told):
            why = "it had another end than the list of pruned segments says"
            findings.append(Finding(flaw=Flaw.CHANGED, segment=name, what=_WHOLE, why=why))
    return Checked(
        segments=len(segments),
        lines=sum(check.lines for check in checks),
        steps=sum(check.steps for check in checks),
        unchained=tuple(check.name for check in checks if not check.chained),
        findings=tuple(findings),
        heads=tuple(check.head for check in checks if check.head is not None),
    )


def _disagrees(witness: Witness, end: Pruned) -> bool:
    """Whether what a witness remembers does not agree with the end of a segment that was dropped."""
    return witness.seq > end.seq or (witness.seq == end.seq and witness.chain != end.chain)


def _witnesses(
    source: Source, segments: list[str], remembered: Mapping[str, Known], kept: Mapping[str, Head]
) -> dict[str, list[Witness]]:
    """Collect what the index, the segments that follow, and ends kept elsewhere remember of each segment."""
    found: defaultdict[str, list[Witness]] = defaultdict(list)
    for name, there in remembered.items():
        if there.seq >= 0:
            found[name].append(Witness(seq=there.seq, chain=there.chain, who="the index"))
    for name in segments:
        for link in _after(source, name):
            found[link[0]].append(link[1])
    for name, head in kept.items():
        found[name].append(Witness(seq=head.seq, chain=head.chain, who="the end that was kept"))
    return dict(found)


def _after(source: Source, segment: str) -> Iterator[tuple[str, Witness]]:
    """Yield what a segment's header says of the one before it."""
    head = header(source, segment)
    if head is not None and head.after is not None:
        after = head.after
        yield after.segment, Witness(seq=after.seq, chain=after.chain, who=f"segment {segment}, which follows it,")


def _recalled(index: Database | None, there: Known | None, seq: int) -> Recalled | None:
    """Return what the index remembers of a step's line."""
    if index is None or there is None:
        return None
    rows = index.rows(_RECALL, {"segment": there.id, "seq": seq})
    return Recalled(f"step {rows[0][0]} of {rows[0][1]} ({rows[0][2]})", rows[0][3]) if rows else None


_RECALL = """
    SELECT s.n, episode.name, tool.name, s.crc FROM bf_steps s JOIN bf_names episode ON episode.id = s.episode
        JOIN bf_names tool ON tool.id = s.tool
    WHERE s.segment = :segment AND s.seq = :seq
"""
