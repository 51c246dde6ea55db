"""The ablation of memory: each agent in each mode, paired differences between modes, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from msgspec import Struct

from breakfall.bench import remember
from breakfall.bench.compare import Paired, Place, paired
from breakfall.bench.metrics import BY_NAME, Value, measure, rounded, share, unscored
from breakfall.bench.score import EpisodeScore
from breakfall.memory.choose import Mode
from breakfall.vocab import FaultKind, Scenario

RECOVERABLE = (Scenario.S1, Scenario.S2)
"""The scenarios whose task can be done; their episodes together are a row's success."""

STUDIED = (*RECOVERABLE, Scenario.S3)

CONTRASTS = (
    (Mode.POSTERIOR, Mode.OFF),
    (Mode.STATIC, Mode.OFF),
    (Mode.POSTERIOR, Mode.STATIC),
    (Mode.POSTERIOR, Mode.SHUFFLED),
)
"""The gain; what the structure gives; what the numbers add to it; true against shuffled."""

_QUESTIONS: tuple[tuple[str, tuple[Scenario, ...], FaultKind | None], ...] = (
    ("pass_rate", RECOVERABLE, None),
    ("pass_rate", (Scenario.S1,), None),
    ("pass_rate", (Scenario.S2,), None),
    ("correct_stop", (Scenario.S3,), None),
    ("premature_stop", RECOVERABLE, None),
    ("wrong_effects", STUDIED, None),
    ("duplicate_effects", STUDIED, None),
    ("tool_calls", STUDIED, None),
    *(("pass_rate", RECOVERABLE, kind) for kind in FaultKind),
)
"""What each contrast is asked: of which metric, under which scenarios, after which kind of fault."""


class Row(Struct, frozen=True, kw_only=True):
    """One agent in one mode under one condition."""

    condition: str
    agent: str
    mode: Mode
    success: Value
    """Passed tasks of S1 and S2."""
    s1: Value
    s2: Value
    correct_stop: Value
    """Of S3."""
    premature_stop: Value
    """Of S1 and S2."""
    duplicate_effects: Value
    tool_calls: Value
    tokens_in: Value
    """What the agent's model read in an episode; an agent without a model reads nothing."""
    context_tokens: int
    """What the mode's context takes of a prompt, as `memory.render` estimates it."""
    seed_deviation: float | None
    """Standard deviation of `success` between the injection seeds; None for fewer than two."""


class Contrast(Struct, frozen=True, kw_only=True):
    """`a` minus `b`, two modes of one agent, over the pairs in which both episodes are conclusive."""

    condition: str
    agent: str
    a: Mode
    b: Mode
    metric: str
    scenarios: tuple[Scenario, ...]
    kind: FaultKind | None = None
    """Only episodes of S1 and S2 that met this kind of fault, in both modes."""
    paired: Paired


class Share(Struct, frozen=True, kw_only=True):
    """How much of an agent's gain is the static structure, and whether its numbers matter where they stand."""

    condition: str
    agent: str
    gain: Paired
    static: Paired
    static_share: float | None
    """Static's points over all points; None where the interval of the gain does not lie above 0."""
    true_against_shuffled: Paired
    within: bool
    """Whether the interval of true against shuffled holds 0."""
    seed_deviation: float | None
    """Standard deviation of the posterior's success between the injection seeds."""


class KindRow(Struct, frozen=True, kw_only=True):
    """How one agent in one mode fared after one kind of fault, in S1 and S2."""

    condition: str
    agent: str
    mode: Mode
    kind: FaultKind
    pass_rate: Value
    """Of the episodes that met the kind."""
    recovered: Value
    """Of the faults."""


class Ablation(Struct, frozen=True, kw_only=True):
    """The whole table."""

    rows: list[Row]
    contrasts: list[Contrast]
    shares: list[Share]
    by_kind: list[KindRow]


_Group = dict[tuple[str, str, Mode], list[EpisodeScore]]


def ablate(scores: Iterable[EpisodeScore], context_tokens: Mapping[Mode, int]) -> Ablation:
    """Build the table from the scored episodes of agents that are named NAME+MODE, in the order in which they come."""
    groups: _Group = {}
    for score in scores:
        agent, mode = remember.parted(score.key.agent)
        if mode is not None:
            groups.setdefault((score.key.condition, agent, mode), []).append(score)
    rows = [_row(place, found, context_tokens[place[2]]) for place, found in groups.items()]
    contrasts = list(_contrasts(groups))
    return Ablation(
        rows=rows,
        contrasts=contrasts,
        shares=_shares(contrasts, {(row.condition, row.agent): row for row in rows if row.mode is Mode.POSTERIOR}),
        by_kind=[row for place, found in groups.items() for row in _by_kind(place, found)],
    )


def _row(place: tuple[str, str, Mode], scores: Sequence[EpisodeScore], context_tokens: int) -> Row:
    recoverable = [score for score in scores if score.key.scenario in RECOVERABLE]

    def under(metric: str, *scenarios: Scenario) -> Value:
        return measure(BY_NAME[metric], [score for score in scores if score.key.scenario in scenarios])

    return Row(
        condition=place[0],
        agent=place[1],
        mode=place[2],
        success=under("pass_rate", *RECOVERABLE),
        s1=under("pass_rate", Scenario.S1),
        s2=under("pass_rate", Scenario.S2),
        correct_stop=under("correct_stop", Scenario.S3),
        premature_stop=under("premature_stop", *RECOVERABLE),
        duplicate_effects=under("duplicate_effects", *STUDIED),
        tool_calls=under("tool_calls", *STUDIED),
        tokens_in=under("tokens_in", *STUDIED),
        context_tokens=context_tokens,
        seed_deviation=_seed_deviation(recoverable),
    )


def _seed_deviation(scores: Iterable[EpisodeScore]) -> float | None:
    by_seed: dict[int, list[bool]] = {}
    for score in scores:
        if score.conclusive:
            by_seed.setdefault(score.key.seed, []).append(score.passed)
    rates = [sum(passed) / len(passed) for _, passed in sorted(by_seed.items())]
    if len(rates) < 2:
        return None
    mean = sum(rates) / len(rates)
    return rounded(sqrt(sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)))


def _contrasts(groups: _Group) -> Iterable[Contrast]:
    for condition, agent in dict.fromkeys(place[:2] for place in groups):
        for a, b in CONTRASTS:
            one, other = groups.get((condition, agent, a), ()), groups.get((condition, agent, b), ())
            for metric, scenarios, kind in _QUESTIONS:
                found = paired(metric, _places(one, scenarios, kind), _places(other, scenarios, kind))
                if found is not None:
                    yield Contrast(
                        condition=condition,
                        agent=agent,
                        a=a,
                        b=b,
                        metric=metric,
                        scenarios=scenarios,
                        kind=kind,
                        paired=found,
                    )


def _places(
    scores: Iterable[EpisodeScore], scenarios: Sequence[Scenario], kind: FaultKind | None
) -> dict[Place, EpisodeScore]:
    return {
        (score.key.task, score.key.scenario, score.key.seed): score
        for score in scores
        if score.conclusive and score.key.scenario in scenarios and (kind is None or _met(score, kind))
    }


def _met(score: EpisodeScore, kind: FaultKind) -> bool:
    return any(met.kind is kind for met in score.faults)


def _shares(contrasts: Iterable[Contrast], rows: Mapping[tuple[str, str], Row]) -> list[Share]:
    found: dict[tuple[str, str], dict[tuple[Mode, Mode], Paired]] = {}
    for one in contrasts:
        if one.metric == "pass_rate" and one.scenarios == RECOVERABLE and one.kind is None:
            found.setdefault((one.condition, one.agent), {})[one.a, one.b] = one.paired
    whole = {place: by_pair for place, by_pair in found.items() if all(pair in by_pair for pair in CONTRASTS)}
    return [_share(rows[place], by_pair) for place, by_pair in whole.items()]


def _share(row: Row, by_pair: Mapping[tuple[Mode, Mode], Paired]) -> Share:
    gain, static = by_pair[Mode.POSTERIOR, Mode.OFF], by_pair[Mode.STATIC, Mode.OFF]
    shuffled = by_pair[Mode.POSTERIOR, Mode.SHUFFLED]
    return Share(
        condition=row.condition,
        agent=row.agent,
        gain=gain,
        static=static,
        static_share=rounded(static.difference / gain.difference) if gain.low > 0 else None,
        true_against_shuffled=shuffled,
        within=_holds_zero(shuffled),
        seed_deviation=row.seed_deviation,
    )


def _holds_zero(difference: Paired) -> bool:
    return difference.low <= 0.0 <= difference.high


def _by_kind(place: tuple[str, str, Mode], scores: Sequence[EpisodeScore]) -> Iterable[KindRow]:
    counted = [score for score in scores if score.conclusive and score.key.scenario in RECOVERABLE]
    for kind in FaultKind:
        met = [score for score in counted if _met(score, kind)]
        faults = [fault for score in met for fault in score.faults if fault.kind is kind]
        if met:
            yield KindRow(
                condition=place[0],
                agent=place[1],
                mode=place[2],
                kind=kind,
                pass_rate=measure(BY_NAME["pass_rate"], met),
                recovered=unscored("silent: nothing says that it has to be recovered")
                if kind.silent
                else share(sum(fault.recovered is not None for fault in faults), len(faults)),
            )
