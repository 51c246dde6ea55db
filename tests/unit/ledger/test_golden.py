"""Ledgers that earlier versions wrote: they stay readable, and mean the same."""

import shutil
from pathlib import Path

import msgspec
import pytest

from breakfall.ledger import index
from breakfall.ledger.line import segment_path
from breakfall.ledger.read import read_episodes, read_not_applicable
from breakfall.ledger.segment import SegmentWriter
from breakfall.ledger.source import FolderSource, read_steps
from breakfall.ledger.store import open_folder
from breakfall.ledger.verify import verify
from breakfall.vocab import Ending, Failed, Step

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger"


@pytest.fixture(params=["v1", "v2"])
def bench(request, tmp_path):
    """A run folder that an earlier version wrote, as a copy."""
    return shutil.copytree(GOLDEN / request.param, tmp_path / "run")


def test_a_benchs_ledger_is_read_whole(bench):
    """Both formats hold the same episodes, and every step and end of them decodes."""
    found = list(read_episodes(bench))
    assert len(found) == 9
    assert sum(len(steps) for _, steps in found) == 36
    assert sum(end.verdict.passed for end, _ in found) == 7
    assert {end.ending for end, _ in found} == {Ending.ANSWERED, Ending.HANDED_OVER}
    assert [line.reason for line in read_not_applicable(bench)] == ["no tool of the plan has another path"]


def test_a_benchs_ledger_is_indexed_and_checked(bench):
    """The index leads to every episode of either format, and a check finds nothing."""
    with index.opened(bench) as opened:
        entries = index.entries(opened)
        assert len(entries) == 9
        assert all(len(index.load(bench, entry)[0]) == entry.steps for entry in entries)
    assert verify(FolderSource(bench), None, {}).findings == ()


def test_a_benchs_segment_goes_on_in_its_own_format(bench, episode):
    """An episode that is added to an old segment stands in that segment's form."""
    with SegmentWriter(bench, "w0") as writer:
        writer.episode(*episode(77))
    assert len(list(read_episodes(bench))) == 10
    assert verify(FolderSource(bench), None, {}).findings == ()
    last = segment_path(bench, "w0").read_bytes().splitlines()[-1]
    assert (b'"chain"' in last) == (
        bench.joinpath("segments/w0.jsonl").read_bytes().startswith(b'{"line":"header","format":2')
    )


def test_a_production_ledger_is_read_whole(tmp_path):
    """Every step of a golden ledger of production means what it meant, large value and packed segment included."""
    folder = shutil.copytree(GOLDEN / "v2-steps", tmp_path / "ledger")
    steps = list(read_steps(FolderSource(folder)))
    assert [step.n for step in steps] == list(range(12))
    assert steps[3].arguments["page"] == "".join(f"word{n}, " for n in range(9000))
    assert isinstance(steps[5].observed_outcome, Failed)
    assert steps[5].observed_outcome.status == 503
    assert steps[7].scrubbed == ("/arguments/password",)
    assert steps[8].cost is not None
    assert steps[8].cost.tokens_in == 1200
    assert verify(FolderSource(folder), None, {}).findings == ()
    with open_folder(folder) as ledger:
        assert ledger.db.rows("SELECT count(*), sum(errors), sum(warnings) FROM runs") == [(3, 1, 2)]
    assert msgspec.json.decode((folder / "expected.json").read_bytes(), type=list[Step]) == steps
