"""Lines as rows of the index: pure arithmetic over one batch of lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from breakfall.ledger.severity import Severity, rule
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


class Batch:
    """Some lines, as the rows that they add; names still stand as texts.

    Attributes:
        steps: The rows of steps, in the order of `schema.STEP_COLUMNS` without the id.
        runs: What is added to each run.
        episodes: What is added to each episode.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.runs: dict[str, RunRow] = {}
        self.episodes: dict[str, EpisodeRow] = {}

    def step(self, step: Step, place: Place, agent: str = "") -> None:
        """Add a step; `agent` is whose it is where it does not say."""
        agent = named(step.agent or agent)
        run_name, episode = named(step.run or step.episode), named(step.episode)
        ruling = rule(step).severity
        unverified = ruling is Severity.WARNING and step.verification.status is VerificationStatus.NOT_DONE
        cost = step.cost
        tokens = None if cost is None else cost.tokens_in + cost.tokens_out
        fault = step.injection.kind.value if step.injection is not None and not step.injection.suppressed else None
        incomplete = bool(step.incomplete)
        self.steps.append(
            (
                run_name, episode, step.n, named(step.call), named(step.tool), named(step.intent), agent,
                named(step.agent_version), step.unix_s,
                None if step.unix_s is None else math.floor(step.unix_s / _HOUR_S), step.at_s, step.took_s,
                step.attempt, step.purpose, step.strategy and step.strategy.value, _retried(step),
                step.effect and step.effect.value, *_outcome(step), ruling.value, step.verification.status.value,
                step.uncertainty_signal.value, int(unverified), int(incomplete), *_cost(step), tokens,
                None if cost is None else cost.usd, fault,
                place.segment, place.seq, place.position, place.length,
            )
        )  # fmt: skip
        run = self.runs.get(run_name)
        if run is None:
            run = self.runs[run_name] = RunRow(agent, named(step.agent_version))
        run.steps += 1
        run.errors += ruling is Severity.ERROR
        run.warnings += ruling is Severity.WARNING
        run.unverified += unverified
        run.incomplete += incomplete
        run.tokens += tokens or 0
        run.usd += 0.0 if cost is None else cost.usd
        run.seconds += step.took_s
        if step.unix_s is not None:
            ended_s = step.unix_s + step.took_s
            run.begun_s = step.unix_s if run.begun_s is None else min(run.begun_s, step.unix_s)
            run.ended_s = ended_s if run.ended_s is None else max(run.ended_s, ended_s)
        row = self.episodes.get(episode)
        if row is None:
            row = self.episodes[episode] = EpisodeRow(run_name)
        row.steps += 1
        row.faults += fault is not None

    def end(self, end: EpisodeEnd, place: Place) -> None:
        """Add the end of an episode; `place` is that of the whole episode, where it is stored at once."""
        name = named(end.episode)
        row = self.episodes.get(name)
        if row is None:
            row = self.episodes[name] = EpisodeRow(name)
            self.runs.setdefault(name, RunRow(named(end.key.agent), ""))
        row.end, row.place = end, place

    def names(self) -> set[str]:
        """Return every text that stands for a name."""
        found = {text for row in self.steps for text in (*row[:2], *row[4:8])}
        found.update(self.runs, self.episodes)
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


def _cost(step: Step) -> tuple[int | None, int | None, int | None]:
    cost = step.cost
    return (None, None, None) if cost is None else (cost.tokens_in, cost.tokens_cached, cost.tokens_out)
