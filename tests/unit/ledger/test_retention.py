import pytest

from breakfall.errors import StoreError
from breakfall.ledger.line import segment_path, segment_paths
from breakfall.ledger.retention import PRUNED, prune, pruned
from breakfall.ledger.segment import SegmentWriter
from breakfall.ledger.source import FolderSource, read_steps
from breakfall.ledger.sqlite import NAME, SqliteDatabase
from breakfall.ledger.store import open_folder
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter

DAY_S = 24 * 3600.0
NOW_S = 1_700_000_000.0 + 100 * DAY_S


@pytest.fixture
def folder(tmp_path, production):
    """Three segments of one writer, 100, 50 and 1 days old, each with a large value."""
    with LedgerWriter(tmp_path, rotate_bytes=900) as writer:
        for n, days in enumerate((100, 50, 1)):
            writer.step(production(n, unix_s=NOW_S - days * DAY_S, arguments={"text": "ab" * 20_000}))
            writer.step(production(n, unix_s=NOW_S - days * DAY_S))
    assert len(segment_paths(tmp_path)) == 3
    return tmp_path


def steps_of(folder):
    return [step.n for step in read_steps(FolderSource(folder))]


def test_old_segments_go_and_are_accounted_for(folder):
    """What is older goes with its large values, is noted, and a check knows that it went on purpose."""
    with open_folder(folder):
        pass
    done = prune(folder, older_s=30 * DAY_S, now=lambda: NOW_S)
    assert [end.steps for end in done.dropped] == [2, 2]
    assert done.freed_bytes > 1000
    assert steps_of(folder) == [2, 2]
    assert len(list((folder / "segments").iterdir())) == 2
    assert list(pruned(folder)) == [end.segment for end in done.dropped]
    assert verify(FolderSource(folder), None, pruned(folder)).findings == ()
    assert [finding.flaw for finding in verify(FolderSource(folder), None, {}).findings] == ["removed"]
    with open_folder(folder) as ledger:
        assert ledger.db.rows("SELECT count(*) FROM steps") == [(2,)]


def test_a_trial_changes_nothing(folder):
    """A dry run says what would go."""
    before = {path.name for path in folder.rglob("*")}
    done = prune(folder, older_s=30 * DAY_S, pack_older_s=0, dry=True, now=lambda: NOW_S)
    assert (len(done.dropped), len(done.packed)) == (2, 1)
    assert {path.name for path in folder.rglob("*")} == before


def test_a_pruned_segment_that_comes_back_with_another_end_is_found(folder):
    """The list of pruned segments vouches for one end alone."""
    done = prune(folder, older_s=60 * DAY_S, now=lambda: NOW_S)
    path = folder / PRUNED
    path.write_text(path.read_text().replace(done.dropped[0].chain, "0" * 32))
    findings = verify(FolderSource(folder), None, pruned(folder)).findings
    assert [finding.why for finding in findings] == ["it had another end than the list of pruned segments says"]


def test_closed_segments_are_packed(folder):
    """What is older than asked is compressed, and nothing of it is lost."""
    done = prune(folder, pack_older_s=30 * DAY_S, now=lambda: NOW_S)
    assert len(done.packed) == 2
    assert [path.suffix for path in segment_paths(folder)] == [".gz", ".gz", ".jsonl"]
    assert steps_of(folder) == [0, 0, 1, 1, 2, 2]
    assert prune(folder, pack_older_s=30 * DAY_S, now=lambda: NOW_S).packed == ()
    again = prune(folder, older_s=60 * DAY_S, now=lambda: NOW_S)
    assert len(again.dropped) == 1
    assert steps_of(folder) == [1, 1, 2, 2]


def test_segments_in_use_and_of_a_bench_stay(tmp_path, production, episode):
    """However old its steps, a segment that is being written stays, and so does a bench's."""
    with SegmentWriter(tmp_path, "w0") as bench:
        bench.episode(*episode(0))
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0, unix_s=1.0))
        done = prune(tmp_path, older_s=0, pack_older_s=0, now=lambda: NOW_S)
        assert (done.dropped, done.packed, done.kept) == ((), (), 2)
    assert len(prune(tmp_path, older_s=0, now=lambda: NOW_S).dropped) == 1


def test_the_segment_of_a_killed_writer_can_go(tmp_path, production):
    """It is closed first."""
    writer = LedgerWriter(tmp_path)
    writer.step(production(0))
    writer._file.close()
    assert len(prune(tmp_path, older_s=0, now=lambda: NOW_S).dropped) == 1
    assert segment_paths(tmp_path) == []


def test_a_damaged_segment_is_kept_and_named(folder):
    """Nothing is dropped that cannot be read."""
    path = segment_paths(folder)[0]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], b"damage\n", *lines[1:]]))
    with pytest.raises(StoreError, match=r"a line is damaged .* `breakfall ledger verify` names it"):
        prune(folder, older_s=0, now=lambda: NOW_S)
    assert path.exists()


def test_a_damaged_list_of_pruned_segments_is_named(folder):
    """The error names the file."""
    (folder / PRUNED).write_text("{}\n")
    with pytest.raises(StoreError, match=rf"{PRUNED}: the list of pruned segments cannot be read"):
        pruned(folder)


def test_an_index_that_outlived_a_pruning_is_told(folder):
    """A second reader's index that still knows a dropped segment is no reason for an alarm."""
    with open_folder(folder):
        pass
    kept = (folder / NAME).read_bytes()
    prune(folder, older_s=30 * DAY_S, now=lambda: NOW_S)
    (folder / NAME).write_bytes(kept)
    old = SqliteDatabase(folder / NAME)
    assert verify(FolderSource(folder), old, pruned(folder)).findings == ()
    old.close()
    with open_folder(folder) as ledger:
        assert ledger.db.rows("SELECT count(*) FROM steps") == [(2,)]


def test_old_segments_are_dropped_by_their_newest_step(tmp_path, production):
    """One young step keeps a segment."""
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0, unix_s=1.0))
        writer.step(production(1, unix_s=NOW_S - 10))
        writer.step(production(2, unix_s=2.0))
    assert prune(tmp_path, older_s=60, now=lambda: NOW_S).dropped == ()
    assert segment_path(tmp_path, writer.segment).exists()
