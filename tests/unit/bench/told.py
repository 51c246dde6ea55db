"""A told run: three agents over a few tasks and seeds, scored and put together."""

from __future__ import annotations

from collections.abc import Iterable

from tests.unit.bench.tale import NO, ORDER, REFUND, TOOLS, YES, Tale, over

from breakfall.bench.manifest import Manifest
from breakfall.bench.matrix import Spec
from breakfall.bench.report import Report, assemble
from breakfall.bench.score import EpisodeScore
from breakfall.bench.worst import Gallery
from breakfall.faults.profile import PROFILES
from breakfall.vocab import Corruption, EpisodeKey, NotApplicable, Scenario, Verdict

__all__ = ["TOOLS", "missing", "run", "scores"]

AGENTS = ("steady", "hasty")
TWICE = Verdict(passed=False, state_ok=False, answer_ok=True, duplicate_effects=("refund order:O1",))


def _tale(agent: str, scenario: Scenario, task: str, seed: int) -> tuple[Tale, Verdict]:
    """`steady` does what is right; `hasty` repeats a lost write, never switches and passes lies on."""
    tale = Tale(scenario, agent=agent, task=task, seed=seed)
    steady = agent == "steady"
    if scenario is Scenario.S1:
        tale.fail("get_order", ORDER, call="c1")
        tale.ok("get_order", ORDER, {"order_id": "O1"}, call="c1")
        tale.lie("get_order", ORDER, {"id": "C99"}, Corruption(pointer="/id", true="C17", shown="C99"), call="c2")
        tale.ok("list_orders", {"id": "C17" if steady else "C99"}, {}, sources={} if steady else {"id": "c2#/id"})
        return tale, YES if steady else TWICE
    if scenario is Scenario.S2:
        tale.blocked("get_order", ORDER, call="c1")
        if steady:
            tale.ok("order_by_mail", ORDER, {}, call="c1", path_of="get_order")
        return tale, YES if steady else NO
    if scenario is Scenario.S3:
        tale.blocked("get_order", ORDER, call="c1")
        tale.blocked("order_by_mail", ORDER, call="c1", path_of="get_order")
        return tale, NO
    tale.ok("refund", REFUND, {}, effect="refund")
    return tale, YES


def told(tasks: Iterable[str] = ("t1", "t2", "t3"), seeds: int = 2) -> list[tuple[Tale, Verdict]]:
    """Tell every episode; under S2 the last seed of each task meets nothing."""
    out = []
    for agent in AGENTS:
        for scenario in Scenario:
            for task in tasks:
                for seed in range(seeds):
                    tale, verdict = _tale(agent, scenario, task, seed)
                    if scenario is Scenario.S2 and seed == seeds - 1:
                        tale, verdict = Tale(scenario, agent=agent, task=task, seed=seed), YES
                    out.append((tale, verdict))
    return out


def _ends(tale: Tale, verdict: Verdict, gallery: Gallery) -> EpisodeScore:
    answer = over() if tale.key.scenario is Scenario.S3 and tale.key.agent == "steady" else tale.end().answer
    score = tale.score(verdict, answer)
    gallery.see(score, tale.end(verdict, answer), tale.steps)
    return score


def scores(seeds: int = 2, gallery: Gallery | None = None) -> list[EpisodeScore]:
    """Score every episode."""
    return [_ends(tale, verdict, gallery or Gallery()) for tale, verdict in told(seeds=seeds)]


def missing() -> list[NotApplicable]:
    """One task that S2 does not exist for."""
    keys = [
        EpisodeKey(world="shop", condition="native", agent=agent, scenario=Scenario.S2, task="t9", seed=0)
        for agent in AGENTS
    ]
    return [NotApplicable(key=key, reason="no path suffices") for key in keys]


def run(seeds: int = 2) -> Report:
    """Put the report together."""
    gallery = Gallery()
    spec = Spec(worlds=("shop",), tasks="3", agents=("give-up",), seeds=seeds)
    manifest = Manifest(
        breakfall="0", command="breakfall bench", spec=spec, profile=PROFILES["paper"], data={"shop": "1"}, code="2"
    )
    templates = {("shop", task): "refunds" for task in ("t1", "t2")}
    return assemble(manifest, scores(seeds, gallery), missing(), templates, gallery)
