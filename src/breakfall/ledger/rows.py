"""Lines as rows of the index: pure arithmetic over one batch of lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from breakfall.ledger.severity import Severity, rule
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.vocab import EpisodeEnd, Ok, Step, VerificationStatus

NAME_CHARS = 500
"""What a name is cut to in the index; the line holds it whole."""

_HOUR_S = 3600


class Place(Struct, frozen=True):
    """Where a line stands."""

    segment: int
    seq: int
    position: int
    length: int
    crc: int | None = None
    """Of a line that has no seal of its own, so that it can be told from the others of its episode."""


class RunRow(Struct):
    """What a batch adds to a run."""

    agent: str
    version: str
    begun_s: float | None = None
    ended_s: float | None = None
    steps: int = 0
    errors: int = 0
    warnings: int = 0
    unverified: int = 0
    incomplete: int = 0
    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class EpisodeRow(Struct):
    """What a batch adds to an episode."""

    run: str
    steps: int = 0
    end: EpisodeEnd | None = None
    faults: int = 0
    place: Place | None = None


class CountRow(Struct):
    """What a batch adds to the sums of an hour, tool, intent, agent and version."""

    steps: int = 0
    errors: int = 0
    warnings: int = 0
    unverified: int = 0
    incomplete: int = 0
    failed: int = 0
    counted: int = 0
    """Steps whose tokens are known."""
    tokens: int = 0
    tokens_cached: int = 0
    usd: float = 0.0


CountKey = tuple[int, str, str, str, str]
"""Hour, tool, intent, agent, version."""


class Batch:
    """Some lines, as the rows that they add; names still stand as texts.

    Attributes:
        steps: The rows of steps, in the order of `schema.STEP_COLUMNS` without the id.
        counts: What is added to each sum.
        runs: What is added to each run.
        episodes: What is added to each episode.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.counts: dict[CountKey, CountRow] = {}
        self.verdicts: dict[str, tuple[Any, ...]] = {}
        self.runs: dict[str, RunRow] = {}
        self.episodes: dict[str, EpisodeRow] = {}

    def step(self, step: Step, place: Place, agent: str = "") -> None:
        """Add a step; `agent` is whose it is where it does not say."""
        seen = _Seen(step, agent)
        self.steps.append((*seen.row(), place.segment, place.seq, place.position, place.length, place.crc))
        self._count(seen)
        self._add_to_run(seen)
        row = self.episodes.get(seen.episode)
        if row is None:
            row = self.episodes[seen.episode] = EpisodeRow(seen.run)
        row.steps += 1
        row.faults += seen.fault is not None

    def _count(self, seen: _Seen) -> None:
        key = (-1 if seen.hour is None else seen.hour, seen.tool, seen.intent, seen.agent, seen.version)
        count = self.counts.get(key)
        if count is None:
            count = self.counts[key] = CountRow()
        count.steps += 1
        count.errors += seen.error
        count.warnings += seen.warning
        count.unverified += seen.unverified
        count.incomplete += seen.incomplete
        count.failed += seen.failed
        if seen.cost is not None:
            count.counted += 1
            count.tokens += seen.tokens or 0
            count.tokens_cached += seen.cost.tokens_cached
            count.usd += seen.cost.usd

    def _add_to_run(self, seen: _Seen) -> None:
        run, step = self.runs.get(seen.run), seen.step
        if run is None:
            run = self.runs[seen.run] = RunRow(seen.agent, seen.version)
        run.steps += 1
        run.errors += seen.error
        run.warnings += seen.warning
        run.unverified += seen.unverified
        run.incomplete += seen.incomplete
        run.tokens += seen.tokens or 0
        run.usd += 0.0 if seen.cost is None else seen.cost.usd
        run.seconds += step.took_s
        if step.unix_s is not None:
            ended_s = step.unix_s + step.took_s
            run.begun_s = step.unix_s if run.begun_s is None else min(run.begun_s, step.unix_s)
            run.ended_s = ended_s if run.ended_s is None else max(run.ended_s, ended_s)

    def end(self, end: EpisodeEnd, place: Place) -> None:
        """Add the end of an episode; `place` is that of the whole episode, where it is stored at once."""
        name = named(end.episode)
        row = self.episodes.get(name)
        if row is None:
            row = self.episodes[name] = EpisodeRow(name)
            self.runs.setdefault(name, RunRow(named(end.key.agent), ""))
        row.end, row.place = end, place

    def verdict(self, line: StepVerdict | Incident) -> None:
        """Add what the watchdog said; the same is said once."""
        if isinstance(line, StepVerdict):
            said = (line.judgement.value, line.rule.value, int(line.alarming))
            about = (line.n, named(line.tool))
        else:
            said = ("incident", line.trouble.value, 1)
            about = (None, "")
        run, episode = named(line.run or line.episode), named(line.episode)
        who = (run, episode, *about, named(line.agent))
        self.verdicts.setdefault(line.id, (*said, *who, named(line.why), line.unix_s))

    def names(self) -> set[str]:
        """Return every text that stands for a name."""
        found = {text for row in self.steps for text in (*row[:2], *row[4:8])}
        found.update(self.runs, self.episodes)
        found.update(text for row in self.verdicts.values() for text in (row[3], row[4], row[6], row[7]))
        found.update(run.agent for run in self.runs.values())
        found.update(run.version for run in self.runs.values())
        return found

    def step_rows(self, ids: Mapping[str, int], first: int) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of steps, numbered from `first`."""
        for number, row in enumerate(self.steps, first):
            run, episode, n, call, tool, intent, agent, version, *rest = row
            yield (
                number, ids[run], ids[episode], n, call, ids[tool], ids[intent], ids[agent], ids[version], *rest,
            )  # fmt: skip

    def count_rows(self, ids: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
        """Yield what is added to sums, in the order of the table's columns."""
        for (hour, *names), count in sorted(self.counts.items()):
            yield (hour, *(ids[name] for name in names), *astuple(count))

    def verdict_rows(self, ids: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
        """Yield what the watchdog said, in the order of the table's columns."""
        for name, row in self.verdicts.items():
            judgement, because, alarming, run, episode, n, tool, agent, why, unix_s = row
            who = (ids[run], ids[episode], n, ids[tool], ids[agent])
            yield (named(name), judgement, because, alarming, *who, why, unix_s)

    def run_rows(self, ids: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
        """Yield what is added to runs, in the order of the table's columns."""
        for name, run in self.runs.items():
            yield (
                ids[name], ids[run.agent], ids[run.version], run.begun_s, run.ended_s, run.steps, run.errors,
                run.warnings, run.unverified, run.incomplete, run.tokens, run.usd, run.seconds,
            )  # fmt: skip

    def episode_rows(self, ids: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
        """Yield what is added to episodes, in the order of the table's columns."""
        for name, row in self.episodes.items():
            ended: tuple[Any, ...] = (None,) * 8
            if row.end is not None:
                key, end = row.end.key, row.end
                ended = (key.world, key.condition, key.agent, key.scenario.value, key.task, key.seed, end.ending.value)
                ended = (*ended, int(end.verdict.passed))
            place = row.place
            where = (None,) * 3 if place is None else (place.segment, place.position, place.length)
            yield (ids[name], ids[row.run], row.steps, *ended, row.faults, *where)


_AGAIN = frozenset({"retry", "switch"})


class _Seen:
    """A step as the index sees it."""

    __slots__ = (
        "agent", "cost", "episode", "error", "failed", "fault", "hour", "incomplete", "intent", "ruling", "run", "step",
        "tokens", "tool", "unverified", "version", "warning",
    )  # fmt: skip

    def __init__(self, step: Step, agent: str) -> None:
        self.step = step
        self.run, self.episode = named(step.run or step.episode), named(step.episode)
        self.tool, self.intent = named(step.tool), named(step.intent)
        self.agent, self.version = named(step.agent or agent), named(step.agent_version)
        self.ruling = rule(step).severity
        self.error, self.warning = self.ruling is Severity.ERROR, self.ruling is Severity.WARNING
        self.unverified = self.warning and step.verification.status is VerificationStatus.NOT_DONE
        self.incomplete = bool(step.incomplete)
        self.failed = not isinstance(step.observed_outcome, Ok)
        self.hour = None if step.unix_s is None else math.floor(step.unix_s / _HOUR_S)
        self.cost = cost = step.cost
        self.tokens = None if cost is None else cost.tokens_in + cost.tokens_out
        injected = step.injection
        self.fault = injected.kind.value if injected is not None and not injected.suppressed else None

    def row(self) -> tuple[Any, ...]:
        """Return the step's row up to its place."""
        step, cost = self.step, self.cost
        return (
            self.run, self.episode, step.n, named(step.call), self.tool, self.intent, self.agent, self.version,
            step.unix_s, self.hour, step.at_s, step.took_s, step.attempt, step.purpose,
            step.strategy and step.strategy.value, _retried(step), step.effect and step.effect.value, *_outcome(step),
            self.ruling.value, step.verification.status.value, step.uncertainty_signal.value, int(self.unverified),
            int(self.incomplete), cost and cost.tokens_in, cost and cost.tokens_cached, cost and cost.tokens_out,
            self.tokens, cost and cost.usd, self.fault,
        )  # fmt: skip


def _retried(step: Step) -> int:
    """Whether it is a further try of its call; look-ups are none."""
    return int(not step.purpose and (step.attempt > 1 or step.strategy in _AGAIN))


def named(text: str) -> str:
    """Return a text as the index holds it: cut, and without the NUL that PostgreSQL refuses."""
    if len(text) > NAME_CHARS:
        text = f"{text[: NAME_CHARS - 1]}…"
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _outcome(step: Step) -> tuple[str, int | None, str | None]:
    """Return how a step ended: its class, its HTTP status, and its exception."""
    outcome = step.observed_outcome
    if isinstance(outcome, Ok):
        return "ok", outcome.status, None
    return outcome.failure_class, outcome.status, None if outcome.exception is None else named(outcome.exception)
