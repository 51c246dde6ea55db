"""The ledger under arbitrary steps, tampering, cuts and order of looks."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from breakfall.ledger.line import segment_path
from breakfall.ledger.questions import By, Filter, counts, runs
from breakfall.ledger.segment import SegmentWriter
from breakfall.ledger.source import FolderSource, read_steps
from breakfall.ledger.sqlite import NAME
from breakfall.ledger.store import open_folder
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter
from breakfall.vocab import (
    Answer,
    Cost,
    Effect,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    Failed,
    FaultKind,
    Ok,
    Scenario,
    Step,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OUTCOMES = st.builds(Ok, value=VALUES) | st.builds(
    Failed, message=TEXTS, kind=st.sampled_from([None, *FaultKind]), status=st.none() | st.integers(400, 599)
)
STEPS = st.builds(
    Step,
    episode=st.sampled_from(["run-1", "run-2", "실행 3"]),
    n=st.integers(0, 30),
    call=TEXTS,
    tool=st.sampled_from(["get", "put"]),
    arguments=st.dictionaries(TEXTS, VALUES, max_size=3),
    attempt=st.integers(1, 3),
    at_s=st.floats(0, 1e6),
    took_s=st.floats(0, 1e3),
    expected_outcome=TEXTS,
    observed_outcome=OUTCOMES,
    verification=st.builds(Verification, status=st.sampled_from(VerificationStatus)),
    uncertainty_signal=st.sampled_from(Uncertainty),
    effect=st.none() | st.sampled_from(Effect),
    unix_s=st.floats(1e9, 2e9),
    cost=st.none() | st.builds(Cost, tokens_in=st.integers(0, 10**6), usd=st.floats(0, 100)),
)


def write(folder: Path, steps: list[Step], **options: int) -> str:
    """Write steps as one process does; return the name of its last segment."""
    with LedgerWriter(folder, scrub=None, **options) as writer:
        for step in steps:
            writer.step(step)
    return writer.segment


@given(st.lists(STEPS, max_size=8), st.sampled_from([200, 1500, 10**9]))
@settings(max_examples=25, deadline=None)
def test_reading_gives_what_was_written(steps, rotate_bytes):
    """Any step comes back as it was written, wherever segments end, and the chain is sound."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, steps, rotate_bytes=rotate_bytes)
        assert list(read_steps(FolderSource(folder))) == steps
        assert verify(FolderSource(folder), None, {}).findings == ()


@given(st.lists(STEPS, min_size=1, max_size=5), st.data())
@settings(max_examples=60, deadline=None)
def test_no_changed_byte_goes_unnoticed(steps, data):
    """Whichever byte of a segment is changed to whatever else, a check finds it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = segment_path(folder, write(folder, steps))
        raw = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(raw) - 2))
        raw[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[place]))
        path.write_bytes(raw)
        try:
            checked = verify(FolderSource(folder), None, {})
        except Exception as error:
            assert "line 1 is not a segment's header" in str(error) or "ledger format" in str(error)  # noqa: PT017
        else:
            assert checked.findings != ()


@given(st.lists(st.lists(STEPS, max_size=3), min_size=1, max_size=3), st.data())
@settings(max_examples=40, deadline=None)
def test_no_changed_byte_of_a_bench_goes_unnoticed(episodes, data):
    """An episode carries one hash, and it covers every byte of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SegmentWriter(folder, "w0") as writer:
            for seed, steps in enumerate(episodes):
                key = EpisodeKey(world="w", condition="c", agent="a", scenario=Scenario.S1, task="t", seed=seed)
                numbered = [replace(step, episode=key.id, n=n) for n, step in enumerate(steps)]
                writer.episode(numbered, end_of(key, len(steps)))
        assert verify(FolderSource(folder), None, {}).findings == ()
        path = segment_path(folder, "w0")
        raw = bytearray(path.read_bytes())
        place = data.draw(st.integers(len(raw.splitlines()[0]) + 1, len(raw) - 2))
        raw[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[place]))
        path.write_bytes(raw)
        assert not verify(FolderSource(folder), None, {}).sound


def end_of(key: EpisodeKey, steps: int) -> EpisodeEnd:
    """Return the end of an episode that passed."""
    verdict = Verdict(passed=True, state_ok=True, answer_ok=True)
    return EpisodeEnd(
        episode=key.id, key=key, steps=steps, ending=Ending.ANSWERED, answer=Answer(text="done"), verdict=verdict
    )


@given(st.lists(STEPS, min_size=3, max_size=8), st.data())
@settings(max_examples=25, deadline=None)
def test_no_other_order_goes_unnoticed(steps, data):
    """Lines that are left out, repeated or put in another order are found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = segment_path(folder, write(folder, steps))
        lines = path.read_bytes().splitlines(keepends=True)
        places = range(1, len(lines))
        kept = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=len(lines)))
        other = [lines[0], *(lines[place] for place in kept)]
        path.write_bytes(b"".join(other))
        checked = verify(FolderSource(folder), None, {})
        whole = other == lines[: len(other)]
        assert checked.sound == whole  # lines missing at the end are found by whoever remembers them


@given(st.lists(st.lists(STEPS, max_size=4), min_size=1, max_size=4))
@settings(max_examples=12, deadline=None)
def test_when_the_index_looks_makes_no_difference(parts):
    """An index that followed along answers as one that was built in the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LedgerWriter(folder, scrub=None, rotate_bytes=1500) as writer:
            for part in parts:
                for step in part:
                    writer.step(step)
                with open_folder(folder):
                    pass
        with open_folder(folder) as ledger:
            followed = answers(ledger)
        (folder / NAME).unlink()
        with open_folder(folder) as ledger:
            assert answers(ledger) == followed


def answers(ledger):
    """Return some answers, in an order that does not depend on ids."""
    told = [
        (run.run, run.steps, run.errors, run.warnings, run.tokens, round(run.usd, 6), run.begun_s)
        for run in runs(ledger, Filter())
    ]
    return sorted(told), [sorted(counts(ledger, by, Filter()), key=lambda one: one.name) for by in By]
