import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from breakfall.errors import RunError, StoreError
from breakfall.ledger.line import segment_path
from breakfall.ledger.read import complete, read_all, read_episodes, read_not_applicable
from breakfall.ledger.segment import SegmentWriter
from breakfall.vocab import NotApplicable


def test_what_is_written_is_read_back(tmp_path, episode):
    """Reading gives the episodes as they were written, in order, and the not-applicable lines beside them."""
    first, second = episode(0), episode(1, steps=0)
    absent = NotApplicable(key=episode(2)[1].key, reason="no tool of the plan has another path")
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*first)
        writer.not_applicable(absent)
        writer.episode(*second)
    assert list(read_episodes(tmp_path)) == [(first[1], first[0]), (second[1], [])]
    assert list(read_not_applicable(tmp_path)) == [absent]
    assert complete(tmp_path) == {first[1].episode, second[1].episode, absent.key.id}


def test_the_same_episodes_give_the_same_bytes(tmp_path, episode):
    """Nothing but the episodes decides a segment's bytes, whoever writes it."""
    for worker in ("w0", "w1"):
        with SegmentWriter(tmp_path, worker) as writer:
            writer.episode(*episode(0))
    assert segment_path(tmp_path, "w0").read_bytes() == segment_path(tmp_path, "w1").read_bytes()


def test_the_format_is_pinned(tmp_path, episode):
    """Format 2 begins with this header and an episode's lines look like this; a change must raise the number."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0, steps=1))
    lines = segment_path(tmp_path, "w0").read_text().splitlines()
    seals = [re.search(r',"seq":(\d+),"chain":"[0-9a-f]{32}"}$', line) for line in lines]
    assert [seal and int(seal[1]) for seal in seals] == [0, None, 2]
    assert lines[0] == '{"line":"header","format":2,"seq":0,"chain":"dc9eb20dfc5855097962edab3a797b5e"}'
    assert [line[: seal.start()] + "}" if seal else line for line, seal in zip(lines, seals, strict=True)] == [
        '{"line":"header","format":2}',
        '{"line":"step","episode":"store/native/S1/cancel-1/0/rules","n":0,"call":"c0","tool":"get_order",'
        '"arguments":{"order_id":"O1"},"at_s":0.0,"expected_outcome":"the order",'
        '"observed_outcome":{"status_of":"ok","value":{"status":"paid"}},'
        '"verification":{"status":"not_done"},"uncertainty_signal":"missing",'
        '"injection":{"kind":"timeout","source":"noise","nth":0,"executed":false}}',
        '{"line":"end","episode":"store/native/S1/cancel-1/0/rules","key":{"world":"store","condition":"native",'
        '"agent":"rules","scenario":"S1","task":"cancel-1","seed":0},"steps":1,"ending":"answered",'
        '"answer":{"text":"done\\nreally","facts":{},"sources":{},"steered":{},"handoff":null},'
        '"verdict":{"passed":true,"state_ok":true,"answer_ok":true}}',
    ]


def test_a_torn_tail_is_passed_over_and_then_cut_off(tmp_path, episode):
    """A segment cut at any byte keeps the episodes before the cut; the next writer goes on right after them."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        kept = writer.end
        writer.episode(*episode(1))
    path = segment_path(tmp_path, "w0")
    whole = path.read_bytes()
    for cut in range(kept, len(whole)):
        path.write_bytes(whole[:cut])
        assert [end.key.seed for end, _ in read_episodes(tmp_path)] == [0]
        with SegmentWriter(tmp_path, "w0") as writer:
            assert writer.end == kept == path.stat().st_size
            writer.episode(*episode(2))
        assert [end.key.seed for end, _ in read_episodes(tmp_path)] == [0, 2]


def test_a_torn_header_is_written_again(tmp_path, episode):
    """A writer killed within its header leaves a segment that the next one can use."""
    path = segment_path(tmp_path, "w0")
    path.parent.mkdir()
    path.write_bytes(b'{"line":"hea')
    assert complete(tmp_path) == set()
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
    assert len(complete(tmp_path)) == 1


def test_one_process_at_a_time_holds_a_segment(tmp_path):
    """A second writer of a held segment is refused and told so."""
    with (
        SegmentWriter(tmp_path, "w0"),
        pytest.raises(StoreError, match=r"w0\.jsonl: another process writes this segment"),
    ):
        SegmentWriter(tmp_path, "w0")


def test_what_json_cannot_hold_leaves_the_segment_alone(tmp_path, episode):
    """An episode with a value that is no JSON is refused by name, and nothing of it is written."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        kept = writer.end
        with pytest.raises(RunError, match="episode store/native/S1/cancel-1/1/rules holds something"):
            writer.episode(*episode(1, value=object()))
    assert segment_path(tmp_path, "w0").stat().st_size == kept


def test_a_full_disk_loses_nothing_acknowledged(tmp_path, episode):
    """When the file can grow no further the writer says so, cuts its part back and keeps what it had."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        kept = writer.end
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (kept + 100, hard))
        try:
            with pytest.raises(StoreError, match=re.escape(f"the {kept} bytes before them are kept")):
                writer.episode(*episode(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert segment_path(tmp_path, "w0").stat().st_size == kept
        writer.episode(*episode(2))
    assert [end.key.seed for end, _ in read_episodes(tmp_path)] == [0, 2]


def test_a_device_is_no_segment(tmp_path):
    """What is no regular file is refused before anything is read from it, for some devices never end."""
    (tmp_path / "segments").mkdir()
    segment_path(tmp_path, "w0").symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=r"w0\.jsonl: is no regular file"):
        SegmentWriter(tmp_path, "w0")


def test_damage_before_the_tail_is_named(tmp_path, episode):
    """A damaged line that others follow is no torn tail: reading stops with the file and the line."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        writer.episode(*episode(1))
    path = segment_path(tmp_path, "w0")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b'{"line":"step"}\n'
    path.write_bytes(b"".join(lines))
    with pytest.raises(StoreError, match=r"w0\.jsonl: line 3 is damaged"):
        list(read_all(tmp_path))


def test_steps_without_their_end_are_damage_when_others_follow(tmp_path, episode):
    """An end line that does not fit the steps before it is refused."""
    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
        writer.episode(*episode(1))
    path = segment_path(tmp_path, "w0")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    with pytest.raises(StoreError, match=r"line 6 follows steps of episode .*/0/rules' that has no end line"):
        list(read_all(tmp_path))
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(StoreError, match="with 2 steps, but 1 stand before it"):
        list(read_all(tmp_path))


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ('{"line":"header","format":3}', "written in ledger format 3, this breakfall reads up to 2"),
        ('{"hello":1}', "line 1 is not a segment's header"),
        ('{"line":"not_applicable"}', "line 1 is not a segment's header"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, first, says):
    """Neither reader nor writer touches a file that is no segment of a format they know."""
    path = segment_path(tmp_path, "w0")
    path.parent.mkdir()
    path.write_text(first + "\n")
    with pytest.raises(StoreError, match=says):
        complete(tmp_path)
    with pytest.raises(StoreError, match=says):
        SegmentWriter(tmp_path, "w0")
    assert path.read_text() == first + "\n"


def test_an_episode_that_stands_twice_is_named(tmp_path, episode):
    """Two segments with the same episode are an error that names the episode and both files."""
    for worker in ("w0", "w1"):
        with SegmentWriter(tmp_path, worker) as writer:
            writer.episode(*episode(7))
    with pytest.raises(StoreError, match=r"cancel-1/7/rules stands twice: in .*w0\.jsonl and in .*w1\.jsonl"):
        list(read_episodes(tmp_path))


_KILLED = """
import os, signal, sys
from pathlib import Path
from breakfall.ledger.read import read_episodes
from breakfall.ledger.segment import SegmentWriter
import msgspec
source, target = map(Path, sys.argv[1:])
((end, steps),) = read_episodes(source)
writer = SegmentWriter(target, "w0")
for seed in range(100):
    key = msgspec.structs.replace(end.key, seed=seed)
    named = [msgspec.structs.replace(step, episode=key.id) for step in steps]
    writer.episode(named, msgspec.structs.replace(end, key=key, episode=key.id))
    print(key.id, flush=True)
    if seed == 41:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_acknowledged_episodes_survive_kill(tmp_path: Path, episode):
    """Each episode that a process acknowledged before kill -9 is there afterwards."""
    with SegmentWriter(tmp_path / "source", "w0") as writer:
        writer.episode(*episode(0))
    ran = subprocess.run(
        [sys.executable, "-c", _KILLED, tmp_path / "source", tmp_path / "target"], capture_output=True, text=True
    )
    acknowledged = set(ran.stdout.split())
    assert len(acknowledged) == 42
    assert acknowledged == complete(tmp_path / "target")
