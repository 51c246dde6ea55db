"""The fabrication demo: what is fabricated is named, all of it and nothing else, and honest runs are left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakfall.demos.fabrication.agent import Done
from breakfall.demos.fabrication.issues import serving
from breakfall.demos.fabrication.office import Office
from breakfall.demos.fabrication.play import perform, play, watch
from breakfall.ledger.segment import SegmentWriter
from breakfall.ledger.severity import Severity, tally
from breakfall.vocab import Step


@pytest.mark.parametrize("tens", range(5))
def test_fifty_seeds_exact(tens: int) -> None:
    """For each of fifty seeds the status log says ok fourteen times, and the watchdog names exactly the four."""
    places = set()
    for seed in range(10 * tens, 10 * tens + 10):
        report = play(seed)
        assert [row.log for row in report.rows] == ["ok"] * 14
        assert sorted(row.fabricated for row in report.rows if row.fabricated) == ["step"] * 3 + ["verification"]
        assert report.exact, report.findings
        assert len(report.findings) == 4
        places.add(tuple(row.number for row in report.rows if row.fabricated))
    assert len(places) > 8  # other seeds, other positions


def test_same_seed_same_report() -> None:
    """The same seed gives the same report."""
    assert play(7) == play(7)


def test_an_alarm_too_many_or_too_few_is_not_exact() -> None:
    """The report says so when a fabrication goes unnamed; an honest run has none."""
    assert play(3, honest=True).exact
    assert play(3, honest=True).findings == ()


class Kept:
    """Keeps the steps of one episode, which are written at once: nothing is killed here."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def step(self, step: Step) -> None:
        self.steps.append(step)


@pytest.mark.parametrize("part", range(4))
def test_no_false_alarm_in_a_thousand_honest_runs(tmp_path: Path, part: int) -> None:
    """A thousand honest runs, with calls that fail at first and steps that are refused and said so, alarm nobody."""
    done: list[Done] = []
    confirmed = retried = 0
    with serving() as issues:
        for number in range(25 * part, 25 * part + 25):
            office, ledger = Office(tmp_path / f"office-{number}", issues), tmp_path / f"ledger-{number}"
            with SegmentWriter(ledger, "w0") as writer:
                for seed in range(10 * number, 10 * number + 10):
                    kept = Kept()
                    end, truth = perform(office, kept, seed, honest=True)
                    writer.episode(sorted(kept.steps, key=lambda step: step.n), end)
                    done += truth
                    retried += sum(step.attempt > 1 for step in kept.steps)
                    assert tally(kept.steps).rate(Severity.ERROR) == 0
            summary = watch(office, ledger)
            assert summary.found == ()
            assert summary.pending == 0
            confirmed += summary.counts["confirmed"]
    refused = sum(one.status != "ok" for one in done)
    assert (len(done), confirmed) == (250 * 14, 250 * 14 - refused)
    assert refused > 20
    assert retried > 250
