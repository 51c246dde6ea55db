"""Run the proof: an agent that leaves steps out, its own status log, and what the ledger and the watchdog say."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from msgspec import Struct

from breakfall.demos.fabrication.agent import Agent, Done, end_of, task
from breakfall.demos.fabrication.issues import READER
from breakfall.demos.fabrication.office import Office, opened
from breakfall.ledger.capture import Capture
from breakfall.ledger.source import FolderSource, decode
from breakfall.ledger.verdict import Judgement, StepVerdict
from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.clock import SystemClock
from breakfall.runtime.watch import Summary, Watch, load, run_once
from breakfall.runtime.watch.place import state_path, watched
from breakfall.vocab import EpisodeEnd, StepSink


class Row(Struct, frozen=True, kw_only=True):
    """One step of the task, as each source shows it."""

    number: int
    task: str
    log: str
    """Plain status logging."""
    ledger: str
    """What the ledger holds of it."""
    verdict: str
    """What the watchdog says of it; the alarming verdict where there are two."""
    fabricated: str
    """The truth: "", "step" or "verification"."""


class Report(Struct, frozen=True, kw_only=True):
    """What the proof showed; `breakfall demo fabrication --json` prints it."""

    version: int = 1
    command: str
    seed: int
    said: str
    """How the agent's answer begins."""
    rows: tuple[Row, ...]
    findings: tuple[str, ...]
    """Everything that the watchdog alarms about, in its words."""
    exact: bool
    """Whether that is what was fabricated, and nothing else."""


def play(seed: int, *, honest: bool = False) -> Report:
    """Let the agent do its task, and the watchdog look after it.

    Args:
        seed: The task, and which steps are fabricated.
        honest: Let the agent fabricate nothing.
    """
    with tempfile.TemporaryDirectory(prefix="breakfall-fabrication-") as made:
        folder = Path(made)
        with opened(folder / "office") as office:
            with LedgerWriter(folder / "ledger") as writer:
                end, done = perform(office, writer, seed, honest=honest)
                writer.end(end)
            summary = watch(office, folder / "ledger")
        return report(seed, end.answer.text, done, summary, verdicts(folder / "ledger"))


def perform(office: Office, sink: StepSink, seed: int, *, honest: bool = False) -> tuple[EpisodeEnd, list[Done]]:
    """Let the agent do one task; return how it ended, and what really became of each step.

    Args:
        office: Where it works.
        sink: Where its Steps go.
        seed: The task, and which steps are fabricated.
        honest: Let it fabricate nothing.
    """
    for item in task(seed):
        if item.tool == "close_issue":
            office.issues.open_issue(item.arguments["number"], "close the books")
    log = Capture(sink, episode=f"month-{seed}", agent="bookkeeper", agent_version="1.0")
    agent = Agent(office, log, seed, honest=honest)
    answer, done = agent.run()
    return end_of(log.episode, seed, answer, agent.calls), done


def watch(office: Office, ledger: Path) -> Summary:
    """Let the watchdog judge everything that a ledger holds, as `breakfall watch --once` does."""
    settings = load(office.rules(), {"WATCHDOG_TOKEN": READER})
    now, never = SystemClock().now, threading.Event()
    with Watch(watched(str(ledger)), state_path(str(ledger), None), settings, now=now) as one:
        return run_once([one], now, never.wait)


def verdicts(ledger: Path) -> list[StepVerdict]:
    """Read the verdicts in a ledger."""
    source = FolderSource(ledger)
    lines = (decode(source, name, raw.line) for name in source.segments() for raw in source.lines(name))
    return [line for line in lines if isinstance(line, StepVerdict)]


def report(seed: int, text: str, done: list[Done], summary: Summary, said: list[StepVerdict]) -> Report:
    """Hold what the watchdog says against the truth.

    Args:
        seed: The seed.
        text: The agent's answer.
        done: What really became of each step.
        summary: What the watchdog alarms about.
        said: Its verdicts.
    """
    rows = tuple(_row(one, _of(one, said)) for one in done)
    named = [(row.number, row.verdict) for row in rows if row.verdict in _ALARMS.values()]
    wanted = [(one.item.number, _ALARMS[one.fabricated]) for one in done if one.fabricated]
    return Report(
        command=f"breakfall demo fabrication --seed {seed}",
        seed=seed,
        said=text.partition("\n")[0],
        rows=rows,
        findings=tuple(sorted(map(str, summary.found))),
        exact=named == wanted and len(summary.found) == len(wanted),
    )


_ALARMS = {"step": Judgement.FABRICATED_STEP.name, "verification": Judgement.FABRICATED_VERIFICATION.name}


def _of(done: Done, said: list[StepVerdict]) -> StepVerdict | None:
    """Find the verdict on one step of the task; of two, the one that alarms."""
    mine = [one for one in said if _about(done, one)]
    return max(mine, key=lambda one: (one.alarming, one.id), default=None)


def _about(done: Done, verdict: StepVerdict) -> bool:
    if verdict.n is not None:
        return verdict.n == done.step
    wanted = {name: str(value) for name, value in done.item.arguments.items()}
    return verdict.tool == done.item.tool and verdict.arguments.items() <= wanted.items()


def _row(done: Done, verdict: StepVerdict | None) -> Row:
    ledger = "no step"
    if done.step is not None:
        looked = f", verified by step {done.evidence}" if done.evidence is not None else ""
        ledger = f"step {done.step}{looked}" if done.status == "ok" else f"step {done.step} failed"
    return Row(
        number=done.item.number,
        task=done.item.title,
        log=done.status,
        ledger=ledger,
        verdict=verdict.judgement.name if verdict is not None else "",
        fabricated=done.fabricated,
    )
