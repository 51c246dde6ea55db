import re
from pathlib import Path

import pytest

from breakfall.ledger.finding import Flaw, Head
from breakfall.ledger.line import segment_path
from breakfall.ledger.retention import pruned
from breakfall.ledger.segment import SegmentWriter
from breakfall.ledger.source import FolderSource
from breakfall.ledger.sqlite import NAME, SqliteDatabase
from breakfall.ledger.store import open_folder
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter

COUNT = 8


class Case:
    """A ledger of one segment with steps 0 to 7, and what a check says after something was done to it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.path = segment_path(folder, name)
        self.lines = self.path.read_bytes().splitlines(keepends=True)

    def write(self, lines: list[bytes]) -> None:
        self.path.write_bytes(b"".join(lines))

    def said(self, kept: list[Head] | None = None) -> list[tuple[str, str]]:
        path = self.folder / NAME
        index = SqliteDatabase(path) if path.exists() else None
        heads = {head.segment: head for head in kept or []}
        checked = verify(FolderSource(self.folder), index, pruned(self.folder), heads)
        if index is not None:
            index.close()
        assert checked.sound == all(finding.flaw is Flaw.TORN for finding in checked.findings)
        return [(finding.flaw.value, finding.what) for finding in checked.findings]


def name_of(n: int) -> str:
    return f"step {n} of run-1 (get_order)"


@pytest.fixture
def case(tmp_path, production):
    with LedgerWriter(tmp_path) as writer:
        for n in range(COUNT):
            writer.step(production(n))
    return Case(tmp_path, writer.segment)


@pytest.fixture
def indexed(case):
    """The same, after the index has read it."""
    with open_folder(case.folder):
        pass
    return case


def test_an_untouched_ledger_is_sound(case, indexed):
    """Nothing is found, and the counts are right."""
    assert case.said() == []
    checked = verify(FolderSource(case.folder), None, {})
    assert (checked.segments, checked.lines, checked.steps, checked.unchained) == (1, COUNT + 2, COUNT, ())
    (head,) = checked.heads
    assert (head.segment, head.seq, len(head.chain)) == (case.path.stem, COUNT + 1, 32)


@pytest.mark.parametrize("n", range(COUNT))
def test_a_changed_step_is_named(case, n):
    """One changed character in any step is found, and that step alone is named."""
    lines = list(case.lines)
    lines[n + 1] = lines[n + 1].replace(b'"paid"', b'"open"')
    case.write(lines)
    assert case.said() == [("changed", name_of(n))]


@pytest.mark.parametrize("n", range(COUNT))
def test_a_removed_step_is_named(case, indexed, n):
    """A line that was taken out is named by what the index remembers of it."""
    case.write(case.lines[: n + 1] + case.lines[n + 2 :])
    assert case.said() == [("removed", name_of(n))]


@pytest.mark.parametrize("n", range(COUNT))
def test_a_removed_step_is_found_without_an_index(case, n):
    """Without an index the place is named: the number and the step before it."""
    case.write(case.lines[: n + 1] + case.lines[n + 2 :])
    before = name_of(n - 1) if n else "the header"
    assert case.said() == [("removed", f"line {n + 1}, after {before}")]


@pytest.mark.parametrize(("a", "b"), [(0, 1), (2, 5), (6, 7), (0, 7)])
def test_reordered_steps_are_named(case, a, b):
    """Two steps that changed places are found by those that stand behind their place."""
    lines = list(case.lines)
    lines[a + 1], lines[b + 1] = lines[b + 1], lines[a + 1]
    case.write(lines)
    said = case.said()
    assert {flaw for flaw, _ in said} == {"reordered"}
    assert ("reordered", name_of(a)) in said


def test_a_moved_and_changed_step_is_named_for_both(case):
    """Moving a line does not hide that it was changed."""
    lines = list(case.lines)
    moved = lines.pop(3).replace(b'"paid"', b'"open"')
    lines.insert(6, moved)
    case.write(lines)
    assert sorted(case.said()) == [("changed", name_of(2)), ("reordered", name_of(2))]


def test_a_repeated_and_a_foreign_step_are_named(case):
    """A line that stands twice is added, and so is what follows the closing line."""
    case.write([*case.lines[:4], case.lines[3], *case.lines[4:]])
    assert case.said() == [("added", name_of(2))]
    foreign = re.sub(rb'"seq":\d+', b'"seq":99', case.lines[3])
    case.write([*case.lines, foreign])
    assert ("added", name_of(2)) in case.said()


def test_a_step_sealed_anew_is_found(case):
    """A changed line that was given its right hash no longer fits the line after it."""
    from breakfall.ledger.chain import START, carried, seal

    body = re.sub(rb',"seq":\d+,"chain":"[0-9a-f]{32}"}\n', b"}", case.lines[4]).replace(b'"paid"', b'"open"')
    line, _ = seal(body, 4, carried(case.lines[3]) or START)
    case.write([*case.lines[:4], line, *case.lines[5:]])
    (finding,) = verify(FolderSource(case.folder), None, {}).findings
    assert finding.flaw is Flaw.CHANGED
    assert f"its content or {name_of(3)} before it is not what was sealed" in finding.why


def test_a_changed_hash_is_laid_to_its_own_line(case):
    """A line whose hash alone was changed is named; the line after it is not."""
    lines = list(case.lines)
    lines[4] = re.sub(rb'"chain":"[0-9a-f]{32}"', b'"chain":"' + b"0" * 32 + b'"', lines[4])
    case.write(lines)
    assert case.said() == [("changed", name_of(3))]


def test_a_segment_sealed_anew_is_found_by_who_remembers_it(case, indexed):
    """Rewriting everything after a change deceives the chain, but not the index, nor a hash kept elsewhere."""
    from breakfall.ledger.chain import START, seal

    kept = list(verify(FolderSource(case.folder), None, {}).heads)
    bodies = [re.sub(rb',"seq":\d+,"chain":"[0-9a-f]{32}"}\n', b"}", line) for line in case.lines]
    bodies[4] = bodies[4].replace(b'"paid"', b'"open"')
    link, lines = START, []
    for seq, body in enumerate(bodies):
        line, link = seal(body, seq, link)
        lines.append(line)
    case.write(lines)
    everything = ("changed", f"everything up to line {COUNT + 1}")
    assert case.said() == [everything]
    (case.folder / NAME).unlink()
    assert case.said() == []
    assert case.said(kept) == [everything]


def test_a_shortened_segment_is_found_by_who_remembers_it(case, indexed):
    """Lines taken from the end leave no gap; the index names them, and a hash kept elsewhere counts them."""
    kept = list(verify(FolderSource(case.folder), None, {}).heads)
    case.write(case.lines[:-3])
    assert case.said() == [
        ("removed", name_of(6)),
        ("removed", name_of(7)),
        ("removed", f"line {COUNT + 1}, at the end"),
    ]
    (case.folder / NAME).unlink()
    assert [flaw for flaw, _ in case.said(kept)] == ["removed"] * 3


def test_a_segment_that_is_gone_is_found(case, indexed, production):
    """A missing file is named by the index, or by the segment that follows it."""
    kept = case.path.read_bytes()
    case.path.unlink()
    with LedgerWriter(case.folder) as writer:
        writer.step(production(9))
    assert case.said() == [("removed", "the whole segment")]
    case.path.write_bytes(kept)
    assert case.said() == []


def test_a_link_between_segments_is_checked(tmp_path, production):
    """A segment that lost its end, was swapped or is gone is found by the one its writer wrote after it."""
    with LedgerWriter(tmp_path, rotate_bytes=700) as writer:
        for n in range(6):
            writer.step(production(n))
    names = sorted(FolderSource(tmp_path).segments())
    case = Case(tmp_path, names[0])
    assert case.said() == []
    case.write(case.lines[:-2])
    assert [flaw for flaw, _ in case.said()] == ["removed", "removed"]
    case.path.unlink()
    assert case.said() == [("removed", "the whole segment")]


def test_a_renamed_segment_is_found(case):
    """A segment knows its own name."""
    case.path.rename(case.path.with_name("other.jsonl"))
    assert case.said() == [("changed", "the file's name")]


def test_a_torn_and_a_damaged_line_are_named(case):
    """A last line without its end is torn, which a kill leaves; damage elsewhere is grave. Both name the step."""
    case.write([*case.lines[:-2], case.lines[-2][:80]])
    assert case.said() == [("torn", name_of(7).removesuffix(" (get_order)"))]
    lines = list(case.lines)
    lines[3] = lines[3][:100] + b"\n"
    case.write(lines)
    assert case.said()[0] == ("damaged", name_of(2).removesuffix(" (get_order)"))
    assert all(flaw == "damaged" for flaw, _ in case.said()[:1])


def test_a_changed_large_value_is_named(tmp_path, production):
    """A value beside the row is held against its digest, which the row's hash covers."""
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0, arguments={"text": "abc" * 20_000}))
    case = Case(tmp_path, writer.segment)
    path = case.path.with_suffix(".blobs")
    raw = bytearray(path.read_bytes())
    raw[-5] ^= 1
    path.write_bytes(raw)
    assert case.said() == [("changed", name_of(0))]
    path.unlink()
    assert case.said() == [("changed", name_of(0))]


def test_a_huge_number_is_no_endless_list(case):
    """A line whose number was changed to something enormous gives one finding for the gap."""
    lines = list(case.lines)
    lines[5] = re.sub(rb'"seq":\d+', b'"seq":900000000000', lines[5])
    case.write(lines)
    said = case.said()
    assert len(said) < 12
    assert ("added", name_of(4)) in said


@pytest.fixture
def bench(tmp_path, episode):
    """Three episodes of three steps."""
    with SegmentWriter(tmp_path, "w0") as writer:
        for seed in range(3):
            writer.episode(*episode(seed, steps=3))
    return Case(tmp_path, "w0")


def bench_step(seed: int, n: int) -> str:
    return f"step {n} of store/native/S1/cancel-1/{seed}/rules (get_order)"


def test_a_changed_step_of_a_bench_is_named(bench):
    """An episode carries one hash; which of its steps was changed is told by the index, else by `breakfall repro`."""
    assert bench.said() == []
    lines = list(bench.lines)
    lines[6] = lines[6].replace(b'"paid"', b'"open"')
    bench.write(lines)
    assert bench.said() == [("changed", "episode store/native/S1/cancel-1/1/rules")]
    bench.write(bench.lines)
    with open_folder(bench.folder):
        pass
    bench.write(lines)
    assert bench.said() == [("changed", bench_step(1, 1))]


@pytest.mark.parametrize("n", range(3))
def test_a_removed_step_of_a_bench_is_named(bench, n):
    """A step that is missing in an episode is named, with an index and without."""
    lines = bench.lines[: 5 + n] + bench.lines[6 + n :]
    bench.write(lines)
    assert [flaw for flaw, _ in bench.said()] == ["removed"]
    bench.write(bench.lines)
    with open_folder(bench.folder):
        pass
    bench.write(lines)
    assert bench.said() == [("removed", bench_step(1, n))]


def test_reordered_steps_and_episodes_of_a_bench_are_named(bench):
    """Steps that changed places within an episode are found, and so are episodes."""
    lines = list(bench.lines)
    lines[5], lines[6] = lines[6], lines[5]
    bench.write(lines)
    assert bench.said() == [("reordered", bench_step(1, 0))]
    bench.write([bench.lines[0], *bench.lines[5:9], *bench.lines[1:5], *bench.lines[9:]])
    assert {flaw for flaw, _ in bench.said()} == {"reordered"}


def test_a_removed_episode_of_a_bench_is_named(bench):
    """Each line of an episode that is gone is named by the index; the episodes around it are sound."""
    with open_folder(bench.folder):
        pass
    bench.write([*bench.lines[:5], *bench.lines[9:]])
    assert bench.said()[:3] == [("removed", bench_step(1, n)) for n in range(3)]
    assert len(bench.said()) == 4


def test_a_damaged_step_of_a_bench_is_named(bench):
    """A line that cannot be read is named, and its episode is not blamed twice."""
    lines = list(bench.lines)
    lines[6] = lines[6][:120] + b"\n"
    bench.write(lines)
    assert bench.said()[0] == ("damaged", bench_step(1, 1).removesuffix(" (get_order)"))


def test_of_format_1_the_form_is_checked(tmp_path, episode):
    """Without hashes a missing step is still found by the count at the episode's end."""
    steps, end = episode(0)
    from breakfall.ledger.line import encode_episode

    segment_path(tmp_path, "w0").parent.mkdir()
    segment_path(tmp_path, "w0").write_bytes(b'{"line":"header","format":1}\n' + encode_episode(steps, end))
    case = Case(tmp_path, "w0")
    assert verify(FolderSource(tmp_path), None, {}).unchained == ("w0",)
    assert case.said() == []
    case.write(case.lines[:1] + case.lines[2:])
    assert case.said() == [("removed", f"the end of {end.episode}")]
