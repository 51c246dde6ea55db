import sqlite3

import msgspec
import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.ledger import index
from breakfall.ledger.line import segment_path
from breakfall.ledger.segment import SegmentWriter
from breakfall.vocab import NotApplicable


@pytest.fixture
def run(tmp_path, episode):
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        writer.not_applicable(NotApplicable(key=episode(9)[1].key, reason="none"))
        writer.episode(*episode(1, passed=False))
    with SegmentWriter(tmp_path, "w1") as writer:
        writer.episode(*episode(1, agent="retry", steps=3))
    return tmp_path


def test_an_episode_is_read_from_its_place(run, episode):
    """Every indexed episode comes back as it was written, whichever segment holds it."""
    with index.opened(run) as opened:
        found = {entry.name: index.load(run, entry) for entry in index.entries(opened)}
    expected = [episode(0), episode(1, passed=False), episode(1, agent="retry", steps=3)]
    assert found == {end.episode: (steps, end) for steps, end in expected}


def test_filters_and_faults(run):
    """The list can be cut down to an agent, a scenario or failures, and counts the faults that fired."""
    with index.opened(run) as opened:
        assert [entry.agent for entry in index.entries(opened, agent="retry")] == ["retry"]
        assert [entry.name for entry in index.entries(opened, failed=True)] == ["store/native/S1/cancel-1/1/rules"]
        assert index.entries(opened, scenario="S2") == []
        assert [entry.faults for entry in index.entries(opened)] == [1, 1, 1]


def test_an_episode_is_found_by_a_part_of_its_name(run):
    """A part that only one name has is enough; otherwise the error shows what fits."""
    with index.opened(run) as opened:
        assert index.find(opened, "0/rules").name == "store/native/S1/cancel-1/0/rules"
        with pytest.raises(UsageError, match=r"'cancel-1/1' names more than one episode .*1/retry, .*1/rules"):
            index.find(opened, "cancel-1/1")
        with pytest.raises(UsageError, match="no episode 'cancel-2' in this run"):
            index.find(opened, "cancel-2")


def test_each_step_is_found_where_it_stands(run):
    """The index gives the place of every step's line."""
    with index.opened(run) as opened:
        rows = opened.rows(
            "SELECT n, fault, position, length FROM bf_steps JOIN bf_segments g ON g.id = segment "
            "WHERE name = 'w1' ORDER BY n"
        )
    raw = segment_path(run, "w1").read_bytes()
    assert [fault for _, fault, _, _ in rows] == ["timeout", None, None]
    for n, _, position, length in rows:
        line = raw[position : position + length]
        assert line.startswith(b'{"line":"step"')
        assert f'"n":{n},'.encode() in line
        assert line.index(b"\n") == len(line) - 1


def test_a_stale_index_is_rebuilt(run, episode):
    """Episodes that were added after the index was built are found."""
    with index.opened(run):
        pass
    with SegmentWriter(run, "w1") as writer:
        writer.episode(*episode(5))
    with index.opened(run) as opened:
        assert index.find(opened, "5/rules").segment == "w1"


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_index_is_thrown_away(run, content):
    """Whatever stands in the index's place, the segments decide."""
    (run / index.NAME).write_bytes(content)
    with index.opened(run) as opened:
        assert len(index.entries(opened)) == 3


def test_an_index_that_fits_is_kept(run):
    """A second look does not build the index again."""
    with index.opened(run):
        pass
    with sqlite3.connect(run / index.NAME) as connection:
        connection.execute("UPDATE bf_episodes SET agent = 'marked'")
    connection.close()
    with index.opened(run) as opened:
        assert {entry.agent for entry in index.entries(opened)} == {"marked"}


def test_without_room_the_index_is_built_in_memory(run):
    """Where no index file can be written, the run can be read all the same."""
    (run / index.NAME).mkdir()
    with index.opened(run) as opened:
        assert len(index.entries(opened)) == 3
    assert list((run / index.NAME).iterdir()) == []


def test_a_folder_without_a_run_is_refused(tmp_path):
    """The error says what is missing and what makes it."""
    with pytest.raises(UsageError, match="no run is stored here"), index.opened(tmp_path):
        pass


def test_an_index_that_lies_about_a_place_is_caught(run):
    """An entry that points elsewhere gives an error, not another episode."""
    with index.opened(run) as opened:
        first, second, _ = index.entries(opened)
    with pytest.raises(StoreError, match="are not episode"):
        index.load(
            run, msgspec.structs.replace(first, offset=second.offset, length=second.length, segment=second.segment)
        )
