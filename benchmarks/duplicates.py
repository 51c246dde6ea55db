"""Does `rules` ever write twice, and why does it fail where it fails?

    python benchmarks/duplicates.py [--tasks 400] [--seeds 32] [--json]

Runs the agent `rules` under S1, S2 and S3 in the store world, counts the duplicate effects over the episodes in which
a write was sent, and sorts every conclusive S1 and S2 episode that did not pass by its cause: none is unexplained.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from breakfall import catalog
from breakfall.bench.matrix import Spec
from breakfall.bench.met import FaultMet
from breakfall.bench.run import run
from breakfall.bench.score import EpisodeScore, score_episode
from breakfall.ledger.read import read_episodes
from breakfall.vocab import Answer, FaultKind, Response, Scenario

PERSISTENT = {FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT}


def cause(score: EpisodeScore, answer: Answer) -> str:
    """Name why an episode did not pass, the weightiest cause first."""
    silent = [met for met in score.faults if met.kind.silent]
    if any(met.adopted for met in silent):
        return "a silent fault was believed: a false value was used"
    if score.handed_over and answer.handoff is not None:
        if answer.handoff.unknown:
            return "handed over: nobody knows whether a write took effect"
        return f"handed over: {_last_failure(score.faults)}"
    if silent:
        return f"a silent fault steered the plan or hid a field ({silent[0].kind.value})"
    return "unexplained"


def _last_failure(faults: tuple[FaultMet, ...]) -> str:
    stopped = [met for met in faults if met.eventual is Response.STOP] or list(faults)
    if not stopped:
        return "a result lacked what the plan needs"
    kind = stopped[-1].kind
    if kind.silent:
        return "a result lacked what the plan needs, and reading again did not help"
    if kind in PERSISTENT:
        return f"{kind.value}, which a repeat may not mend, and no other path"
    return f"{kind.value} until the tries were used up, and no other path"


def measure(tasks: int, seeds: int) -> dict[str, object]:
    """Run and count."""
    spec = Spec(agents=("rules",), tasks=str(tasks), seeds=seeds, scenarios=(Scenario.S1, Scenario.S2, Scenario.S3))
    world = catalog.world("store")
    tools = world.tools(world.conditions[0])
    by_id = {task.id: task for task in world.tasks(world.splits[0], tasks)}
    duplicates = written = 0
    causes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        run(spec, Path(folder) / "run", jobs=2)
        for end, steps in read_episodes(Path(folder) / "run"):
            writes = any(tools[step.tool].writes for step in steps if step.tool in tools)
            written += writes
            duplicates += len(end.verdict.duplicate_effects)
            score = score_episode(end, steps, tools, by_id[end.key.task])
            if score.conclusive and not score.passed and end.key.scenario is not Scenario.S3:
                causes[cause(score, end.answer)] += 1
    return {
        "write_episodes": written,
        "duplicate_effects": duplicates,
        "not_passed_by_cause": dict(causes.most_common()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = measure(asked.tasks, asked.seeds)
    if asked.json:
        print(json.dumps(result))
        return
    print(f"{result['write_episodes']:,} episodes sent a write: {result['duplicate_effects']} duplicate effects")
    causes = result["not_passed_by_cause"]
    if isinstance(causes, dict):
        for why, count in causes.items():
            print(f"{count:>7,}  {why}")


if __name__ == "__main__":
    main()
