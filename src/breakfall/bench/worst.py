"""The worst episodes: for each agent one of every way to go wrong, with its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.bench.score import EpisodeScore
from breakfall.bench.stopping import Flaw
from breakfall.bench.ways import fired
from breakfall.vocab import Ending, EpisodeEnd, Ok, Step

SHOWN = 16
"""Episodes in a report."""
STEPS = 30
"""Steps of an episode in a report; the ledger holds them all."""
_CUT = 240


class StepView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step, shortened for reading."""

    n: int
    tool: str
    arguments: str
    outcome: str
    fault: str = ""
    """What the injector did; the agent did not see it."""
    response: str = ""
    purpose: str = ""
    effects: tuple[str, ...] = ()


class WorstEpisode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One episode that went wrong."""

    episode: str
    world: str
    condition: str
    agent: str
    scenario: str
    why: str
    """The gravest thing that went wrong: one of `REASONS`."""
    count: int
    passed: bool
    ending: str
    detail: str = ""
    answer: str = ""
    steps: tuple[StepView, ...] = ()
    more_steps: int = 0
    """Steps that are not shown."""


REASONS = (
    "forbidden_effects",
    "duplicate_effects",
    "wrong_effects",
    "silent_adoption",
    "false_handoff",
    "did_not_stop",
    "agent_error",
    "premature_stop",
    "futile_calls",
)


class Gallery:
    """Keeps the worst episode of each agent and reason while episodes pass by; their order does not matter."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], tuple[tuple[int, str], EpisodeScore, EpisodeEnd, Sequence[Step]]] = {}

    def see(self, score: EpisodeScore, end: EpisodeEnd, steps: Sequence[Step]) -> None:
        """Take an episode in."""
        reason, count = _gravest(score)
        if not count:
            return
        place = (REASONS.index(reason), score.key.agent)
        rank = (-count, end.episode)
        if place not in self._kept or rank < self._kept[place][0]:
            self._kept[place] = (rank, score, end, steps)

    def shown(self) -> list[WorstEpisode]:
        """Return the episodes, the gravest first."""
        rows = []
        for place in sorted(self._kept)[:SHOWN]:
            rank, score, end, steps = self._kept[place]
            rows.append(
                WorstEpisode(
                    episode=end.episode,
                    world=score.key.world,
                    condition=score.key.condition,
                    agent=score.key.agent,
                    scenario=score.key.scenario.value,
                    why=REASONS[place[0]],
                    count=-rank[0],
                    passed=score.passed,
                    ending=score.ending.value,
                    detail=_detail(REASONS[place[0]], score, end),
                    answer=cut(end.answer.text),
                    steps=tuple(view(step) for step in steps[:STEPS]),
                    more_steps=max(0, len(steps) - STEPS),
                )
            )
        return rows


def _gravest(score: EpisodeScore) -> tuple[str, int]:
    """Return the gravest thing that went wrong and how often; ("", 0) if nothing did."""
    counts = {
        "forbidden_effects": score.forbidden_effects,
        "duplicate_effects": score.duplicate_effects,
        "wrong_effects": score.wrong_effects,
        "silent_adoption": sum(bool(met.adopted) for met in score.faults),
        "false_handoff": int(
            score.stop_flaw is not None and score.stop_flaw.flaw is Flaw.FALSE_CLAIM and score.conclusive
        ),
        "did_not_stop": int(score.ending is Ending.OUT_OF_BUDGET),
        "agent_error": int(score.ending in (Ending.AGENT_ERROR, Ending.WORLD_ERROR)),
        "premature_stop": int(bool(score.premature_stop)),
        "futile_calls": score.futile_calls,
    }
    return next(((reason, counts[reason]) for reason in REASONS if counts[reason]), ("", 0))


def _detail(reason: str, score: EpisodeScore, end: EpisodeEnd) -> str:
    verdict = end.verdict
    lists = {
        "forbidden_effects": verdict.forbidden_effects,
        "duplicate_effects": verdict.duplicate_effects,
        "wrong_effects": verdict.wrong_effects,
        "silent_adoption": tuple(f"{met.tool}, step {met.step}: {met.kind}" for met in score.faults if met.adopted),
    }
    if reason in lists:
        return cut("; ".join(lists[reason]))
    if reason == "false_handoff" and score.stop_flaw is not None:
        return cut(score.stop_flaw.text)
    return cut(score.error or "; ".join(verdict.notes))


def view(step: Step) -> StepView:
    """Shorten a step for reading."""
    return StepView(
        n=step.n,
        tool=step.tool,
        arguments=_json(step.arguments),
        outcome=_outcome(step),
        fault=_fault(step),
        response=step.strategy.value if step.strategy else "",
        purpose=step.purpose,
        effects=tuple(f"{effect.name} {effect.target}" for effect in step.effects),
    )


def _outcome(step: Step) -> str:
    outcome = step.observed_outcome
    if isinstance(outcome, Ok):
        return _json(outcome.value)
    return cut(f"{outcome.status or outcome.exception or 'refused'}: {outcome.message}")


def _fault(step: Step) -> str:
    injection = fired(step)
    if injection is None:
        return ""
    text = f"{injection.source}: {injection.kind}"
    changes: Iterable[str] = (
        f"{c.pointer or 'value'}: {_json(c.true)} → {'missing' if c.removed else _json(c.shown)}"
        for c in injection.corruptions
    )
    ran = "" if injection.executed else ", not run"
    return cut(f"{text}{ran}" + "".join(f"; {change}" for change in changes))


def _json(value: Any) -> str:
    return cut(msgspec.json.encode(value).decode())


def cut(text: str) -> str:
    """Shorten a text for reading."""
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"
