import os
import re
import resource
import threading
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from breakfall.errors import RunError, StoreError
from breakfall.ledger import file as files
from breakfall.ledger.line import Header, Holds, segment_path, segment_paths
from breakfall.ledger.repair import marker, repair
from breakfall.ledger.source import FolderSource, decode, header, read_steps
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter, blocks
from breakfall.vocab import Effect, Failed, Ok, Verification, VerificationStatus


def sound(folder):
    """Whether a check of the ledger finds nothing grave."""
    return verify(FolderSource(folder), None, {}).sound


def test_what_is_written_is_read_back(tmp_path, production):
    """Steps come back as they were written, in order."""
    steps = [production(n) for n in range(5)]
    with LedgerWriter(tmp_path) as writer:
        for step in steps:
            writer.step(step)
    assert list(read_steps(FolderSource(tmp_path))) == steps
    assert sound(tmp_path)


def test_a_step_is_there_as_soon_as_it_is_acknowledged(tmp_path, production):
    """No buffer of the process holds anything back: a reader sees each step at once."""
    with LedgerWriter(tmp_path) as writer:
        for n in range(3):
            writer.step(production(n))
            assert len(list(read_steps(FolderSource(tmp_path)))) == n + 1


def test_the_format_is_pinned(tmp_path, production):
    """A segment of steps begins with this header and ends with this line; a change must raise the number."""
    with LedgerWriter(tmp_path, now=lambda: 1_700_000_000.0) as writer:
        writer.step(production(unix_s=None))
        name = writer.segment
    assert re.fullmatch(r"20231114T221320-[0-9a-f]{8}-0001", name)
    lines = segment_path(tmp_path, name).read_text().splitlines()
    seals = [re.search(r',"seq":(\d+),"chain":"[0-9a-f]{32}"}$', line) for line in lines]
    assert [seal and int(seal[1]) for seal in seals] == [0, 1, 2]
    assert [line[: seal.start()] + "}" for line, seal in zip(lines, seals, strict=True) if seal] == [
        f'{{"line":"header","format":2,"holds":"steps","segment":"{name}"}}',
        '{"line":"step","episode":"run-1","n":0,"call":"c0","tool":"get_order","arguments":{"order_id":"O0"},'
        '"at_s":0.0,"took_s":0.5,"expected_outcome":"the order O0","observed_outcome":{"status_of":"ok","value":'
        '{"status":"paid","n":0}},"verification":{"status":"not_applicable"},"uncertainty_signal":"none",'
        '"effect":"read","agent":"shop","agent_version":"1.2","unix_s":1699999999.5}',
        '{"line":"closed"}',
    ]


def test_large_values_are_kept_whole_beside_the_row(tmp_path, production):
    """A result of 300 KB comes back to the byte, its row stays short, and it is compressed on disk."""
    text = "".join(f"line {n} of a page; " for n in range(18_000))
    steps = [
        production(0, observed_outcome=Ok(value={"page": text})),
        production(1),
        production(2, arguments={"t": text}),
    ]
    assert len(text) > 300_000
    with LedgerWriter(tmp_path) as writer:
        for step in steps:
            writer.step(step)
    assert list(read_steps(FolderSource(tmp_path))) == steps
    path = segment_path(tmp_path, writer.segment)
    assert max(map(len, path.read_bytes().splitlines())) < 2000
    assert path.with_suffix(".blobs").stat().st_size < 2 * 100_000
    assert sound(tmp_path)


def test_secrets_are_taken_out_before_anything_is_written(tmp_path, production):
    """No byte of a key reaches the disk, and the row says where it was."""
    secret = "sk-proj-" + "a1B2" * 12
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(arguments={"api_key": secret, "page": [f"key {secret} " + "x" * 40_000]}))
    raw = b"".join(path.read_bytes() for path in (tmp_path / "segments").iterdir())
    assert secret.encode() not in raw
    (step,) = read_steps(FolderSource(tmp_path))
    assert set(step.scrubbed) == {"/arguments/api_key", "/arguments/page/0"}
    assert secret not in step.arguments["page"][0]


def test_a_full_segment_is_followed_by_the_next(tmp_path, production):
    """Segments are rotated by size; each names the end of the one before it, and nothing is lost in between."""
    with LedgerWriter(tmp_path, rotate_bytes=2000) as writer:
        for n in range(20):
            writer.step(production(n))
    source = FolderSource(tmp_path)
    names = list(source.segments())
    assert len(names) > 3
    assert all(size < 3500 for size in source.segments().values())
    assert [step.n for step in read_steps(source)] == list(range(20))
    links = [header(source, name).after for name in names]
    assert [link and link.segment for link in links] == [None, *names[:-1]]
    assert sound(tmp_path)


def test_an_old_segment_is_followed_by_the_next(tmp_path, production):
    """Segments are rotated by age."""
    with LedgerWriter(tmp_path, rotate_s=0.0) as writer:
        for n in range(3):
            writer.step(production(n))
    assert len(segment_paths(tmp_path)) == 4
    assert [step.n for step in read_steps(FolderSource(tmp_path))] == [0, 1, 2]


def test_threads_share_a_writer(tmp_path, production):
    """Steps of many threads stand whole and chained, each thread's in its own order."""
    with LedgerWriter(tmp_path, rotate_bytes=20_000) as writer:

        def work(worker: int) -> None:
            for n in range(100):
                writer.step(production(n, episode=f"run-{worker}"))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found: dict[str, list[int]] = {}
    for step in read_steps(FolderSource(tmp_path)):
        found.setdefault(step.episode, []).append(step.n)
    assert found == {f"run-{worker}": list(range(100)) for worker in range(8)}
    assert sound(tmp_path)


def test_a_forked_child_goes_on_in_a_segment_of_its_own(tmp_path, production):
    """After a fork parent and child both write, and neither disturbs the other's chain."""
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0))
        child = os.fork()
        if child == 0:
            try:
                writer.step(production(1))
                writer.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        writer.step(production(2))
    source = FolderSource(tmp_path)
    assert sorted(step.n for step in read_steps(source)) == [0, 1, 2]
    assert len(source.segments()) == 2
    assert sound(tmp_path)


def test_what_json_cannot_hold_becomes_its_text(tmp_path, production):
    """No value of a tool makes the log refuse a step: half a surrogate pair and objects are stored as text."""
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0, arguments={"a": "half \ud800 pair", "b": {1, 2}, "c": 1 + 2j}))
        writer.step(production(1))
    first, second = read_steps(FolderSource(tmp_path))
    assert first.arguments == {"a": "half \\ud800 pair", "b": [1, 2], "c": "(1+2j)"}
    assert second == production(1)
    assert sound(tmp_path)


def test_what_is_no_step_leaves_the_segment_alone(tmp_path, production):
    """A field of a wrong type that JSON has no form for is refused with the step's name; the next step is stored."""
    with LedgerWriter(tmp_path) as writer:
        with pytest.raises(RunError, match="step 3 of run-1 holds something that cannot be written as JSON"):
            writer.step(production(3, attempt=object()))
        writer.step(production(4))
    assert [step.n for step in read_steps(FolderSource(tmp_path))] == [4]
    assert sound(tmp_path)


@pytest.mark.parametrize("size", [400, 40_000])
def test_a_full_disk_stops_the_writer_and_loses_nothing_acknowledged(tmp_path, production, size):
    """Without room each step is refused with what to do, and with room again the chain goes on unbroken."""
    text = "".join(f"{n} " for n in range(size // 5))
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(0, arguments={"text": text}))
        path = segment_path(tmp_path, writer.segment)
        room = max(each.stat().st_size for each in path.parent.iterdir()) + 100
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            for _ in range(3):
                with pytest.raises(StoreError, match=r"File too large; the \d+ bytes before them are kept. Make room"):
                    writer.step(production(1, arguments={"text": text}))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        writer.step(production(2, arguments={"text": text}))
    assert [step.n for step in read_steps(FolderSource(tmp_path))] == [0, 2]
    assert sound(tmp_path)


def test_no_room_for_the_next_segment(tmp_path, production):
    """Where a new segment cannot be begun, the steps are refused until it can, and the number is not skipped."""
    with LedgerWriter(tmp_path, rotate_bytes=300) as writer:
        folder = tmp_path / "segments"
        writer.step(production(0))
        blocked = folder / writer.segment.replace("-0001", "-0002.jsonl")
        blocked.mkdir()
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot open the segment"):
                writer.step(production(1))
        blocked.rmdir()
        writer.step(production(2))
        assert writer.segment.endswith("-0002")
    assert [step.n for step in read_steps(FolderSource(tmp_path))] == [0, 2]
    assert sound(tmp_path)


def test_a_closed_writer_takes_nothing(tmp_path, production):
    """A step after the end is refused, not written into a segment that says that it is complete."""
    writer = LedgerWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="this writer was closed"):
        writer.step(production())
    assert sound(tmp_path)


def test_what_must_be_on_disk_is(tmp_path, production, monkeypatch):
    """Plain steps are not synced; a step that blocks, every step of the durable mode, and `sync` are."""
    synced: list[int] = []
    monkeypatch.setattr(files, "_sync", synced.append)
    passed = Verification(status=VerificationStatus.PASSED, by="runtime")
    with LedgerWriter(tmp_path) as writer:
        synced.clear()
        writer.step(production(0))
        assert synced == []
        writer.step(production(1, verification=passed))
        assert len(synced) == 1
        writer.sync()
        assert len(synced) == 1
        writer.step(production(2))
        writer.sync()
        assert len(synced) == 2
    with LedgerWriter(tmp_path, durable=True) as writer:
        synced.clear()
        for n in range(3):
            writer.step(production(n))
        assert len(synced) == 3


def test_large_values_are_synced_before_their_row(tmp_path, production, monkeypatch):
    """The blob file goes to disk first, so no row on disk names a value that is not."""
    synced: list[str] = []
    monkeypatch.setattr(files, "_sync", lambda file: synced.append(str(Path(f"/proc/self/fd/{file}").readlink())))
    with LedgerWriter(tmp_path, durable=True) as writer:
        synced.clear()
        writer.step(production(arguments={"text": "x" * 50_000}))
        assert [Path(name).suffix for name in synced] == [".blobs", ".jsonl"]


def test_one_sync_serves_all_who_wait(tmp_path, production, monkeypatch):
    """While one thread's sync runs, others write and wait; the next sync is for all of them."""
    running, go = threading.Event(), threading.Event()
    count = [0]

    def sync(file: int) -> None:
        count[0] += 1
        if count[0] == 1:
            running.set()
            go.wait(30)

    with LedgerWriter(tmp_path, durable=True) as writer:
        monkeypatch.setattr(files, "_sync", sync)
        threads = [threading.Thread(target=writer.step, args=(production(n),)) for n in range(9)]
        threads[0].start()
        assert running.wait(30)
        for thread in threads[1:]:
            thread.start()
        while len(list(read_steps(FolderSource(tmp_path)))) < 9:
            pass
        go.set()
        for thread in threads:
            thread.join()
        assert count[0] == 2


def test_a_sync_that_failed_is_the_end_of_the_segment(tmp_path, production, monkeypatch):
    """After a failed sync nobody knows what is on disk: the step is not acknowledged, and no later one is taken."""

    def refuse(file: int) -> None:
        raise OSError(5, "Input/output error")

    writer = LedgerWriter(tmp_path)
    writer.step(production(0))
    monkeypatch.setattr(files, "_sync", refuse)
    with pytest.raises(StoreError, match="refused to store what was written: Input/output error"):
        writer.step(production(1, verification=Verification(status=VerificationStatus.FAILED)))
    monkeypatch.undo()
    with pytest.raises(StoreError, match="the segment takes nothing more"):
        writer.step(production(2))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"effect": Effect.WRITE, "verification": Verification(status=VerificationStatus.NOT_DONE)}, False),
        ({"observed_outcome": Failed(message="no", status=500)}, False),
        ({"verification": Verification(status=VerificationStatus.FAILED)}, True),
        ({"verification": Verification(status=VerificationStatus.PASSED)}, True),
        ({"purpose": "probe"}, True),
        ({"effect": Effect.IRREVERSIBLE}, True),
    ],
)
def test_which_steps_block(production, fields, expected):
    """An error, a verification, and what nothing undoes wait for the disk; ordinary steps do not."""
    assert blocks(production(**fields)) is expected


def test_segments_of_killed_writers_are_mended_at_the_next_start(tmp_path, production):
    """A torn last line is cut off, the segment is closed, and what was acknowledged in it stays."""
    for cut in (1, 20, 150):
        folder = tmp_path / str(cut)
        writer = LedgerWriter(folder)
        writer.step(production(0))
        writer.step(production(1))
        path = segment_path(folder, writer.segment)
        writer._file.close()  # as a kill does: no closing line
        whole = path.read_bytes()
        path.write_bytes(whole + whole.splitlines(keepends=True)[-1][:cut])
        (torn,) = verify(FolderSource(folder), None, {}).findings
        assert (torn.flaw, torn.grave) == ("torn", False)
        with LedgerWriter(folder) as after:
            after.step(production(2))
        assert path.read_bytes().startswith(whole)
        assert b'{"line":"closed","repaired":true' in path.read_bytes()[len(whole) :]
        assert verify(FolderSource(folder), None, {}).findings == ()
        assert sorted(step.n for step in read_steps(FolderSource(folder))) == [0, 1, 2]


def test_segments_in_use_and_damaged_ones_keep_nobody_from_writing(tmp_path, production):
    """A second writer leaves a living one's segment alone, and a damaged one for `verify`."""
    damaged = segment_path(tmp_path, "a")
    damaged.parent.mkdir()
    damaged.write_text('{"line":"header","format":2,"holds":"steps"}\ndamage\n')
    with LedgerWriter(tmp_path) as one:
        one.step(production(0))
        with LedgerWriter(tmp_path) as two:
            two.step(production(1))
        one.step(production(2))
    assert damaged.read_text().endswith("damage\n")
    assert one.segment != two.segment


def test_a_mark_says_which_segments_are_open(tmp_path, production):
    """A mark stands beside a segment while it is written and after a kill, and goes when the segment is closed."""

    def marks():
        return [path.stem for path in (tmp_path / "segments").glob("*.open")]

    writer = LedgerWriter(tmp_path, rotate_bytes=300)
    writer.step(production(0))
    writer.step(production(1))
    assert marks() == [writer.segment]
    writer._file.close()  # as a kill does
    with LedgerWriter(tmp_path) as after:
        assert marks() == [after.segment]
    assert marks() == []
    assert verify(FolderSource(tmp_path), None, {}).findings == ()


def test_a_segment_whose_mark_was_lost_is_closed_when_every_one_is_looked_at(tmp_path, production):
    """`verify --repair` and `prune` need no mark."""
    writer = LedgerWriter(tmp_path)
    writer.step(production(0))
    writer._file.close()
    marker(segment_path(tmp_path, writer.segment)).unlink()
    assert repair(tmp_path) == []
    assert [one.segment for one in repair(tmp_path, every=True)] == [writer.segment]
    assert repair(tmp_path, every=True) == []


def test_a_segment_of_a_bench_is_left_alone(tmp_path, episode, production):
    """A production writer in a run folder closes no segment of episodes."""
    from breakfall.ledger.segment import SegmentWriter

    with SegmentWriter(tmp_path, "w0") as writer:
        writer.episode(*episode(0))
    before = segment_path(tmp_path, "w0").read_bytes()
    with LedgerWriter(tmp_path) as ledger:
        ledger.step(production())
    assert segment_path(tmp_path, "w0").read_bytes() == before


def test_how_an_episode_ended_stands_between_steps(tmp_path, production, episode):
    """The end of an episode is a line of the ledger, on disk when the call returns."""
    _, end = episode(0)
    with LedgerWriter(tmp_path) as writer:
        writer.step(production())
        writer.end(end)
    source = FolderSource(tmp_path)
    lines = [decode(source, writer.segment, raw.line) for raw in source.lines(writer.segment)]
    assert lines[2] == end
    assert lines[0] == Header(format=2, holds=Holds.STEPS, segment=writer.segment)
    assert replace(production(), n=0) == lines[1]


def test_values_beyond_64_bits_come_back(tmp_path, production):
    """Large integers, deep nesting and every kind of text survive."""
    value = {"big": 2**63, "text": "한국어 \u2028 \x00 😀", "deep": [[[[[1.5e300]]]]]}
    with LedgerWriter(tmp_path) as writer:
        writer.step(production(observed_outcome=Ok(value=value)))
    (step,) = read_steps(FolderSource(tmp_path))
    assert msgspec.json.encode(step.observed_outcome.value) == msgspec.json.encode(value)
