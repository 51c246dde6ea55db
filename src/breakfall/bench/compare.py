"""Compare agents pair by pair: the same task, scenario and seed, clustered by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from breakfall import stats
from breakfall.bench.metrics import BY_NAME, bits, resamples, rounded
from breakfall.bench.score import EpisodeScore
from breakfall.vocab import Scenario

FLIPS = 9999
"""Drawn sign flips where there are too many tasks to enumerate them all."""

COMPARED = (
    "pass_rate",
    "retry_success",
    "switch_success",
    "correct_stop",
    "premature_stop",
    "futile_calls",
    "silent_adoption",
    "duplicate_effects",
    "wrong_effects",
    "tool_calls",
    "seconds",
    "usd",
)


Place: TypeAlias = tuple[str | int, ...]
"""What two episodes of a pair share; the task comes first."""


class Paired(Struct, frozen=True, kw_only=True):
    """A difference over pairs, clustered by task, with its 95 % interval and its permutation test."""

    difference: float
    low: float
    high: float
    p: float
    pairs: int
    tasks: int


class Comparison(Struct, frozen=True, kw_only=True):
    """`a` minus `b` on one metric, over the pairs in which both episodes are conclusive."""

    world: str
    condition: str
    a: str
    b: str
    scenario: Scenario
    metric: str
    difference: float
    low: float
    high: float
    p: float
    pairs: int
    tasks: int


def compare(scores: Sequence[EpisodeScore]) -> list[Comparison]:
    """Compare every pair of agents, in the order of the scores, on every metric that both have pairs for."""
    places: dict[tuple[str, str, Scenario], dict[str, dict[Place, EpisodeScore]]] = {}
    for score in scores:
        if score.conclusive:
            key = score.key
            agents = places.setdefault((key.world, key.condition, key.scenario), {})
            agents.setdefault(key.agent, {})[key.task, key.seed] = score
    found = []
    order = list(Scenario)
    for world, condition, scenario in sorted(places, key=lambda place: (*place[:2], order.index(place[2]))):
        agents = places[world, condition, scenario]
        for a, b in combinations(agents, 2):
            for metric in COMPARED:
                difference = paired(metric, agents[a], agents[b])
                if difference is None:
                    continue
                found.append(
                    Comparison(
                        world=world,
                        condition=condition,
                        a=a,
                        b=b,
                        scenario=scenario,
                        metric=metric,
                        **asdict(difference),
                    )
                )
    return found


def paired(metric: str, a: Mapping[Place, EpisodeScore], b: Mapping[Place, EpisodeScore]) -> Paired | None:
    """Return `a` minus `b` over the places that both have and that the metric says something about; None if none."""
    sums, sizes = _differences(metric, a, b)
    if not sums:
        return None
    interval = stats.bootstrap_ratio(sums, sizes, resamples(len(sums)))
    return Paired(
        difference=rounded(sum(sums) / sum(sizes)),
        low=rounded(interval.low),
        high=rounded(interval.high),
        p=rounded(_p(sums)),
        pairs=round(sum(sizes)),
        tasks=len(sums),
    )


def _differences(
    name: str, a: Mapping[Place, EpisodeScore], b: Mapping[Place, EpisodeScore]
) -> tuple[list[float], list[float]]:
    """Return the differences summed within each task, and how many pairs each task has."""
    of = BY_NAME[name].of
    tasks: dict[str | int, list[float]] = {}
    for place in sorted(a.keys() & b.keys()):
        left, right = of(a[place]), of(b[place])
        if left is None or right is None:
            continue
        total = tasks.setdefault(place[0], [0.0, 0.0])
        total[0] += left[0] / left[1] - right[0] / right[1]
        total[1] += 1.0
    return [total[0] for total in tasks.values()], [total[1] for total in tasks.values()]


def _p(sums: Sequence[float]) -> float:
    """Return the p-value: exact where the flips can be enumerated."""
    moving = [value for value in sums if value]
    if len(moving) <= stats.EXACT_UP_TO:
        return stats.exact_permutation(moving)
    return stats.sampled_permutation(moving, _signs(len(moving)))


@lru_cache(maxsize=64)
def _signs(clusters: int) -> stats.Numbers:
    return stats.flip_signs(clusters, FLIPS, bits("flips", clusters))
