"""The metrics: what each counts in one episode, and how episodes add up to a value with an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from breakfall import seeds, stats
from breakfall.bench.score import EpisodeScore
from breakfall.vocab import Scenario

RESAMPLES = 2000
DIGITS = 6
"""Reported numbers are rounded to so many decimals, so that they agree on any machine."""

KS = (1, 2, 3, 4, 5, 8, 10)
"""The k of pass@k and pass^k, as far as there are seeds."""

Part: TypeAlias = tuple[float, float]
"""(what is counted, out of how many)."""


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reported number with its 95 % interval; `value` is null, with a reason, where there is nothing to count."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """How many episodes, faults, writes or tasks it rests on."""
    reason: str = ""


class Metric(Struct, frozen=True, kw_only=True):
    """One metric; `of` returns None for an episode that it says nothing about."""

    name: str
    of: Callable[[EpisodeScore], Part | None]
    share: bool
    """A share of things gets a Wilson interval, anything else a bootstrap over tasks."""
    better: int
    """1: more is better; -1: less is better."""
    unit: str
    """What `n` counts."""
    scenarios: tuple[Scenario, ...] = tuple(Scenario)
    """Where it means something."""


_FAULTY = (Scenario.S1, Scenario.S2, Scenario.S3)


def _flag(read: Callable[[EpisodeScore], bool | None]) -> Callable[[EpisodeScore], Part | None]:
    def of(score: EpisodeScore) -> Part | None:
        value = read(score)
        return None if value is None else (float(value), 1.0)

    return of


def _count(read: Callable[[EpisodeScore], float]) -> Callable[[EpisodeScore], Part | None]:
    return lambda score: (read(score), 1.0)


def _adopted(score: EpisodeScore) -> Part | None:
    told = [met.adopted for met in score.faults if met.adopted is not None]
    return (float(sum(told)), float(len(told))) if told else None


def _untold(score: EpisodeScore) -> Part | None:
    silent = [met for met in score.faults if met.kind.silent]
    return (float(sum(met.adopted is None for met in silent)), float(len(silent))) if silent else None


def _verified(score: EpisodeScore) -> Part | None:
    return (float(score.verified_writes), float(score.writes)) if score.writes else None


def _metric(
    name: str,
    of: Callable[[EpisodeScore], Part | None],
    *,
    better: int,
    unit: str = "episodes",
    scenarios: tuple[Scenario, ...] = tuple(Scenario),
) -> Metric:
    return Metric(name=name, of=of, share=True, better=better, unit=unit, scenarios=scenarios)


def _mean(name: str, read: Callable[[EpisodeScore], float]) -> Metric:
    return Metric(name=name, of=_count(read), share=False, better=-1, unit="episodes")


METRICS: tuple[Metric, ...] = (
    _metric("pass_rate", _flag(lambda s: s.passed), better=1),
    _metric("retry_success", _flag(lambda s: s.retry_success), better=1, scenarios=(Scenario.S1,)),
    _metric("switch_success", _flag(lambda s: s.switch_success), better=1, scenarios=(Scenario.S2,)),
    _metric("correct_stop", _flag(lambda s: s.correct_stop), better=1, scenarios=(Scenario.S3,)),
    _metric("premature_switch", _flag(lambda s: s.premature_switch), better=-1, scenarios=_FAULTY),
    _metric("premature_stop", _flag(lambda s: s.premature_stop), better=-1, scenarios=_FAULTY),
    _mean("futile_calls", lambda s: s.futile_calls),
    _metric("silent_adoption", _adopted, better=-1, unit="faults", scenarios=_FAULTY),
    _metric("silent_unattributable", _untold, better=-1, unit="faults", scenarios=_FAULTY),
    _mean("duplicate_effects", lambda s: s.duplicate_effects),
    _mean("wrong_effects", lambda s: s.wrong_effects),
    _mean("forbidden_effects", lambda s: s.forbidden_effects),
    _metric("verified_writes", _verified, better=1, unit="writes"),
    _mean("tool_calls", lambda s: s.cost.tool_calls),
    _mean("model_calls", lambda s: s.cost.model_calls),
    _mean("tokens_in", lambda s: s.cost.tokens_in),
    _mean("tokens_cached", lambda s: s.cost.tokens_cached),
    _mean("tokens_out", lambda s: s.cost.tokens_out),
    _mean("seconds", lambda s: s.cost.seconds),
    _mean("usd", lambda s: s.cost.usd),
)
BY_NAME = {metric.name: metric for metric in METRICS}
COSTS = ("tool_calls", "model_calls", "tokens_in", "tokens_cached", "tokens_out", "seconds", "usd")


def direction(name: str) -> int:
    """Return 1 if more of a metric is better, -1 if less is."""
    return BY_NAME[name].better if name in BY_NAME else 1


def known(name: str) -> bool:
    """Whether there is a metric of this name; ``pass@k`` and ``pass^k`` are known for every k."""
    return name in BY_NAME or (name[:5] in ("pass@", "pass^") and name[5:].isdigit() and int(name[5:]) > 0)


def applies(name: str, scenario: Scenario) -> bool:
    """Whether a metric means something under a scenario."""
    return name not in BY_NAME or scenario in BY_NAME[name].scenarios


def measure(metric: Metric, scores: Iterable[EpisodeScore]) -> Value:
    """Add episodes up to a value; only conclusive ones count."""
    parts = [(score.key.task, part) for score in scores if score.conclusive and (part := metric.of(score)) is not None]
    out_of = sum(part[1] for _, part in parts)
    if not out_of:
        return unscored(f"no {metric.unit} to count")
    if metric.share:
        return share(round(sum(part[0] for _, part in parts)), round(out_of))
    return ratio(_by_task(parts), round(out_of))


def share(counted: int, n: int) -> Value:
    """Return a share with its Wilson interval."""
    if not n:
        return unscored("nothing to count")
    interval = stats.wilson(counted, n)
    return Value(value=rounded(counted / n), low=rounded(interval.low), high=rounded(interval.high), n=n)


def ratio(tasks: Sequence[Part], n: int) -> Value:
    """Return Σ counted / Σ out of, with a bootstrap interval over the tasks."""
    sums, sizes = [part[0] for part in tasks], [part[1] for part in tasks]
    interval = stats.bootstrap_ratio(sums, sizes, resamples(len(tasks)))
    return Value(value=rounded(sum(sums) / sum(sizes)), low=rounded(interval.low), high=rounded(interval.high), n=n)


def unscored(reason: str) -> Value:
    """Return the value of something that could not be counted."""
    return Value(value=None, low=None, high=None, n=0, reason=reason)


def rounded(value: float) -> float:
    """Round for the report; never the negative zero."""
    return round(value, DIGITS) + 0.0


def over_seeds(scores: Iterable[EpisodeScore]) -> dict[str, Value]:
    """Return pass@k and pass^k: the mean over tasks that have at least k conclusive seeds."""
    tries: dict[str, list[bool]] = {}
    for score in scores:
        if score.conclusive:
            tries.setdefault(score.key.task, []).append(score.passed)
    most = max(map(len, tries.values()), default=0)
    found = {}
    for k in KS:
        if k > most:
            break
        counts = [(len(tried), sum(tried)) for _, tried in sorted(tries.items()) if len(tried) >= k]
        found[f"pass@{k}"] = ratio([(stats.pass_at_k(n, c, k), 1.0) for n, c in counts], len(counts))
        found[f"pass^{k}"] = ratio([(stats.pass_hat_k(n, c, k), 1.0) for n, c in counts], len(counts))
    return found


@lru_cache(maxsize=64)
def resamples(clusters: int) -> stats.Numbers:
    """Return the bootstrap resamples for so many clusters: always the same ones."""
    return stats.resample_counts(clusters, RESAMPLES, bits("bootstrap", clusters))


def bits(*place: str | int) -> np.random.BitGenerator:
    """Open numpy's bits at a place."""
    return np.random.Philox(int(seeds.stream(0, *place).uniform() * 2**53))


def _by_task(parts: Iterable[tuple[str, Part]]) -> list[Part]:
    """Sum the parts of each task, in the order of the tasks' names."""
    sums: dict[str, list[float]] = {}
    for task, (counted, out_of) in parts:
        total = sums.setdefault(task, [0.0, 0.0])
        total[0] += counted
        total[1] += out_of
    return [(counted, out_of) for _, (counted, out_of) in sorted(sums.items())]
