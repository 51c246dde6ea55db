"""Add scored episodes up: cells of the matrix, breakdowns, and what followed each fault.

Rows come out in the order in which their agents and scenarios first appear among the scores, so the caller sorts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from breakfall.bench.met import FaultMet
from breakfall.bench.metrics import BY_NAME, METRICS, Value, applies, measure, over_seeds, share, unscored
from breakfall.bench.score import EpisodeScore
from breakfall.bench.stopping import Flaw
from breakfall.vocab import Ending, FaultKind, NotApplicable, Response, Scenario


class Cell(Struct, frozen=True, kw_only=True):
    """One agent under one scenario."""

    world: str
    condition: str
    agent: str
    scenario: Scenario
    episodes: int
    """Episodes that ran."""
    inconclusive: int
    """Those of them in which the scenario's fault never fired; no metric counts them."""
    not_applicable: int
    """Episodes that do not exist, because the scenario cannot be built for the task."""
    endings: dict[str, int]
    stop_flaws: dict[str, int] = {}
    """Under S3: why the conclusive episodes that did not stop correctly did not, each by the first `Flaw` found."""
    metrics: dict[str, Value]


class Breakdown(Struct, frozen=True, kw_only=True):
    """The conclusive episodes of one agent under one scenario that met one kind, one tool or one template."""

    world: str
    condition: str
    agent: str
    scenario: Scenario
    name: str
    episodes: int
    faults: int
    pass_rate: Value
    right_first: Value
    """Share of the faults whose first response was the right one, of those that it can be judged of."""
    recovered: Value
    """Share of the observable faults after which the call was served: by the same or another path, or by a look-up that
    found the write done."""
    silent_adoption: Value


class Responses(Struct, frozen=True, kw_only=True):
    """How one agent responded to faults: of one kind, or of one right response."""

    world: str
    condition: str
    agent: str
    name: str
    faults: int
    first: dict[str, int]
    eventual: dict[str, int]


class Missing(Struct, frozen=True, kw_only=True):
    """Episodes that do not exist, and why."""

    world: str
    condition: str
    scenario: Scenario
    reason: str
    episodes: int


_Place = tuple[str, str, str, Scenario]


def _place(line: EpisodeScore | NotApplicable) -> _Place:
    key = line.key
    return key.world, key.condition, key.agent, key.scenario


def cells(scores: Sequence[EpisodeScore], missing: Sequence[NotApplicable]) -> list[Cell]:
    """Return one cell per world, condition, agent and scenario."""
    groups: dict[_Place, list[EpisodeScore]] = {}
    for score in scores:
        groups.setdefault(_place(score), []).append(score)
    absent = Counter(_place(line) for line in missing)
    agents = list(dict.fromkeys(place[2] for place in (*groups, *absent)))
    places = sorted(
        groups.keys() | absent.keys(),
        key=lambda place: (place[0], place[1], agents.index(place[2]), list(Scenario).index(place[3])),
    )
    return [_cell(place, groups.get(place, []), absent[place]) for place in places]


def _cell(place: _Place, scores: Sequence[EpisodeScore], absent: int) -> Cell:
    world, condition, agent, scenario = place
    endings = Counter(score.ending for score in scores)
    conclusive = [score for score in scores if score.conclusive]
    flaws = Counter(score.stop_flaw.flaw for score in conclusive if score.stop_flaw is not None)
    metrics = {
        metric.name: measure(metric, scores) if applies(metric.name, scenario) else unscored(f"not under {scenario}")
        for metric in METRICS
    }
    return Cell(
        world=world,
        condition=condition,
        agent=agent,
        scenario=scenario,
        episodes=len(scores),
        inconclusive=len(scores) - len(conclusive),
        not_applicable=absent,
        endings={ending.value: endings[ending] for ending in Ending if endings[ending]},
        stop_flaws={flaw.value: flaws[flaw] for flaw in Flaw if flaws[flaw]},
        metrics=metrics | over_seeds(scores),
    )


def by_kind(scores: Iterable[EpisodeScore]) -> list[Breakdown]:
    """Break conclusive episodes down by the fault kinds that they met."""
    return _broken_down(scores, lambda met: met.kind.value)


def by_tool(scores: Iterable[EpisodeScore]) -> list[Breakdown]:
    """Break conclusive episodes down by the tools that faults struck."""
    return _broken_down(scores, lambda met: met.tool)


def by_template(scores: Iterable[EpisodeScore], templates: Mapping[tuple[str, str], str]) -> list[Breakdown]:
    """Break conclusive episodes down by the template of their task; `templates` is keyed by world and task."""
    groups: dict[tuple[_Place, str], list[tuple[EpisodeScore, list[FaultMet]]]] = {}
    for score in scores:
        template = templates.get((score.key.world, score.key.task))
        if score.conclusive and template is not None:
            groups.setdefault((_place(score), template), []).append((score, list(score.faults)))
    return _rows(groups)


def _broken_down(scores: Iterable[EpisodeScore], named: Callable[[FaultMet], str]) -> list[Breakdown]:
    groups: dict[tuple[_Place, str], list[tuple[EpisodeScore, list[FaultMet]]]] = {}
    for score in scores:
        met_by_name: dict[str, list[FaultMet]] = {}
        for met in score.faults if score.conclusive else ():
            met_by_name.setdefault(named(met), []).append(met)
        for name, faults in met_by_name.items():
            groups.setdefault((_place(score), name), []).append((score, faults))
    return _rows(groups)


def _rows(groups: Mapping[tuple[_Place, str], list[tuple[EpisodeScore, list[FaultMet]]]]) -> list[Breakdown]:
    rows = []
    ranks = {place: rank for rank, place in enumerate(dict.fromkeys(place for place, _ in groups))}
    for place, name in sorted(groups, key=lambda group: (ranks[group[0]], group[1])):
        members = groups[place, name]
        faults = [met for _, mets in members for met in mets]
        judged = [met for met in faults if met.judged]
        observable = [met for met in faults if not met.kind.silent]
        told = [met.adopted for met in faults if met.adopted is not None]
        rows.append(
            Breakdown(
                world=place[0],
                condition=place[1],
                agent=place[2],
                scenario=place[3],
                name=name,
                episodes=len(members),
                faults=len(faults),
                pass_rate=measure(BY_NAME["pass_rate"], [score for score, _ in members]),
                right_first=share(sum(met.right for met in judged), len(judged)),
                recovered=share(sum(met.recovered is not None for met in observable), len(observable)),
                silent_adoption=share(sum(told), len(told)),
            )
        )
    return rows


def confusion(scores: Iterable[EpisodeScore]) -> list[Responses]:
    """Count the responses of each agent against what would have been right, where that can be judged."""
    return _responses(
        scores, lambda met: met.truth.value if met.judged else None, [response.value for response in Response]
    )


def strategies(scores: Iterable[EpisodeScore]) -> list[Responses]:
    """Count the responses of each agent to each fault kind."""
    return _responses(scores, lambda met: met.kind.value, [kind.value for kind in FaultKind])


def _responses(
    scores: Iterable[EpisodeScore], named: Callable[[FaultMet], str | None], order: Sequence[str]
) -> list[Responses]:
    groups: dict[tuple[str, str, str, str], list[FaultMet]] = {}
    for score in scores:
        key = score.key
        for met in score.faults if score.conclusive else ():
            name = named(met)
            if name is not None:
                groups.setdefault((key.world, key.condition, key.agent, name), []).append(met)
    rows = []
    ranks = {agent: rank for rank, agent in enumerate(dict.fromkeys(group[:3] for group in groups))}
    for group in sorted(groups, key=lambda group: (ranks[group[:3]], order.index(group[3]))):
        mets = groups[group]
        first, eventual = Counter(met.first for met in mets), Counter(met.eventual for met in mets)
        rows.append(
            Responses(
                world=group[0],
                condition=group[1],
                agent=group[2],
                name=group[3],
                faults=len(mets),
                first={response.value: first[response] for response in Response},
                eventual={response.value: eventual[response] for response in Response},
            )
        )
    return rows


def absences(missing: Iterable[NotApplicable]) -> list[Missing]:
    """Count the episodes that do not exist by their reason."""
    counts = Counter((m.key.world, m.key.condition, m.key.scenario, m.reason) for m in missing)
    return [
        Missing(world=world, condition=condition, scenario=scenario, reason=reason, episodes=count)
        for (world, condition, scenario, reason), count in sorted(counts.items())
    ]
