"""The report of a run: folded from its episodes, and written as JSON, HTML and JUnit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from breakfall import catalog
from breakfall.bench import junit, manifest
from breakfall.bench.compare import Comparison, compare
from breakfall.bench.findings import Finding, findings
from breakfall.bench.html import page
from breakfall.bench.matrix import expand
from breakfall.bench.score import EpisodeScore, score_episode
from breakfall.bench.tally import (
    Breakdown,
    Cell,
    Missing,
    Responses,
    absences,
    by_kind,
    by_template,
    by_tool,
    cells,
    confusion,
    strategies,
)
from breakfall.bench.worst import Gallery, WorstEpisode
from breakfall.errors import StoreError, UsageError
from breakfall.ledger.read import read_episodes, read_not_applicable
from breakfall.vocab import EpisodeEnd, EpisodeKey, NotApplicable, Scenario, Step, Task, Tool

FORMAT = 1
"""A report gains fields and never loses one; anything else raises this number."""

JSON = "report.json"
HTML = "report.html"
JUNIT = "junit.xml"


class Report(Struct, frozen=True, kw_only=True):
    """Everything that a run says. The same run gives the same bytes on any machine."""

    format: int = FORMAT
    breakfall: str
    command: str
    """The command that reproduces the run."""
    complete: bool
    """Whether every episode of the run is in."""
    profile: str
    """The profile as it was asked for: a name or a file."""
    profile_name: str = ""
    """What it calls itself."""
    profile_digest: str = ""
    """Hash of its content: runs with equal ones met the same noise; "" for runs that did not note it."""
    seeds: int
    data: dict[str, str]
    """Hash of each world's data."""
    code: str
    """Hash of the code that decides how an episode goes."""
    episodes: int
    fired: int
    """Faults that fired."""
    findings: list[Finding]
    cells: list[Cell]
    comparisons: list[Comparison]
    by_kind: list[Breakdown]
    by_tool: list[Breakdown]
    by_template: list[Breakdown]
    confusion: list[Responses]
    """Per agent: rows by the right response, columns by the agent's."""
    strategies: list[Responses]
    """Per agent: rows by fault kind, columns by the agent's response."""
    not_applicable: list[Missing]
    worst: list[WorstEpisode]


class Outcome(Struct, frozen=True, kw_only=True):
    """A built report and the scored episodes that it rests on."""

    report: Report
    scores: list[EpisodeScore]
    missing: list[NotApplicable]


class _Worlds:
    """The tasks and tools of the worlds of a run."""

    def __init__(self, run: manifest.Manifest) -> None:
        self.tasks: dict[tuple[str, str], Task] = {}
        self._tools: dict[tuple[str, str], Mapping[str, Tool]] = {}
        self._sources: dict[str, str] = {}
        for source, name, split, limit in sorted(
            {(u.source, u.world, u.split, u.limit) for u in expand(run.spec)}, key=str
        ):
            self._sources[name] = source
            for task in catalog.world(source).tasks(split, limit):
                self.tasks[name, task.id] = task

    def tools(self, world: str, condition: str) -> Mapping[str, Tool]:
        """Return the tools of a world's condition."""
        place = (world, condition)
        if place not in self._tools:
            self._tools[place] = catalog.world(self._sources[world]).tools(condition)
        return self._tools[place]

    @property
    def templates(self) -> dict[tuple[str, str], str]:
        """The template of each task."""
        return {place: task.template for place, task in self.tasks.items()}


def build(folder: Path) -> Outcome:
    """Build the report of a run folder.

    Raises:
        UsageError: The folder holds no run.
        StoreError: What it holds is damaged.
    """
    run = manifest.read(folder)
    worlds = _Worlds(run)
    gallery = Gallery()
    place = _ordering(run.spec.agents)
    scores = sorted(_scored(read_episodes(folder), worlds, gallery), key=lambda score: place(score.key))
    missing = sorted(read_not_applicable(folder), key=lambda line: place(line.key))
    report = assemble(run, scores, missing, worlds.templates, gallery)
    return Outcome(report=report, scores=scores, missing=missing)


def scores_of(folder: Path) -> list[EpisodeScore]:
    """Score the episodes of a run folder, in the order of a report.

    Raises:
        UsageError: The folder holds no run.
        StoreError: What it holds is damaged.
    """
    run = manifest.read(folder)
    place = _ordering(run.spec.agents)
    scored = _scored(read_episodes(folder), _Worlds(run), Gallery())
    return sorted(scored, key=lambda score: place(score.key))


def _ordering(agents: Sequence[str]) -> Callable[[EpisodeKey], tuple[object, ...]]:
    """Return the sort key of a report: agents as the run names them, scenarios as they are defined."""
    ranks = {agent: rank for rank, agent in enumerate(agents)}
    scenarios = list(Scenario)

    def place(key: EpisodeKey) -> tuple[object, ...]:
        rank = ranks.get(key.agent, len(ranks))
        return key.world, key.condition, rank, key.agent, scenarios.index(key.scenario), key.task, key.seed

    return place


def _scored(
    episodes: Iterable[tuple[EpisodeEnd, Sequence[Step]]], worlds: _Worlds, gallery: Gallery
) -> Iterator[EpisodeScore]:
    for end, steps in episodes:
        key = end.key
        tools = worlds.tools(key.world, key.condition)
        score = score_episode(end, steps, tools, worlds.tasks.get((key.world, key.task)))
        gallery.see(score, end, steps)
        yield score


def assemble(
    run: manifest.Manifest,
    scores: Sequence[EpisodeScore],
    missing: Sequence[NotApplicable],
    templates: Mapping[tuple[str, str], str],
    gallery: Gallery,
) -> Report:
    """Put a report together from scored episodes, in the order that the report shall have."""
    matrix = cells(scores, missing)
    return Report(
        breakfall=run.breakfall,
        command=run.command,
        complete=run.complete,
        profile=run.spec.profile,
        profile_name=run.profile.name,
        profile_digest=run.profile_digest,
        seeds=run.spec.seeds,
        data=dict(sorted(run.data.items())),
        code=run.code,
        episodes=len(scores),
        fired=sum(len(score.faults) for score in scores),
        findings=findings(matrix),
        cells=matrix,
        comparisons=compare(scores),
        by_kind=by_kind(scores),
        by_tool=by_tool(scores),
        by_template=by_template(scores, templates),
        confusion=confusion(scores),
        strategies=strategies(scores),
        not_applicable=absences(missing),
        worst=gallery.shown(),
    )


def encode(report: Report) -> bytes:
    """Encode a report as `report.json` holds it."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def write(outcome: Outcome, folder: Path) -> None:
    """Write report.json, report.html and junit.xml, each whole or not at all.

    Raises:
        StoreError: One cannot be written.
    """
    _replace(folder / JSON, encode(outcome.report))
    _replace(folder / HTML, page(outcome.report).encode())
    _replace(folder / JUNIT, junit.document(outcome.scores, outcome.missing))


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; make room or choose another folder") from None


def read(path: Path) -> Report:
    """Read a report.json.

    Raises:
        UsageError: There is none, or it is not one that we can read.
    """
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; `breakfall bench --out DIR` makes one") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}: not a report.json: {error}") from None
    if report.format > FORMAT:
        raise UsageError(f"{path}: format {report.format}, this breakfall reads up to {FORMAT}; use a newer one")
    return report
