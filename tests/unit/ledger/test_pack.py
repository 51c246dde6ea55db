import gzip
import os

import pytest

from breakfall.errors import StoreError
from breakfall.ledger import pack
from breakfall.ledger.line import segment_path, segment_paths
from breakfall.ledger.source import FolderSource, read_steps
from breakfall.ledger.store import open_folder
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter


@pytest.fixture
def folder(tmp_path, production):
    with LedgerWriter(tmp_path) as writer:
        for n in range(3000):
            writer.step(production(n, arguments={"order_id": f"O{n}", "text": f"{n} " * 150}))
    return tmp_path


def test_a_packed_segment_is_the_same_segment(folder):
    """Packed, a segment has the same bytes at the same places, holds, and takes a fraction of the room."""
    (path,) = segment_paths(folder)
    raw, steps = path.read_bytes(), list(read_steps(FolderSource(folder)))
    lines = list(FolderSource(folder).lines(path.stem))
    packed = pack.pack(path)
    assert not path.exists()
    assert gzip.decompress(packed.read_bytes()) == raw
    assert packed.stat().st_size < len(raw) / 4
    source = FolderSource(folder)
    assert source.segments() == {path.stem: len(raw)}
    assert list(source.lines(path.stem)) == lines
    assert list(read_steps(source)) == steps
    assert verify(source, None, {}).findings == ()


def test_any_line_is_read_from_its_place(folder):
    """From a place in the middle only what follows is read, and nothing before it is unpacked."""
    (path,) = segment_paths(folder)
    lines = list(FolderSource(folder).lines(path.stem))
    pack.pack(path)
    source = FolderSource(folder)
    for nth in (0, 1, 1500, 2999):
        assert next(source.lines(path.stem, lines[nth].at)) == lines[nth]
    with pack.open_segment(source.path(path.stem)) as stream:
        assert stream.seek(-10, os.SEEK_END) == lines[-1].next - 10
        assert stream.read() == lines[-1].line[-10:]
        assert stream.read() == b""


def test_an_index_outlives_packing(folder):
    """The places that the index knows stay right."""
    (path,) = segment_paths(folder)
    with open_folder(folder) as ledger:
        before = ledger.db.rows("SELECT id, position FROM bf_steps WHERE n = 1234")
    pack.pack(path)
    with open_folder(folder) as ledger:
        assert ledger.db.rows("SELECT id, position FROM bf_steps WHERE n = 1234") == before
        assert [step.n for step in ledger.steps([before[0][0]])] == [1234]


def test_packing_that_was_cut_short_loses_nothing(folder):
    """While both files are there the plain one counts."""
    (path,) = segment_paths(folder)
    raw = path.read_bytes()
    packed = pack.pack(path)
    path.write_bytes(raw)
    packed.write_bytes(packed.read_bytes()[:-100])
    assert segment_paths(folder) == [path]
    assert len(list(read_steps(FolderSource(folder)))) == 3000


@pytest.mark.parametrize("damage", ["cut", "flip", "foreign", "tail"])
def test_a_damaged_packed_segment_is_named(folder, damage):
    """Whatever is wrong with the file, the error names it."""
    (path,) = segment_paths(folder)
    packed = pack.pack(path)
    raw = bytearray(packed.read_bytes())
    if damage == "cut":
        raw = raw[:-2000]
    elif damage == "flip":
        raw[len(raw) // 2] ^= 1
    elif damage == "tail":
        raw[-6] ^= 1
    else:
        raw = bytearray(gzip.compress(b"hello\n"))
    packed.write_bytes(raw)
    with pytest.raises(StoreError, match=r"\.jsonl\.gz: "):
        list(read_steps(FolderSource(folder)))


def test_a_segment_that_cannot_be_packed_stays(folder):
    """Where the packed file cannot be written the plain one is left as it was."""
    (path,) = segment_paths(folder)
    raw = path.read_bytes()
    path.with_name(path.stem + ".jsonl.gz.part").mkdir()
    with pytest.raises(StoreError, match="cannot be packed"):
        pack.pack(path)
    assert segment_path(folder, path.stem).read_bytes() == raw
